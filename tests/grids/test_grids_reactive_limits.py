"""Sources at the limits of their reactive power, against pandapower and by hand."""

import dataclasses

import numpy as np
import pytest

from pnde.errors import GridError
from pnde.grids import Grid, complete, from_ppc, load_flow, operation_point, read_grid


def two_sources(**second):
    """A load between two sources, of which the second has limits."""
    buses = [
        {"number": 1, "kind": "slack", "voltage": 1.0},
        {"number": 2, "kind": "source", "active": 0.3, "voltage": 1.05, **second},
        {"number": 3, "kind": "load", "active": -0.8, "reactive": -0.3},
    ]
    branches = [
        {"start": a, "end": b, "resistance": 0.01, "reactance": 0.1}
        for a, b in ((1, 2), (2, 3), (1, 3))
    ]
    return Grid.from_tables(buses, branches, name="pair")


def test_a_source_beyond_its_limit_lets_go_of_its_voltage():
    free = load_flow(two_sources())
    wanted = free.power.imag[1]
    assert wanted > 0.5 and not len(free.beyond)

    grid = two_sources(reactive_max=0.4, reactive_min=-0.1)
    loose = load_flow(grid)
    np.testing.assert_array_equal(loose.voltage, free.voltage)
    np.testing.assert_array_equal(loose.beyond, [1])
    assert not len(loose.limited)

    held = load_flow(grid, reactive_limits=True)
    np.testing.assert_array_equal(held.limited, [1])
    assert held.power[1] == pytest.approx(0.3 + 0.4j, abs=1e-10)
    assert np.abs(held.voltage[1]) < 1.05 and not len(held.beyond)
    # The same as a load that injects as much.
    buses = dataclasses.replace(
        grid.buses,
        kind=("slack", "load", "load"),
        reactive=np.array([np.nan, 0.4, -0.3]),
        voltage=np.array([1.0, np.nan, np.nan]),
    )
    as_load = load_flow(dataclasses.replace(grid, buses=buses))
    np.testing.assert_allclose(held.voltage, as_load.voltage, atol=1e-10)
    assert "1 sources held at a reactive limit" in repr(held)


def test_a_lower_limit_and_no_limit():
    grid = two_sources(voltage=0.95, reactive_min=-0.1)
    held = load_flow(grid, reactive_limits=True)
    assert held.power.imag[1] == pytest.approx(-0.1, abs=1e-10)
    assert np.abs(held.voltage[1]) > 0.95
    infinite = two_sources(reactive_max=np.inf, reactive_min=-np.inf)
    assert np.isnan(infinite.buses.reactive_max[1])
    assert not len(load_flow(infinite, reactive_limits=True).limited)


def test_rest_of_a_source_at_its_limit():
    grid = two_sources(reactive_max=0.4)
    flow = load_flow(grid, reactive_limits=True)
    done = complete(grid, flow)
    assert done.buses.reactive[1] == pytest.approx(0.4)
    assert done.buses.voltage[1] == pytest.approx(np.abs(flow.voltage[1]))
    np.testing.assert_allclose(operation_point(done), flow.voltage, atol=1e-9)


def test_crossed_limits_and_limits_that_cannot_be_held_are_named():
    with pytest.raises(GridError, match=r"bus 2 has the reactive limits 0\.5 and 0\.4 p\.u\., the"):
        load_flow(two_sources(reactive_min=0.5, reactive_max=0.4), reactive_limits=True)
    with pytest.raises(GridError, match=r"no solution with 1 sources held .*\(bus 2\); widen"):
        load_flow(two_sources(reactive_max=-9.0), reactive_limits=True)


@pytest.mark.parametrize("name", ["case_ieee30", "case39", "case118", "case_illinois200"])
def test_agrees_with_pandapower(name):
    pandapower = pytest.importorskip("pandapower", reason="pandapower is not installed")
    networks = pytest.importorskip("pandapower.networks")
    net = getattr(networks, name)()
    pandapower.runpp(
        net, calculate_voltage_angles=True, enforce_q_lims=True, tolerance_mva=1e-8, numba=False
    )
    grid = read_grid(net)
    flow = load_flow(grid, reactive_limits=True)
    expected = net.res_bus.vm_pu.loc[grid.buses.number].values
    np.testing.assert_allclose(np.abs(flow.voltage), expected, atol=1e-8)
    assert len(flow.limited)


def test_limits_of_a_file_are_those_of_its_generators():
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid = from_ppc(pypower.case118(), name="case118")
    at = grid.index(19)  # one generator, -8 to 24 Mvar, beside a load of 25 Mvar
    assert grid.buses.reactive_max[at] == pytest.approx(-0.01)
    assert grid.buses.reactive_min[at] == pytest.approx(-0.33)
    flow = load_flow(grid)
    assert at in flow.beyond
    held = load_flow(grid, reactive_limits=True)
    assert at in held.limited and not len(held.beyond)
    found = held.power.imag[held.limited]
    limits = grid.buses.reactive_min[held.limited], grid.buses.reactive_max[held.limited]
    assert (np.isclose(found, limits[0]) | np.isclose(found, limits[1])).all()
