"""The truth of a grid, its initial states, and what is read off its trajectories."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import pnde
from pnde.errors import ConfigError, ConstraintError, GridError
from pnde.grids import Grid, ieee14, load_flow, operation_point, slow_modes
from pnde.laws import Instant, PowerBalance
from pnde.systems import IEEE14, get, law_for, names, power_grid, system_of

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def system():
    return get("ieee14")


@pytest.fixture(scope="module")
def data(system):
    return system.simulate(3, seed=5)


def test_states_and_law(system):
    assert len(system.states) == 28 and system.states[:2] == ("Re v_1", "Re v_2")
    assert (set(system.units), system.time_unit) == ({"p.u."}, "s")
    law, m = system.constraint, 20
    rows = law.row_names(m)
    assert rows[0] == "P at bus 4" and rows[9] == "Q at bus 4"
    assert rows[18:] == ("Re v at bus 2", "Im v at bus 2")
    np.testing.assert_array_equal(law.target[[0, 9, 18, 19]], [-0.478, 0.0, 1.0, 0.0])
    # Targets are the set-points, whatever the start.
    np.testing.assert_array_equal(law.targets(np.ones((2, m)))[1], law.target)
    rest = system.operation_point
    np.testing.assert_allclose(law.value(rest, Instant(0.0)), law.target, atol=1e-12)
    np.testing.assert_allclose(system.rhs(rest, 0.0), 0.0, atol=1e-14)


def test_the_field_is_linear_around_rest_as_the_modes_say(system):
    rest, step = system.operation_point, 1e-6
    full = np.stack(
        [
            (system.rhs(rest + step * e, 0.0) - system.rhs(rest - step * e, 0.0)) / (2 * step)
            for e in np.eye(28)
        ],
        axis=1,
    )
    modes = np.linalg.eigvals(full)
    moving = np.sort(modes[np.abs(modes) > 1e-7].real)
    expected = slow_modes(system.grid, operation_point(system.grid)).real
    np.testing.assert_allclose(moving, np.sort(expected), rtol=1e-5)


def reduced(system):
    """The eliminated equations on NumPy alone: sources as states, loads from an inner Newton."""
    from scipy.optimize import root

    grid, guess = system.grid, {"v": np.ones(len(system.grid.loads), complex)}
    target = (grid.buses.active + 1j * grid.buses.reactive)[grid.loads]
    at = grid.sources

    def voltages(x):
        v = np.zeros(grid.size, complex)
        v[at], v[grid.slack] = x[:4] + 1j * x[4:], grid.slack_voltage

        def miss(y):
            v[grid.loads] = y[:9] + 1j * y[9:]
            gap = grid.injected_power(v)[grid.loads] - target
            return np.concatenate([gap.real, gap.imag])

        start = np.concatenate([guess["v"].real, guess["v"].imag])
        solution = root(miss, start, tol=1e-13)
        v[grid.loads] = solution.x[:9] + 1j * solution.x[9:]
        guess["v"] = v[grid.loads]
        return v

    def field(t, x):
        v = voltages(x)
        s, u, form = grid.injected_power(v), v[at], system.sources
        rate = (
            form.C * (np.abs(u) ** 2 - form.voltage**2)
            + form.Gc * (s.real[at] - form.active)
            + form.Hc * (s.imag[at] - form.reactive)
        )
        return np.concatenate([(u * rate).real, (u * rate).imag])

    return voltages, field


def test_truth_agrees_with_an_independent_integrator(system, data):
    from scipy.integrate import solve_ivp

    u, at = data["u"].values[0], system.grid.sources
    voltages, field = reduced(system)
    start = np.concatenate([u[0, at], u[0, at + 14]])
    solution = solve_ivp(field, (0.0, 10.0), start, "LSODA", [5.0, 10.0], rtol=1e-10, atol=1e-12)
    for k, sample in enumerate((50, 100)):
        expected = system.grid.state(voltages(solution.y[:, k]))
        np.testing.assert_allclose(u[sample], expected, atol=2e-8)


def test_truth_obeys_the_law(system, data):
    assert data["u"].shape == (3, 101, 28)
    assert float(system.bus_error(data).max()) < 1e-10
    np.testing.assert_array_equal(
        data["u"].sel(state=["Re v_2", "Im v_2"]).values[:, 0], [[1, 0]] * 3
    )
    power = system.active_power(data).sel(bus=system.grid.buses.number[system.grid.loads])
    np.testing.assert_allclose(power.std("time"), 0.0, atol=1e-10)
    assert power.sel(bus=4).values[0, 0] == pytest.approx(-0.478, abs=1e-10)


def test_initial_states(system, data):
    away = np.linalg.norm(data["u"].values[:, 0] - system.operation_point, axis=1)
    assert (away > 0.1).all() and (away < 0.6).all()
    distance = system.distance(data)
    assert distance.dims == ("trajectory", "time")
    assert (distance[:, -1] < distance[:, 0]).all()
    np.testing.assert_allclose(
        distance[:, 0] * np.linalg.norm(system.operation_point), away, rtol=1e-12
    )
    again = system.initial(np.random.default_rng(5), 3, "code")
    np.testing.assert_allclose(again, data["u"].values[:, 0], atol=1e-9)


def test_one_bus_can_be_forced_alone():
    system = get("ieee14", forced=[8])
    u = system.initial(np.random.default_rng(5), 4, "paper")
    moved = np.abs(system.grid.voltage(u - system.operation_point)).max(axis=0)
    assert moved.argmax() == system.grid.index(8)
    assert moved[system.grid.index(1)] < 0.1 * moved.max()
    assert system.parameters["forced"] == [8]
    with pytest.raises(GridError, match="has no bus 15"):
        get("ieee14", forced=[15])


def test_data_sets_know_their_grid(system, data, tmp_path):
    assert {"ieee14", "ieee14-published", "grid"} <= set(names())
    assert data.attrs["system"] == "ieee14" and "grid" not in json.loads(data.attrs["parameters"])
    again = system_of(data)
    assert type(again) is IEEE14 and again.parameters == system.parameters

    of_file = power_grid(DATA / "ieee14.m", eta=0.01)
    ds = of_file.simulate(1, t_end=0.2)
    pnde.data.save_data(ds, tmp_path / "grid.nc")
    again = system_of(pnde.open_data(tmp_path / "grid.nc"))
    assert again.name == "grid" and again.eta == 0.01
    assert again.grid.to_dict() == of_file.grid.to_dict()
    np.testing.assert_array_equal(again.operation_point, of_file.operation_point)
    assert isinstance(law_for(ds, None), PowerBalance)


def test_published_grid_rests_where_it_did():
    system = get("ieee14-published")
    v = system.grid.voltage(system.operation_point)
    assert np.abs(v[7]) == pytest.approx(0.384553, abs=2e-6)


def test_data_of_another_grid_are_refused(system, data):
    law = system.constraint
    states = list(system.states)
    with pytest.raises(ConstraintError, match=r"'Re v_15', which belongs to no bus of ieee14"):
        law.bind([*states[:-1], "Re v_15"])
    with pytest.raises(ConstraintError, match=r"no state 'Im v_14', but ieee14 has that bus"):
        law.bind(states[:-1])
    with pytest.raises(ConstraintError, match=r"state 1 of the data is 'Re v_2'"):
        law.bind([states[1], states[0], *states[2:]])
    renamed = data.assign_coords(state=[*states[:-1], "Im v_99"])
    with pytest.raises(ConstraintError, match="'Im v_99'"):
        system.active_power(renamed)


def test_grids_without_loads_or_sources_are_refused():
    slack = {"number": 1, "kind": "slack", "voltage": 1.0}
    source = {"number": 2, "kind": "source", "active": 0.1, "reactive": 0.0, "voltage": 1.0}
    load = {"number": 2, "kind": "load", "active": -0.1, "reactive": 0.0}
    lines = [{"start": 1, "end": 2, "reactance": 0.1}]
    with pytest.raises(GridError, match="has no load bus"):
        power_grid(Grid.from_tables([slack, source], lines))
    with pytest.raises(GridError, match="has no source beside its slack"):
        power_grid(Grid.from_tables([slack, load], lines))
    with pytest.raises(ConfigError, match="grid"):
        get("grid")


def test_an_unstable_operation_point_is_mentioned(caplog):
    # A negative gain drives the sources away from their set-points.
    with caplog.at_level("WARNING", logger="pnde"):
        power_grid(ieee14(), eta=-3e-3)
    assert "operation point of ieee14 is unstable" in caplog.text


def with_buses(grid, **columns):
    return dataclasses.replace(grid, buses=dataclasses.replace(grid.buses, **columns))


def test_a_rest_elsewhere_is_mentioned(caplog):
    with caplog.at_level("WARNING", logger="pnde"):
        power_grid(ieee14())
    assert not caplog.text
    with caplog.at_level("WARNING", logger="pnde"):
        power_grid(ieee14(published=True))
    assert "ieee14-published rests 0.23 p.u. from its load flow at bus 8, because" in caplog.text
    assert "unstable" not in caplog.text


@pytest.mark.parametrize("name", ["case300", "case57"])
def test_set_points_completed_by_the_load_flow_rest_there(name):
    # From a flat start case300 found no rest, with advice to give up set-points it did not have.
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    system = power_grid(getattr(pypower, name)())
    rest = system.grid.voltage(system.operation_point)
    np.testing.assert_allclose(rest, load_flow(system.grid).voltage, atol=1e-9)


def test_reactive_limits_of_sources(caplog):
    limits = np.full(14, np.nan)
    limits[[2, 7]] = [0.3, 0.1]
    grid = with_buses(ieee14().with_set_points(np.full(4, np.nan)), reactive_max=limits)
    with caplog.at_level("WARNING", logger="pnde"):
        free = power_grid(grid)
    assert (
        "2 sources of ieee14 inject reactive power beyond their limits, bus 3 among" in caplog.text
    )
    caplog.clear()
    with caplog.at_level("WARNING", logger="pnde"):
        held = power_grid(grid, reactive_limits=True)
    assert not caplog.text
    np.testing.assert_allclose(held.sources.reactive[[1, 3]], [0.3, 0.1], atol=1e-12)
    assert (held.sources.voltage[[1, 3]] < free.sources.voltage[[1, 3]]).all()
    np.testing.assert_allclose(held.rhs(held.operation_point, 0.0), 0.0, atol=1e-12)
    again = system_of(held.simulate(1, t_end=0.1))
    np.testing.assert_allclose(again.operation_point, held.operation_point, atol=1e-9)
