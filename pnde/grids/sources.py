"""Grid-forming sources in normal form, with the coefficients of dVOC control."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid

#: Parameters of the reference: SyntheticPowerGrids.jl (MIT), used by the paper's 14-bus grid.
ETA, ALPHA, KAPPA = 3e-3, 5.0, math.pi / 2
#: What the gains refer to where a source has no rating, MVA: the base of the reference's grids.
RATING = 100.0


@dataclass(frozen=True, eq=False)
class NormalForm:
    """Sources without internal states, in the co-rotating frame (Kogler et al., PRX Energy 1,
    013008, 2022):

        u̇ = u · [C (|u|² − V²) + Gc (p − P) + Hc (q − Q)],   p + jq = u · conj(i).

    **Arguments:** (each ``(number of sources,)``)

    - `C`, `Gc`, `Hc`: complex coefficients, 1/s per p.u.
    - `active`, `reactive`, `voltage`: set-points P, Q, V, p.u.
    """

    C: np.ndarray
    Gc: np.ndarray
    Hc: np.ndarray
    active: np.ndarray
    reactive: np.ndarray
    voltage: np.ndarray

    def with_reactive(self, reactive: np.ndarray) -> NormalForm:
        """The same control with other reactive set-points, p.u., ``(number of sources,)``.

        dVOC's C depends on the set-point Q too, by ∂C/∂Q = −Hc/V².
        """
        C = self.C - self.Hc / self.voltage**2 * (reactive - self.reactive)
        return replace(self, C=C, reactive=reactive)

    def rate(self, real: Any, imag: Any, p: Any, q: Any) -> tuple[Any, Any]:
        """The bracket [C (|u|² − V²) + …], the logarithmic derivative u̇/u, as (real, imaginary).

        Arguments and returns as in [`pnde.grids.NormalForm.velocity`][].
        """
        xp = real.__array_namespace__()

        def constant(values: np.ndarray) -> Any:
            return xp.asarray(values, dtype=real.dtype)

        square = real * real + imag * imag - constant(self.voltage**2)
        dp, dq = p - constant(self.active), q - constant(self.reactive)
        return (
            constant(self.C.real) * square + constant(self.Gc.real) * dp
            + constant(self.Hc.real) * dq,
            constant(self.C.imag) * square + constant(self.Gc.imag) * dp
            + constant(self.Hc.imag) * dq,
        )  # fmt: skip

    def velocity(self, real: Any, imag: Any, p: Any, q: Any) -> tuple[Any, Any]:
        """The field u̇ in real arithmetic, for any array library (NumPy, JAX).

        **Arguments:**

        - `real`, `imag`: voltages of the sources, p.u., ``(..., number of sources)``.
        - `p`, `q`: powers that they inject, p.u., same shape.

        **Returns:** real and imaginary part of u̇, p.u./s, same shape and dtype.
        """
        rate_real, rate_imag = self.rate(real, imag, p, q)
        return real * rate_real - imag * rate_imag, real * rate_imag + imag * rate_real


def dvoc(
    active: np.ndarray,
    reactive: np.ndarray,
    voltage: np.ndarray,
    *,
    eta: float = ETA,
    alpha: float = ALPHA,
    kappa: float = KAPPA,
    rating: np.ndarray | float = 1.0,
) -> NormalForm:
    """Normal form of dispatchable virtual oscillator control (dVOC), as in SyntheticPowerGrids.jl:

        C = −αη/V² + η e^{jκ} (P − jQ)/(S V⁴),   Gc = −η e^{jκ}/(S V²),   Hc = jη e^{jκ}/(S V²).

    With κ = π/2, active power turns the phase and reactive power drives the amplitude. A source
    measures its powers against its rating S, so that the grid's power base means nothing to it.

    **Arguments:**

    - `active`, `reactive`, `voltage`: set-points, p.u., ``(number of sources,)``.
    - `eta`: synchronisation gain, 1/s.
    - `alpha`: amplitude control gain, dimensionless.
    - `kappa`: angle of the network impedance, rad; π/2 for an inductive grid.
    - `rating`: S, p.u. of the grid's base.
    """
    P, Q, V = (np.asarray(value, float) for value in (active, reactive, voltage))
    turn = eta * np.exp(1j * kappa) / np.asarray(rating, float)
    return NormalForm(
        C=-alpha * eta / V**2 + turn * (P - 1j * Q) / V**4,
        Gc=-turn / V**2,
        Hc=1j * turn / V**2,
        active=P,
        reactive=Q,
        voltage=V,
    )


def normal_form(
    grid: Grid, *, eta: float = ETA, alpha: float = ALPHA, kappa: float = KAPPA
) -> NormalForm:
    """The dVOC sources of a grid, in the order of ``grid.sources``.

    Their gains refer to the rating of each, or to 100 MVA where it is not known. A rating below
    the set-point is that of something else (files fill the column with a default), so at least the
    apparent power of the set-point is taken.

    **Raises:** [`pnde.errors.GridError`][] where a source has no reactive set-point yet; see
    [`pnde.grids.complete`][].
    """
    bus, at = grid.buses, grid.sources
    for k in at[np.isnan(bus.reactive[at])]:
        raise GridError(
            f"{grid.bus_label(k)} has no reactive set-point; call pnde.grids.complete(grid), which "
            "takes it from the load flow"
        )
    rating = np.fmax(bus.rating[at], np.abs(bus.active[at] + 1j * bus.reactive[at]))
    return dvoc(
        bus.active[at],
        bus.reactive[at],
        bus.voltage[at],
        eta=eta,
        alpha=alpha,
        kappa=kappa,
        rating=np.where(np.isnan(bus.rating[at]), RATING / grid.base_mva, rating),
    )
