"""The operation point: the state in which sources, loads and slack are all at rest."""

from __future__ import annotations

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid
from pnde.grids.load_flow import load_flow
from pnde.grids.power import newton_step, power_jacobian, rounding_level
from pnde.grids.sources import NormalForm, normal_form


def complete(grid: Grid) -> Grid:
    """The grid with a reactive set-point at every source, taken from the load flow where missing.

    Sources complete in this way are exactly at rest in the load flow's solution.

    **Raises:** [`pnde.errors.GridError`][] if a load flow is needed and does not converge.
    """
    given = grid.buses.reactive[grid.sources]
    if not np.isnan(given).any():
        return grid
    flow = load_flow(grid).power.imag[grid.sources]
    return grid.with_reactive(np.where(np.isnan(given), flow, given))


def residual(grid: Grid, sources: NormalForm, voltage: np.ndarray) -> np.ndarray:
    """Right-hand side of the model as an algebraic system; zero at the operation point.

    Rows of a source are u̇/u scaled to p.u., so that u = 0 is not a root and the small gain η does
    not loosen the tolerance; rows of a load are its power mismatch, rows of the slack v − v₀.

    **Arguments:**

    - `grid`: the grid.
    - `sources`: its sources, from [`pnde.grids.normal_form`][].
    - `voltage`: complex voltages, p.u., ``(N,)``.

    **Returns:** ``(2 N,)``: real parts (active power) of all buses, then imaginary parts.
    """
    power, out = grid.injected_power(voltage), np.zeros(grid.size, complex)
    at = grid.sources
    real, imag = sources.rate(voltage.real[at], voltage.imag[at], power.real[at], power.imag[at])
    out[at] = (real + 1j * imag) / np.abs(sources.Gc)
    target = grid.buses.active[grid.loads] + 1j * grid.buses.reactive[grid.loads]
    out[grid.loads] = power[grid.loads] - target
    out[grid.slack] = voltage[grid.slack] - grid.slack_voltage
    return grid.state(out)


def residual_jacobian(grid: Grid, sources: NormalForm, voltage: np.ndarray):
    """Derivative of `residual` with respect to the state, CSR ``(2 N, 2 N)``."""
    from scipy.sparse import diags_array

    n, at = grid.size, grid.sources
    scale = 1 / np.abs(sources.Gc)

    def spread(positions: np.ndarray, values: np.ndarray | float) -> np.ndarray:
        out = np.zeros(n)
        out[positions] = values
        return out

    def blocks(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray):
        """[[diag a, diag b], [diag c, diag d]]"""
        from scipy.sparse import block_array

        return block_array(
            [[diags_array(a), diags_array(b)], [diags_array(c), diags_array(d)]], format="csr"
        )

    load, zero = spread(grid.loads, 1.0), np.zeros(n)
    by_power = blocks(
        load + spread(at, sources.Gc.real * scale),
        spread(at, sources.Hc.real * scale),
        spread(at, sources.Gc.imag * scale),
        load + spread(at, sources.Hc.imag * scale),
    )
    real, imag = 2 * sources.C.real * scale, 2 * sources.C.imag * scale
    pinned = spread(grid.slack, 1.0)
    direct = blocks(
        pinned + spread(at, real * voltage.real[at]),
        zero + spread(at, real * voltage.imag[at]),
        zero + spread(at, imag * voltage.real[at]),
        pinned + spread(at, imag * voltage.imag[at]),
    )
    return by_power @ power_jacobian(grid, voltage) + direct


def operation_point(
    grid: Grid,
    sources: NormalForm | None = None,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 50,
) -> np.ndarray:
    """The root of the full right-hand side, by Newton's method with its analytic Jacobian.

    It starts flat (every voltage at the slack's, as the reference does); sources without a reactive
    set-point take it from the load flow, whose solution then is the start and the answer.

    **Arguments:**

    - `grid`: the grid.
    - `sources`: its sources; by default dVOC with the reference's parameters.
    - `tolerance`: largest residual accepted, p.u.
    - `max_iterations`: Newton iterations before giving up.

    **Returns:** complex voltages, p.u., ``(N,)``.

    **Raises:** [`pnde.errors.GridError`][] if the iteration does not converge, naming the bus that
    is furthest from rest.
    """
    voltage = np.full(grid.size, grid.slack_voltage[0])
    voltage[grid.slack] = grid.slack_voltage
    if np.isnan(grid.buses.reactive[grid.sources]).any():
        grid, voltage = complete(grid), load_flow(grid).voltage
    sources = normal_form(grid) if sources is None else sources
    tolerance = max(tolerance, rounding_level(grid))
    miss = residual(grid, sources, voltage)
    for iteration in range(max_iterations + 1):
        if np.abs(miss).max() < tolerance:
            return voltage
        step = newton_step(residual_jacobian(grid, sources, voltage), miss)
        if step is None or iteration == max_iterations:
            break
        # Halve the step until the residual falls: far from rest a full one may leave for u = 0.
        for halving in range(12):
            trial = voltage + 0.5**halving * grid.voltage(step)
            trial_miss = residual(grid, sources, trial)
            if np.linalg.norm(trial_miss) < np.linalg.norm(miss) or halving == 11:
                break
        voltage, miss = trial, trial_miss
    worst = int(np.abs(grid.voltage(miss)).argmax())
    raise GridError(
        f"{grid.name} has no operation point that Newton's method could find: after {iteration} "
        f"iterations {grid.bus_label(worst)} is off by {np.abs(miss).max():.3g} p.u.; check its "
        "set-points, or drop the sources' reactive set-points so that the load flow gives them"
    )


def slow_modes(grid: Grid, voltage: np.ndarray, sources: NormalForm | None = None) -> np.ndarray:
    """Eigenvalues of the dynamics linearised at a state, loads and slack eliminated.

    **Arguments:**

    - `grid`: the grid; every source needs its reactive set-point.
    - `voltage`: complex voltages of the operation point, p.u., ``(N,)``.
    - `sources`: its sources; by default dVOC with the reference's parameters.

    **Returns:** complex, 1/s, ``(2 · number of sources,)``, the most stable first. A positive real
    part means that the operation point is unstable.
    """
    sources = normal_form(grid) if sources is None else sources
    if not len(grid.sources):
        return np.zeros(0, complex)
    jacobian = residual_jacobian(grid, sources, voltage).toarray()
    at, rest = grid.sources, np.sort(np.concatenate([grid.loads, grid.slack]))
    moving = np.concatenate([at, at + grid.size])
    still = np.concatenate([rest, rest + grid.size])
    reduced = jacobian[np.ix_(moving, moving)] - jacobian[np.ix_(moving, still)] @ np.linalg.solve(
        jacobian[np.ix_(still, still)], jacobian[np.ix_(still, moving)]
    )
    # The rows are u̇/u divided by |Gc|; at rest d(u̇) = u · d(u̇/u).
    u, scale, n = voltage[at], np.abs(sources.Gc), len(at)
    real, imag = scale[:, None] * reduced[:n], scale[:, None] * reduced[n:]
    turned = np.concatenate(
        [
            u.real[:, None] * real - u.imag[:, None] * imag,
            u.real[:, None] * imag + u.imag[:, None] * real,
        ]
    )
    modes = np.linalg.eigvals(turned)
    return modes[np.argsort(modes.real)]
