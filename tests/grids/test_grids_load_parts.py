"""Loads of constant power, current and impedance: load flow, rest, law and truth."""

import dataclasses

import numpy as np
import pytest

from pnde.grids import (
    Grid,
    complete,
    ieee14,
    load_flow,
    normal_form,
    operation_point,
    read_grid,
    residual,
    residual_jacobian,
)
from pnde.systems import power_grid


def behind_a_line(active, current, shunt):
    """One load behind a resistance of 0.1 p.u., so that all is real."""
    return Grid.from_tables(
        [
            {"number": 1, "kind": "slack", "voltage": 1.0},
            {"number": 2, "kind": "load", "active": -active, "reactive": 0.0,
             "current": -current, "shunt": shunt},
        ],
        [{"start": 1, "end": 2, "resistance": 0.1}],
    )  # fmt: skip


@pytest.mark.parametrize(
    "parts", [(0.5, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.5), (0.2, 0.3, 0.4)]
)
def test_the_parts_of_a_load_by_hand(parts):
    p, i, z = parts
    flow = load_flow(behind_a_line(*parts))
    # (1 - v) / 0.1 · v = p + i v + z v²
    v = np.roots([10 + z, i - 10, p])
    assert flow.voltage[1] == pytest.approx(v.max(), abs=1e-11)
    assert flow.power[1].real == pytest.approx(-(p + i * v.max()), abs=1e-10)


def mixed():
    """The 14-bus grid, half of its loads drawn at constant current; one source has a load too."""
    grid = ieee14()
    current = np.zeros(14, complex)
    current[grid.loads] = 0.5 * (grid.buses.active + 1j * grid.buses.reactive)[grid.loads]
    current[7] = -0.1 + 0.02j
    half = np.where(np.array(grid.buses.kind) == "load", 0.5, 1.0)
    buses = dataclasses.replace(
        grid.buses,
        current=current,
        active=grid.buses.active * half,
        reactive=grid.buses.reactive * half,
    )
    return dataclasses.replace(grid, buses=buses).with_set_points(np.full(4, np.nan))


def test_rest_is_the_load_flow():
    grid = mixed()
    flow = load_flow(grid)
    drawn = grid.buses.active + np.abs(flow.voltage) * grid.buses.current.real
    np.testing.assert_allclose(flow.power.real[grid.loads], drawn[grid.loads], atol=1e-10)
    np.testing.assert_allclose(flow.power.real[grid.sources], drawn[grid.sources], atol=1e-10)
    done = complete(grid)
    np.testing.assert_allclose(operation_point(done), flow.voltage, atol=1e-9)


def test_jacobian_of_the_rest():
    grid = complete(mixed())
    sources, rng = normal_form(grid), np.random.default_rng(4)
    u, h = grid.state(operation_point(grid)) + 0.1 * rng.normal(size=28), 1e-6
    analytic = residual_jacobian(grid, sources, grid.voltage(u)).toarray()
    ends = [
        residual(grid, sources, grid.voltage(u + s * h * e)) for e in np.eye(28) for s in (1, -1)
    ]
    numeric = (np.array(ends[::2]) - np.array(ends[1::2])).T / (2 * h)
    np.testing.assert_allclose(analytic, numeric, atol=1e-7)


def test_the_truth_agrees_with_an_independent_integrator():
    from scipy.integrate import solve_ivp
    from scipy.optimize import root

    system = power_grid(mixed())
    grid, form = system.grid, system.sources
    np.testing.assert_allclose(system.rhs(system.operation_point, 0.0), 0.0, atol=1e-12)
    data = system.simulate(1, t_end=5.0, dt=5.0, seed=5)
    assert float(system.bus_error(data).max()) < 1e-10
    at, loads, u = grid.sources, grid.loads, data["u"].values[0]
    target = grid.buses.active + 1j * grid.buses.reactive

    def given(v):
        return v * np.conj(grid.admittance() @ v) - np.abs(v) * grid.buses.current

    def voltages(x):
        v = np.zeros(14, complex)
        v[at], v[grid.slack] = x[:4] + 1j * x[4:], 1.0

        def miss(y):
            v[loads] = y[:9] + 1j * y[9:]
            gap = (given(v) - target)[loads]
            return np.concatenate([gap.real, gap.imag])

        found = root(miss, np.concatenate([np.ones(9), np.zeros(9)]), tol=1e-13).x
        v[loads] = found[:9] + 1j * found[9:]
        return v

    def field(t, x):
        v = voltages(x)
        s = given(v)[at]
        rate = form.C * (np.abs(v[at]) ** 2 - form.voltage**2)
        rate += form.Gc * (s.real - form.active) + form.Hc * (s.imag - form.reactive)
        return np.concatenate([(v[at] * rate).real, (v[at] * rate).imag])

    start = np.concatenate([u[0, at], u[0, at + 14]])
    end = solve_ivp(field, (0.0, 5.0), start, "LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(u[-1], grid.state(voltages(end)), atol=2e-8)
    # The drawn power moves with |v|, which is what the set-points alone would not tell.
    power = system.active_power(data).sel(bus=14).values[0]
    assert np.ptp(power) > 1e-4


def test_agrees_with_pandapower():
    pandapower = pytest.importorskip("pandapower", reason="pandapower is not installed")
    net = pandapower.create_empty_network(sn_mva=10)
    bus = [pandapower.create_bus(net, 20.0) for _ in range(3)]
    pandapower.create_ext_grid(net, bus[0], vm_pu=1.03)
    for a, b in ((0, 1), (1, 2)):
        pandapower.create_line_from_parameters(net, bus[a], bus[b], 12.0, 0.3, 0.35, 10.0, 1.0)
    for at, p, q in ((1, 3.0, 1.0), (2, 2.0, 0.7)):
        pandapower.create_load(
            net, bus[at], p, q, const_z_p_percent=20, const_i_p_percent=50,
            const_z_q_percent=20, const_i_q_percent=50,
        )  # fmt: skip
    pandapower.runpp(net, voltage_depend_loads=True, tolerance_mva=1e-10, numba=False)
    flow = load_flow(read_grid(net))
    np.testing.assert_allclose(np.abs(flow.voltage), net.res_bus.vm_pu.values, atol=1e-10)


def test_the_julia_engine_has_no_such_law():
    assert power_grid(mixed()).constraint.julia is None
    assert power_grid(ieee14()).constraint.julia == "PowerBalance"
