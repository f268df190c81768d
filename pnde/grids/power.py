"""Derivatives of the injected power, for the Newton iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pnde.grids.grid import Grid


def power_jacobian(grid: Grid, voltage: np.ndarray) -> csr_array:
    """Jacobian of the injected powers with respect to the state, sparse.

    With i = Y v and s = v · conj(i), ds = conj(i) dv + v · conj(Y dv): a diagonal plus diag(v) Y,
    so it has the sparsity of the network (paper, appendix I).

    **Arguments:**

    - `grid`: the grid.
    - `voltage`: complex voltages, p.u., ``(N,)``.

    **Returns:** CSR, real, ``(2 N, 2 N)``: rows P_1 … P_N, Q_1 … Q_N, columns Re v, Im v.
    """
    from scipy.sparse import block_array, diags_array

    current = diags_array(np.conj(grid.admittance() @ voltage))
    coupling = diags_array(voltage) @ grid.admittance().conj()
    by_real, by_imag = current + coupling, 1j * (current - coupling)
    blocks = [[by_real.real, by_imag.real], [by_real.imag, by_imag.imag]]
    return block_array(blocks, format="csr")


def constant_power_jacobian(grid: Grid, voltage: np.ndarray) -> csr_array:
    """Jacobian of `Grid.constant_power`, which leaves out what constant-current loads inject.

    Arguments and returns as in [`pnde.grids.power_jacobian`][]; d|v| = Re(conj(v) dv) / |v|.
    """
    jacobian, part = power_jacobian(grid, voltage), grid.buses.current
    if not part.any():
        return jacobian
    from scipy.sparse import block_array, diags_array

    direction = voltage / np.abs(voltage)
    blocks = [[diags_array(a * b) for b in (direction.real, direction.imag)]
              for a in (part.real, part.imag)]  # fmt: skip
    return (jacobian - block_array(blocks)).tocsr()


def rounding_level(grid: Grid) -> float:
    """The power mismatch that double precision leaves at 1 p.u., p.u.

    A branch of almost no impedance carries the difference of two huge currents, so no iteration
    gets below the rounding of those.
    """
    return float(16 * np.finfo(float).eps * abs(grid.admittance()).sum(axis=1).max())


def newton_step(jacobian: csr_array, residual: np.ndarray) -> np.ndarray | None:
    """−J⁻¹ r by sparse LU; None where J is singular or the step is not finite."""
    import warnings

    from scipy.sparse.linalg import MatrixRankWarning, spsolve

    with warnings.catch_warnings():
        warnings.simplefilter("error", MatrixRankWarning)
        try:
            step = -spsolve(jacobian.tocsc(), residual)
        except (MatrixRankWarning, RuntimeError):
            return None
    return step if np.isfinite(step).all() else None
