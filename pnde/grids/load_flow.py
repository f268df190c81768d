"""The load flow: which voltages carry the prescribed powers."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid
from pnde.grids.polar import FlowProblem, Iterate, solve
from pnde.grids.reactive_limits import beyond_limits, hold_limits
from pnde.grids.starts import continuation, starts

log = logging.getLogger(__name__)

#: A root this close to its start (root mean square, p.u.) is taken without a look at other roots.
_NEAR = 0.1


@dataclass(frozen=True, eq=False)
class LoadFlow:
    """A solved load flow.

    **Attributes:**

    - `voltage`: complex voltages, p.u., ``(N,)``.
    - `power`: complex injected powers, p.u., ``(N,)``: the set-points at loads (and what loads of
        constant current take), the active set-point at sources, and whatever balances the grid
        elsewhere.
    - `iterations`: Newton iterations taken.
    - `mismatch`: largest power mismatch left, p.u.
    - `start`: where the iteration began: "stored", "walked" or "linear", or "continuation"; see
        [`pnde.grids.starts`][].
    - `limited`: positions of the sources that are held at a limit of their reactive power instead
        of their voltage.
    - `beyond`: positions of the sources whose reactive power is beyond its limits.
    """

    voltage: np.ndarray
    power: np.ndarray
    iterations: int
    mismatch: float
    start: str
    limited: np.ndarray
    beyond: np.ndarray

    def __repr__(self) -> str:
        magnitude = np.abs(self.voltage)
        return (
            f"LoadFlow({len(magnitude)} buses, |v| {magnitude.min():.4f} to {magnitude.max():.4f} "
            f"p.u., from the {self.start} start,\n  {self.iterations} iterations, mismatch "
            f"{self.mismatch:.1e} p.u., {len(self.limited)} sources held at a reactive limit)"
        )


def load_flow(
    grid: Grid,
    *,
    reactive_limits: bool = False,
    low_voltage: bool = False,
    tolerance: float = 1e-10,
    max_iterations: int = 20,
) -> LoadFlow:
    """Solve the power balance by Newton's method in polar coordinates.

    Slack buses keep their complex voltage, sources their active power and voltage magnitude, loads
    their active and reactive power. Taps that regulate are not modelled.

    A power balance has several roots. The iteration starts from the voltages that the file holds,
    from angles that the transformers' shifts give, and from those of the linearised flow, until a
    root is near its start; of several roots the one nearest to its start is taken. Where none is
    found, the powers grow along a path. A root is rejected if a voltage is below half the lowest
    set-point, or the voltages at the ends of a branch are more than 90° apart (its shift taken
    off): so lie the other roots, which no grid is operated at. In a radial grid this makes |v|
    independent of the shifts.

    **Arguments:**

    - `grid`: the grid.
    - `reactive_limits`: hold sources whose reactive power is beyond its limits at the limit, where
        they let go of their voltage, until none is (as MATPOWER's ``enforce_q_lims``; the slack has
        no limits, as in pandapower).
    - `low_voltage`: take such other roots too.
    - `tolerance`: largest power mismatch accepted at any bus, p.u.; never asked below rounding.
    - `max_iterations`: Newton iterations from one start before giving up.

    **Raises:** [`pnde.errors.GridError`][] if the iteration does not converge, naming the bus with
    the largest mismatch, or if there are only roots that are rejected.
    """
    problem = FlowProblem.of(grid)
    start, root = _root(problem, tolerance, max_iterations, low_voltage)
    limited = grid.sources[:0]
    if reactive_limits:
        root, limited = hold_limits(problem, root, tolerance, max_iterations)
    constant = grid.constant_power(root.voltage)
    return LoadFlow(
        voltage=root.voltage,
        power=grid.injected_power(root.voltage),
        iterations=root.iterations,
        mismatch=root.mismatch,
        start=start,
        limited=limited,
        beyond=beyond_limits(grid, constant.imag),
    )


def _root(
    problem: FlowProblem, tolerance: float, max_iterations: int, low_voltage: bool
) -> tuple[str, Iterate]:
    """The root to take, and the name of its start."""
    grid = problem.grid
    found: list[tuple[float, str, Iterate]] = []
    rejected: list[tuple[str, str, Iterate]] = []
    lost: list[Iterate] = []

    def sort(name: str, start: np.ndarray, end: Iterate) -> None:
        doubt = "" if low_voltage else _doubt(grid, end.voltage)
        if not end.converged:
            lost.append(end)
        elif doubt:
            rejected.append((doubt, name, end))
        else:
            away = float(np.sqrt(np.mean(np.abs(end.voltage - start) ** 2)))
            found.append((away, name, end))

    tried = []
    for name, start in starts(problem):
        sort(name, start, solve(problem, start, tolerance, max_iterations))
        if found and found[-1][0] < _NEAR:
            return found[-1][1:]
        tried.append(start)
    if not found:
        for start in tried:
            end = continuation(problem, start, tolerance, max_iterations)
            if end is not None:
                sort("continuation", start, end)
            if found:
                break
    if found:
        return min(found, key=lambda root: root[0])[1:]
    if rejected:
        doubt, name, end = rejected[0]
        raise GridError(
            f"the load flow of {grid.name} only has roots that no grid is operated at: {doubt}; "
            "check the powers and impedances there, or pass low_voltage=True"
        )
    best = min(lost, key=lambda end: end.mismatch)
    raise GridError(
        f"the load flow of {grid.name} did not converge: the {best.what} power at "
        f"{grid.bus_label(best.worst)} was off by {best.mismatch:.3g} p.u. at best; "
        + _suggestion(grid, problem.target)
    )


def _doubt(grid: Grid, voltage: np.ndarray) -> str:
    """Why these voltages are not those that a grid is operated at; empty if they may be."""
    kept = grid.buses.voltage[np.concatenate([grid.slack, grid.sources])]
    low = int(np.abs(voltage).argmin())
    if np.abs(voltage[low]) < 0.5 * kept.min():
        return f"|v| is {np.abs(voltage[low]):.3f} p.u. at {grid.bus_label(low)}"
    line = grid.branches
    across = voltage[line.start] * np.conj(voltage[line.end]) * np.exp(-1j * line.shift)
    across[line.admittance == 0] = 1.0
    if len(line) and across.real.min() < 0:
        wide = int(across.real.argmin())
        return (
            f"{np.rad2deg(abs(np.angle(across[wide]))):.0f}° lie across {grid.branch_label(wide)}"
        )
    return ""


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
