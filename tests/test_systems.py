"""The conservation-law systems: truth, initial states, data sets."""

import json

import numpy as np
import pytest

import pnde
from pnde.engines import get
from pnde.errors import ConfigError, SolveError
from pnde.laws import Instant
from pnde.systems import LotkaVolterra, Quartic

SYSTEMS = {"quartic": Quartic(), "lotka-volterra": LotkaVolterra()}
every_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)


@pytest.fixture(scope="module")
def simulated():
    """Data sets of five trajectories up to t = 5."""
    return {
        name: system.simulate(trajectories=5, t_end=5.0, dt=0.05, seed=7)
        for name, system in SYSTEMS.items()
    }


def law(system, ds):
    u = ds["u"].values
    return get("jax").law(
        system.constraint, u.reshape(-1, u.shape[-1]), Instant(np.zeros(u[..., 0].size))
    )


@every_system
def test_truth_keeps_its_law(simulated, system):
    ds = simulated[system.name]
    h = law(system, ds).reshape(5, -1)
    assert np.abs(h - h[:, :1]).max() < 1e-10 * np.abs(h).max()
    assert np.ptp(h[:, 0]) > 1e-3  # of trajectories that differ


@every_system
def test_truth_solves_its_equations(simulated, system):
    """The fourth-order difference of the samples is the right-hand side."""
    ds = simulated[system.name]
    u, dt = ds["u"].values, 0.05
    slope = (u[:, :-4] - 8 * u[:, 1:-3] + 8 * u[:, 3:-1] - u[:, 4:]) / (12 * dt)
    f = np.array([[system.rhs(x, 0.0) for x in trajectory] for trajectory in u[:, 2:-2]])
    np.testing.assert_allclose(slope, f, atol=0.01 * np.abs(f).max())


def test_angular_momentum_of_the_quartic_potential(simulated):
    x, y, vx, vy = np.moveaxis(simulated["quartic"]["u"].values, -1, 0)
    momentum = x * vy - y * vx
    np.testing.assert_allclose(momentum, momentum[:, :1] * np.ones(101), atol=1e-10)


@every_system
def test_data_say_how_they_came_to_be(simulated, system):
    ds = simulated[system.name]
    assert ds.sizes == {"trajectory": 5, "time": 101, "state": len(system.states)}
    assert tuple(ds["state"].values) == system.states
    np.testing.assert_allclose(ds["time"], np.linspace(0, 5, 101))
    assert ds["u"].dtype == float
    expected = {
        "system": system.name,
        "seed": 7,
        "initial_conditions": "paper",
        "solver": "dopri8",
        "rtol": 1e-12,
        "atol": 1e-12,
        "pnde_version": pnde.__version__,
    }
    assert {key: ds.attrs[key] for key in expected} == expected
    assert json.loads(ds.attrs["parameters"]) == system.parameters


@every_system
def test_seeds(simulated, system):
    again = system.simulate(trajectories=5, t_end=5.0, dt=0.05, seed=7)
    np.testing.assert_array_equal(again["u"], simulated[system.name]["u"])
    states = [system.initial(np.random.default_rng(seed), 5, "paper") for seed in (7, 8)]
    assert (states[0] != states[1]).all()
    np.testing.assert_array_equal(states[0], again["u"][:, 0])


def test_initial_states_of_the_quartic_potential():
    system, rng = Quartic(), np.random.default_rng(0)
    u = system.initial(rng, 20_000, "paper")
    radius, angle = np.hypot(u[:, 0], u[:, 1]), np.arctan2(u[:, 1], u[:, 0])
    covers(radius, 0.8, 1.2)
    covers(angle, -np.pi, np.pi)
    outward, along = u[:, :2] / radius[:, None], None
    along = np.stack([-outward[:, 1], outward[:, 0]], axis=1)
    tangential = np.sum(u[:, 2:] * along, axis=1) / radius**2
    assert 0.45 < np.mean(tangential > 0) < 0.55  # both senses
    deviation = u[:, 2:] / radius[:, None] ** 2 - np.sign(tangential)[:, None] * along
    covers(deviation, -0.1, 0.1)
    circular = Quartic(perturbation=0.0).initial(rng, 10, "paper")
    np.testing.assert_allclose(
        np.sum(circular[:, 2:] ** 2, axis=1), np.sum(circular[:, :2] ** 2, axis=1) ** 2
    )
    for column in system.initial(rng, 20_000, "code").T:
        covers(column, -1, 1)


def test_initial_states_of_lotka_volterra():
    system, rng = LotkaVolterra(), np.random.default_rng(0)
    for variant, ranges in (
        ("paper", [(0.5, 2), (0.5, 2)]),
        ("code", [(0.8, 3), (0.5, 2.5)]),
    ):
        u = system.initial(rng, 20_000, variant)
        for column, (low, high) in zip(u.T, ranges, strict=True):
            covers(column, low, high)


def covers(values, low, high):
    """All of the range and nothing else, evenly."""
    values, width = np.ravel(values), high - low
    assert low <= values.min() < low + 0.01 * width
    assert high - 0.01 * width < values.max() <= high
    assert abs(values.mean() - (low + high) / 2) < 0.02 * width
    assert abs(values.std() - width / np.sqrt(12)) < 0.02 * width


def test_initial_states_of_the_users_own():
    u0 = np.array([[1.0, 1.0], [3.0, 1.5], [0.6, 1.2], [2.0, 2.0], [1.0, 0.7]])
    ds = SYSTEMS["lotka-volterra"].simulate(u0=u0, t_end=5.0, dt=0.05)
    np.testing.assert_array_equal(ds["u"][:, 0], u0)
    np.testing.assert_allclose(ds["u"][1], np.tile([3, 1.5], (101, 1)), atol=1e-12)  # at rest


def test_truth_goes_on_from_a_data_set(simulated):
    ds = simulated["lotka-volterra"].isel(trajectory=[1, 3])
    longer = SYSTEMS["lotka-volterra"].continued(ds, 6.0)
    assert longer.sizes["time"] == 121
    np.testing.assert_array_equal(longer["trajectory"], [1, 3])
    np.testing.assert_allclose(longer["u"][:, :101], ds["u"], rtol=1e-9)


def test_systems_by_name():
    for name, system in SYSTEMS.items():
        assert name in pnde.systems.names()
        assert type(pnde.systems.get(name)) is type(system)
    assert pnde.systems.get("lotka-volterra", alpha=2.0).parameters["alpha"] == 2.0
    with pytest.raises(ConfigError, match=r"no system 'quartik' \(did you mean 'quartic'\?\)"):
        pnde.systems.get("quartik")
    with pytest.raises(ConfigError, match="has no parameter 'omega'; it has: alpha, beta"):
        pnde.systems.get("lotka-volterra", omega=2.0)
    with pytest.raises(ConfigError, match=r"grid needs its parameter 'grid': .*-p grid="):
        pnde.systems.get("grid")


@pytest.mark.parametrize("times", [{"t_end": 1.0, "dt": 0.3}, {"t_end": 0.1, "dt": 0.5}])
def test_times_that_do_not_fit(times):
    with pytest.raises(ConfigError, match="not a multiple"):
        Quartic().simulate(trajectories=2, **times)


def test_a_truth_that_cannot_be_integrated_is_named():
    u0 = np.tile([1.0, 0, 0, 1], (5, 1))
    u0[1, 0] = np.nan
    with pytest.raises(SolveError, match=r"quartic: trajectory 1 from .* cannot be integrated"):
        SYSTEMS["quartic"].simulate(u0=u0, t_end=5.0, dt=0.05)
