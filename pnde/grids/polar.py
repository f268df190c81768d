"""Newton's method for the load flow, in polar coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pnde.grids.power import newton_step, rounding_level

if TYPE_CHECKING:
    from pnde.grids.grid import Grid

#: Steps that the mismatch may go without falling below its least.
_PATIENCE = 6


@dataclass(frozen=True, eq=False)
class FlowProblem:
    """What a load flow has to meet.

    **Arguments:**

    - `grid`: the grid.
    - `target`: complex powers that the set-points prescribe, p.u., ``(N,)``; the reactive part is
        ignored where the voltage is kept, both where it is pinned.
    - `free`: positions whose angle is unknown: all but the slack's.
    - `loose`: positions whose magnitude is unknown: the loads, and sources at a limit.
    - `rounding`: the mismatch that rounding leaves, p.u.; see [`pnde.grids.power.rounding_level`][].
    """

    grid: Grid
    target: np.ndarray
    free: np.ndarray
    loose: np.ndarray
    rounding: float

    @classmethod
    def of(cls, grid: Grid) -> FlowProblem:
        """The problem that the set-points of a grid pose."""
        bus = grid.buses
        return cls(
            grid,
            np.nan_to_num(bus.active) + 1j * np.nan_to_num(bus.reactive),
            free=np.sort(np.concatenate([grid.sources, grid.loads])),
            loose=grid.loads,
            rounding=rounding_level(grid),
        )

    def residual(self, voltage: np.ndarray) -> np.ndarray:
        """Power mismatches, p.u.: active at `free`, then reactive at `loose`."""
        miss = self.grid.constant_power(voltage) - self.target
        return np.concatenate([miss.real[self.free], miss.imag[self.loose]])


@dataclass(frozen=True, eq=False)
class Iterate:
    """Where Newton's method ended.

    **Attributes:**

    - `voltage`: complex, p.u., ``(N,)``.
    - `iterations`: Newton steps taken.
    - `mismatch`: largest power mismatch, p.u.
    - `converged`: whether that is below the tolerance, or below what rounding leaves.
    - `worst`, `what`: position of the largest mismatch, and "active" or "reactive".
    """

    voltage: np.ndarray
    iterations: int
    mismatch: float
    converged: bool
    worst: int
    what: str


def solve(
    problem: FlowProblem, start: np.ndarray, tolerance: float, max_iterations: int
) -> Iterate:
    """Newton's method from complex voltages ``(N,)``; the best iterate where it does not converge.

    **Arguments:**

    - `problem`: the powers to meet; the start holds the voltages that are kept.
    - `start`: complex voltages, p.u.
    - `tolerance`: largest power mismatch accepted, p.u.
    - `max_iterations`: Newton steps before giving up.
    """
    free, loose = problem.free, problem.loose
    magnitude, angle = np.abs(start), np.angle(start)
    best: Iterate | None = None
    for iteration in range(max_iterations + 1):
        voltage = magnitude * np.exp(1j * angle)
        residual = problem.residual(voltage)
        if not np.isfinite(residual).all():
            break
        at = int(np.abs(residual).argmax()) if len(residual) else 0
        mismatch = float(np.abs(residual[at])) if len(residual) else 0.0
        if best is None or mismatch < best.mismatch:
            active = at < len(free)
            worst = (free[at] if active else loose[at - len(free)]) if len(residual) else 0
            best = Iterate(
                voltage,
                iteration,
                mismatch,
                mismatch < max(tolerance, problem.rounding),
                int(worst),
                "active" if active else "reactive",
            )
        if mismatch < tolerance:
            break
        # Rounding lets it fall no further, or it has lost its way.
        if iteration - best.iterations >= (1 if best.converged else _PATIENCE):
            break
        step = newton_step(_jacobian(problem, voltage), residual)
        if step is None:
            break
        angle[free] += step[: len(free)]
        magnitude[loose] += step[len(free) :]
        angle[magnitude < 0] += np.pi  # the same voltages, which the Jacobian takes as |v| > 0
        magnitude = np.abs(magnitude)
    assert best is not None  # the start is finite
    return best


def _jacobian(problem: FlowProblem, voltage: np.ndarray):
    """∂(P at free buses, Q at loose ones) / ∂(their angles, their magnitudes), CSC."""
    from scipy.sparse import block_array, diags_array

    grid, free, loose = problem.grid, problem.free, problem.loose
    matrix, direction = grid.admittance(), voltage / np.abs(voltage)
    current, all_voltages = diags_array(matrix @ voltage), diags_array(voltage)
    by_angle = (1j * (all_voltages @ (current - matrix @ all_voltages).conj())).tocsr()
    by_magnitude = (
        all_voltages @ (matrix @ diags_array(direction)).conj()
        + current.conj() @ diags_array(direction)
        - diags_array(grid.buses.current)
    ).tocsr()
    return block_array(
        [
            [by_angle[free][:, free].real, by_magnitude[free][:, loose].real],
            [by_angle[loose][:, free].imag, by_magnitude[loose][:, loose].imag],
        ],
        format="csc",
    )
