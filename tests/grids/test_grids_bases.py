"""The power base of a file means nothing: rest, modes and transients are the same on any."""

import dataclasses

import numpy as np
import pytest

from pnde.grids import (
    complete,
    from_ppc,
    ieee14,
    load_flow,
    normal_form,
    operation_point,
    slow_modes,
)
from pnde.systems import power_grid

BASES = (1.0, 10.0, 100.0, 1000.0)


def on_base(grid, base):
    """The same grid in p.u. of another power base, MVA."""
    times = grid.base_mva / base
    powers = ("active", "reactive", "shunt", "current", "reactive_min", "reactive_max", "rating")
    admittances = ("admittance", "charging_start", "charging_end")
    return dataclasses.replace(
        grid,
        base_mva=base,
        buses=dataclasses.replace(
            grid.buses, **{key: getattr(grid.buses, key) * times for key in powers}
        ),
        branches=dataclasses.replace(
            grid.branches, **{key: getattr(grid.branches, key) * times for key in admittances}
        ),
    )


def rated(grid):
    """The grid with a rating at two of its sources, p.u."""
    rating = np.full(grid.size, np.nan)
    rating[grid.sources[:2]] = [2.5, 0.5]
    return dataclasses.replace(grid, buses=dataclasses.replace(grid.buses, rating=rating))


@pytest.mark.parametrize("known", [False, True])
def test_rest_and_modes(known):
    grid = rated(ieee14()) if known else ieee14()
    rest, modes = operation_point(grid), slow_modes(grid, operation_point(grid))
    assert modes.real.max() < 0
    for base in BASES:
        other = on_base(grid, base)
        voltage = operation_point(other)
        np.testing.assert_allclose(voltage, rest, atol=1e-9)
        np.testing.assert_allclose(slow_modes(other, voltage), modes, rtol=1e-7, atol=1e-12)


def test_transients():
    start = None
    for base in (100.0, 1.0):
        system = power_grid(on_base(ieee14(), base))
        if start is None:
            start = system.initial(np.random.default_rng(1), 1, "paper")
            expected = system.simulate(t_end=2.0, dt=0.5, u0=start)["u"].values
            assert np.abs(expected[:, -1] - expected[:, 0]).max() > 1e-3
            continue
        u = system.simulate(t_end=2.0, dt=0.5, u0=start)["u"].values
        np.testing.assert_allclose(u, expected, atol=1e-8)
        pushed = system.initial(np.random.default_rng(1), 1, "paper")
        np.testing.assert_allclose(pushed, start, atol=1e-8)


def test_the_papers_sources_refer_to_its_own_base():
    sources = normal_form(ieee14())
    np.testing.assert_allclose(sources.Hc, -3e-3, rtol=1e-15)


def test_a_rating_below_the_set_point_is_not_believed():
    grid = rated(ieee14())
    at = grid.sources
    apparent = np.hypot(grid.buses.active[at], grid.buses.reactive[at])
    assert apparent[0] < 2.5 and apparent[1] > 0.5
    np.testing.assert_allclose(
        -3e-3 / normal_form(grid).Hc, [2.5, apparent[1], 1.0, 1.0], rtol=1e-12
    )


@pytest.mark.parametrize("name", ["case30", "case57", "case118", "case300"])
def test_sources_of_a_file_rest_in_its_load_flow_on_any_base(name):
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid = from_ppc(getattr(pypower, name)(), name=name)
    for base in (1.0, 1000.0):
        other = on_base(grid, base)
        flow = load_flow(other)
        np.testing.assert_allclose(flow.voltage, load_flow(grid).voltage, atol=1e-9)
        done = complete(other, flow)
        np.testing.assert_allclose(operation_point(done), flow.voltage, atol=1e-9)
        if base == 1.0 and name != "case300":
            modes = slow_modes(done, flow.voltage)
            assert modes.real.max() < 0
