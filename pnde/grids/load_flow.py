"""The load flow: which voltages carry the prescribed powers."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid
from pnde.grids.power import newton_step

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LoadFlow:
    """A solved load flow.

    **Attributes:**

    - `voltage`: complex voltages, p.u., ``(N,)``.
    - `power`: complex injected powers, p.u., ``(N,)``: the set-points at loads, the active
        set-point at sources, and whatever balances the grid elsewhere.
    - `iterations`: Newton iterations taken.
    - `mismatch`: largest power mismatch left, p.u.
    """

    voltage: np.ndarray
    power: np.ndarray
    iterations: int
    mismatch: float


def load_flow(grid: Grid, *, tolerance: float = 1e-10, max_iterations: int = 30) -> LoadFlow:
    """Solve the power balance by Newton's method in polar coordinates, from a flat start.

    Slack buses keep their complex voltage, sources their active power and voltage magnitude, loads
    their active and reactive power. Limits on reactive power and taps that regulate are not
    modelled.

    **Arguments:**

    - `grid`: the grid.
    - `tolerance`: largest power mismatch accepted at any bus, p.u.; never asked below rounding.
    - `max_iterations`: Newton iterations before giving up.

    **Raises:** [`pnde.errors.GridError`][] if the iteration does not converge, naming the bus with
    the largest mismatch.
    """
    bus, free = grid.buses, np.sort(np.concatenate([grid.sources, grid.loads]))
    target = np.where(np.isnan(bus.active), 0.0, bus.active) + 1j * np.where(
        np.isnan(bus.reactive), 0.0, bus.reactive
    )
    magnitude = np.where(np.isnan(bus.voltage), 1.0, bus.voltage)
    magnitude[grid.loads] = 1.0
    angle = np.full(grid.size, bus.angle[grid.slack[0]])
    angle[grid.slack] = bus.angle[grid.slack]
    tolerance = max(tolerance, rounding_level(grid))

    best, where, what = np.inf, 0, "active"  # of the iterate nearest to a solution
    for iteration in range(max_iterations + 1):
        voltage = magnitude * np.exp(1j * angle)
        miss = grid.injected_power(voltage) - target
        residual = np.concatenate([miss.real[free], miss.imag[grid.loads]])
        if not np.isfinite(residual).all():
            break
        worst = float(np.abs(residual).max(initial=0.0))
        if worst < tolerance:
            _mention_low_voltage(grid, magnitude)
            return LoadFlow(voltage, grid.injected_power(voltage), iteration, worst)
        if worst < best:
            at = int(np.abs(residual).argmax())
            what = "active" if at < len(free) else "reactive"
            where = int(free[at] if at < len(free) else grid.loads[at - len(free)])
            best = worst
        step = newton_step(_polar_jacobian(grid, voltage, free), residual)
        if step is None:
            break
        angle[free] += step[: len(free)]
        magnitude[grid.loads] += step[len(free) :]
    raise GridError(
        f"the load flow of {grid.name} did not converge in {iteration} iterations: the "
        f"{what} power at {grid.bus_label(where)} was off by {best:.3g} p.u. at best; "
        + _suggestion(grid, target)
    )


def rounding_level(grid: Grid) -> float:
    """The power mismatch that double precision leaves at 1 p.u., p.u.

    A branch of almost no impedance carries the difference of two huge currents, so no iteration
    gets below the rounding of those.
    """
    return float(16 * np.finfo(float).eps * abs(grid.admittance()).sum(axis=1).max())


def _polar_jacobian(grid: Grid, voltage: np.ndarray, free: np.ndarray):
    """∂(P at free buses, Q at loads) / ∂(angles of free buses, magnitudes of loads)."""
    from scipy.sparse import block_array, diags_array

    matrix, direction = grid.admittance(), voltage / np.abs(voltage)
    current, all_voltages = diags_array(matrix @ voltage), diags_array(voltage)
    by_angle = (1j * (all_voltages @ (current - matrix @ all_voltages).conj())).tocsr()
    by_magnitude = (
        all_voltages @ (matrix @ diags_array(direction)).conj()
        + current.conj() @ diags_array(direction)
    ).tocsr()
    loads = grid.loads
    return block_array(
        [
            [by_angle[free][:, free].real, by_magnitude[free][:, loads].real],
            [by_angle[loads][:, free].imag, by_magnitude[loads][:, loads].imag],
        ],
        format="csc",
    )


def _suggestion(grid: Grid, target: np.ndarray) -> str:
    """What to look at: first a bus that asks for more than its branches can ever carry.

    A voltage of 1 p.u. behind an admittance y delivers at most |y|/2 to a load whose voltage sags,
    and |y| V to a source that keeps its voltage V.
    """
    carried = np.abs(grid.admittance().diagonal() - grid.buses.shunt)
    carried[grid.loads] /= 2
    carried[grid.sources] *= grid.buses.voltage[grid.sources]
    asked = np.abs(target)
    asked[grid.slack] = 0.0
    over = np.flatnonzero(asked > carried)
    if len(over):
        k = int(over[np.argmax(asked[over] - carried[over])])
        return (
            f"{grid.bus_label(k)} injects {target[k]:.4g} p.u. but its branches carry at most "
            f"about {carried[k]:.3g} p.u., so check its power and the base of {grid.base_mva:g} MVA"
        )
    return (
        "check the powers, the impedances near that bus and the base of "
        f"{grid.base_mva:g} MVA, or try smaller loads: the grid may have no solution"
    )


def _mention_low_voltage(grid: Grid, magnitude: np.ndarray) -> None:
    low = int(magnitude.argmin())
    if magnitude[low] < 0.5:
        log.warning(
            "%s: the load flow found |v| = %.3f p.u. at %s, probably not the operating point; "
            "check the loads there",
            grid.name,
            magnitude[low],
            grid.bus_label(low),
        )
