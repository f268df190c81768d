"""Where the load flow starts, and the path that leads to a root when no start does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pnde.grids.grid import Grid
from pnde.grids.path import follow
from pnde.grids.polar import FlowProblem, Iterate, solve


def starts(problem: FlowProblem) -> list[tuple[str, np.ndarray]]:
    """Names and complex voltages ``(N,)`` to start from, the smallest power mismatch first.

    - "stored": the voltages that the file holds, if it holds any at all.
    - "walked": every angle follows from a slack's by the shifts of the transformers on the way.
    - "linear": angles of the linearised flow of active power (the DC load flow; MATPOWER User's
        Manual, §3.7), which also knows several slacks and loops of transformers.

    Slacks and sources have the voltage, or the magnitude, that they keep.
    """
    grid, walked = problem.grid, walked_angles(problem.grid)
    stored, linear = grid.buses.stored, linear_angles(grid)
    known = np.isfinite(stored)
    found = {"walked": kept_voltages(grid, walked)}
    if linear is not None:
        found["linear"] = kept_voltages(grid, linear)
    if (stored[known] != 1).any():
        angle, magnitude = np.angle(stored), np.abs(stored)
        found["stored"] = kept_voltages(
            grid, np.where(known, angle, walked), np.where(known, magnitude, 1.0)
        )
    return sorted(found.items(), key=lambda item: np.linalg.norm(problem.residual(item[1])))


def walked_angles(grid: Grid) -> np.ndarray:
    """Angles on the shortest way from a slack, the phase shifts added, rad, ``(N,)``.

    In a radial grid these are the angles without any load, so that a start there makes the same
    steps whatever the shifts are.
    """
    line = grid.branches
    near: list[list[tuple[int, float]]] = [[] for _ in range(grid.size)]
    joined = line.admittance != 0
    ends = (line.start[joined].tolist(), line.end[joined].tolist(), line.shift[joined].tolist())
    for a, b, shift in zip(*ends, strict=True):
        near[a].append((b, -shift))
        near[b].append((a, shift))
    angle = np.full(grid.size, np.nan)
    angle[grid.slack] = grid.buses.angle[grid.slack]
    queue = grid.slack.tolist()
    for a in queue:  # grows on the way
        for b, shift in near[a]:
            if np.isnan(angle[b]):
                angle[b] = angle[a] + shift
                queue.append(b)
    return angle


def linear_angles(grid: Grid) -> np.ndarray | None:
    """Angles of the DC load flow, rad, ``(N,)``; None where its matrix is singular."""
    from scipy.sparse import coo_array

    from pnde.grids.power import newton_step

    line, n = grid.branches, grid.size
    b = -line.admittance.imag / line.tap
    rows = np.concatenate([line.start, line.end, line.start, line.end])
    columns = np.concatenate([line.start, line.end, line.end, line.start])
    matrix = coo_array((np.concatenate([b, b, -b, -b]), (rows, columns)), shape=(n, n)).tocsr()
    power = np.nan_to_num(grid.buses.active)
    np.add.at(power, line.start, b * line.shift)
    np.add.at(power, line.end, -b * line.shift)
    angle = np.zeros(n)
    angle[grid.slack] = grid.buses.angle[grid.slack]
    free = np.sort(np.concatenate([grid.sources, grid.loads]))
    step = newton_step(matrix[free][:, free], (matrix @ angle - power)[free])
    if step is None:
        return None
    angle[free] = step
    return angle


def continuation(
    problem: FlowProblem, start: np.ndarray, tolerance: float, max_iterations: int
) -> Iterate | None:
    """A root at the end of the path along which the prescribed powers grow from the start's own.

    The start meets its own powers, so each point of the path begins close to a root: Newton's
    homotopy, s(v) = (1 − t) s(v₀) + t S, t from 0 to 1. Its v₀ keeps every magnitude and carries
    the active powers where it can, so that on the path the loads let go of their voltages.

    **Arguments:** as in [`pnde.grids.polar.solve`][]; `start` only gives the angles a beginning.

    **Returns:** the root, or None where the path ends before it.
    """
    held = solve(replace(problem, loose=problem.free[:0]), start, 1e-4, max_iterations)
    first = held.voltage if held.converged else start
    own, reached = problem.grid.constant_power(first), held

    def root_at(t: float, guess: np.ndarray) -> np.ndarray | None:
        nonlocal reached
        there = replace(problem, target=(1 - t) * own + t * problem.target)
        end = solve(there, guess, tolerance if t == 1 else 1e-6, 10)
        reached = replace(end, iterations=reached.iterations + end.iterations)
        return end.voltage if end.converged else None

    return None if follow(root_at, first) is None else reached


def kept_voltages(grid: Grid, angle: np.ndarray, magnitude: np.ndarray | float = 1.0) -> np.ndarray:
    """Complex voltages ``(N,)`` with the set-points at slack and sources, and else as given."""
    kept = grid.buses.voltage
    voltage = np.where(np.isnan(kept), magnitude, kept) * np.exp(1j * angle)
    voltage[grid.slack] = grid.slack_voltage
    return voltage
