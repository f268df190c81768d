"""Sources at the limits of their reactive power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid
from pnde.grids.polar import FlowProblem, Iterate, solve
from pnde.grids.starts import continuation

#: How far beyond a limit counts, MVA; as MATPOWER's ``opf.violation``.
_SLIGHT = 5e-6


def beyond_limits(grid: Grid, reactive: np.ndarray) -> np.ndarray:
    """Positions of the sources whose reactive power, of ``(N,)``, p.u., is beyond its limits."""
    bus, slight = grid.buses, _SLIGHT / grid.base_mva
    out = (reactive > bus.reactive_max + slight) | (reactive < bus.reactive_min - slight)
    return grid.sources[out[grid.sources]]


def hold_limits(
    problem: FlowProblem, root: Iterate, tolerance: float, max_iterations: int
) -> tuple[Iterate, np.ndarray]:
    """Switch sources beyond their limits to loads that inject the limit, until none is left.

    All of them at once in each round, and none back again, as MATPOWER's ``enforce_q_lims = 1`` and
    pandapower's ``enforce_q_lims`` do.

    **Arguments:**

    - `problem`: the powers to meet.
    - `root`: its root without limits.
    - `tolerance`, `max_iterations`: as in [`pnde.grids.load_flow`][].

    **Returns:** the root, and the positions of the sources that are held at a limit.

    **Raises:** [`pnde.errors.GridError`][] where no root is left.
    """
    grid, bus = problem.grid, problem.grid.buses
    crossed = np.flatnonzero(bus.reactive_min > bus.reactive_max)
    if len(crossed):
        k = int(crossed[0])
        raise GridError(
            f"{grid.bus_label(k)} has the reactive limits {bus.reactive_min[k]:g} and "
            f"{bus.reactive_max[k]:g} p.u., the lower above the upper; correct them"
        )
    limited = grid.sources[:0]
    while True:
        reactive = grid.constant_power(root.voltage).imag
        out = np.setdiff1d(beyond_limits(grid, reactive), limited)
        if not len(out):
            return root, limited
        high = reactive[out] > bus.reactive_max[out]
        target = problem.target.copy()
        target[out] = target[out].real + 1j * np.where(
            high, bus.reactive_max[out], bus.reactive_min[out]
        )
        limited = np.union1d(limited, out)
        loose = np.sort(np.concatenate([problem.loose, out]))
        problem = replace(problem, target=target, loose=loose)
        start = root.voltage
        found: Iterate | None = solve(problem, start, tolerance, max_iterations)
        if found is None or not found.converged:
            found = continuation(problem, start, tolerance, max_iterations)
        if found is None:
            names = ", ".join(grid.bus_label(k) for k in limited[:3])
            raise GridError(
                f"the load flow of {grid.name} has no solution with {len(limited)} sources held at "
                f"their reactive limits ({names}{', …' if len(limited) > 3 else ''}); widen the "
                "limits, or solve it without reactive_limits"
            )
        root = found
