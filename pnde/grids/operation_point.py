"""The operation point: the state in which sources, loads and slack are all at rest."""

from __future__ import annotations

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid
from pnde.grids.load_flow import LoadFlow, load_flow
from pnde.grids.path import follow
from pnde.grids.power import constant_power_jacobian, newton_step, rounding_level
from pnde.grids.sources import NormalForm, normal_form
from pnde.grids.starts import kept_voltages, walked_angles


def complete(grid: Grid, flow: LoadFlow | None = None) -> Grid:
    """The grid with a reactive set-point at every source, taken from the load flow where missing.

    Sources complete in this way are exactly at rest in the load flow's solution. One that the load
    flow holds at a reactive limit keeps that limit and the voltage found there.

    **Arguments:**

    - `grid`: the grid.
    - `flow`: its load flow, if it is known already.

    **Raises:** [`pnde.errors.GridError`][] if a load flow is needed and does not converge.
    """
    at, given = grid.sources, grid.buses.reactive[grid.sources]
    if flow is None:
        if not np.isnan(given).any():
            return grid
        flow = load_flow(grid)
    found = grid.constant_power(flow.voltage).imag[at]
    held = np.isin(at, flow.limited)
    magnitude = np.where(held, np.abs(flow.voltage[at]), grid.buses.voltage[at])
    if not np.isnan(given).any() and not held.any():
        return grid
    return grid.with_set_points(np.where(held | np.isnan(given), found, given), magnitude)


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
    power, out = grid.constant_power(voltage), np.zeros(grid.size, complex)
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
    return by_power @ constant_power_jacobian(grid, voltage) + direct


def operation_point(
    grid: Grid,
    sources: NormalForm | None = None,
    *,
    start: np.ndarray | None = None,
    tolerance: float = 1e-10,
    max_iterations: int = 10,
) -> np.ndarray:
    """The root of the full right-hand side, by Newton's method with its analytic Jacobian.

    It starts from the load flow, which is the answer itself where that gives the sources their
    reactive set-points. Where they have others, the rest lies elsewhere: it is followed while the
    set-points move from those of the load flow to their own.

    **Arguments:**

    - `grid`: the grid.
    - `sources`: its sources; by default dVOC with the reference's parameters.
    - `start`: complex voltages, p.u., ``(N,)``; by default those of the load flow, or walked angles
        for a grid that has none.
    - `tolerance`: largest residual accepted, p.u.
    - `max_iterations`: Newton iterations at one point of the way before it is made shorter.

    **Returns:** complex voltages, p.u., ``(N,)``.

    **Raises:** [`pnde.errors.GridError`][] if the iteration does not converge, naming the bus that
    is furthest from rest.
    """
    fails: GridError | None = None
    if start is None:
        try:
            flow = load_flow(grid)
            grid, start = complete(grid, flow), flow.voltage
        except GridError as error:
            if np.isnan(grid.buses.reactive[grid.sources]).any():
                raise
            fails, start = error, kept_voltages(grid, walked_angles(grid))
    form = normal_form(grid) if sources is None else sources
    tolerance = max(tolerance, rounding_level(grid))
    start = np.asarray(start, complex)
    first = grid.constant_power(start).imag[grid.sources] if fails is None else form.reactive
    failed = (0.0, 0, 0.0)  # the last t without a root, the bus furthest from rest, how far, p.u.

    def root_at(t: float, voltage: np.ndarray) -> np.ndarray | None:
        nonlocal failed
        there = form if t == 1 else form.with_reactive((1 - t) * first + t * form.reactive)
        for _ in range(max_iterations + 1):
            miss = residual(grid, there, voltage)
            if np.abs(miss).max() < tolerance:
                return voltage
            away = np.abs(grid.voltage(miss))
            failed = (t, int(away.argmax()), float(away.max()))
            step = newton_step(residual_jacobian(grid, there, voltage), miss)
            if step is None:
                break
            voltage = voltage + grid.voltage(step)
        return None

    voltage = follow(root_at, start)
    if voltage is None:
        if fails is not None:
            raise fails
        t, worst, away = failed
        raise GridError(
            f"{grid.name} has no operation point that Newton's method could find: "
            f"{100 * t:.0f} % of the way from the load flow to the given set-points, "
            f"{grid.bus_label(worst)} is off by {away:.3g} p.u.; drop the sources' reactive "
            "set-points, so that the load flow gives them"
        )
    return voltage
