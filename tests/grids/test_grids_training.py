"""Models of a grid, from data to long forecasts."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import pnde
from pnde.data import save_data
from pnde.engines import get
from pnde.laws import Instant
from pnde.models import initial_weights
from pnde.systems import ieee14, power_grid
from pnde.training import batches_of

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent / "data"
SMALL = {
    "layers": 1,
    "width": 8,
    "epochs": 3,
    "learning_rate": 1e-3,
    "segment": 2,
    "solver.step": 0.2,
    "engine": "jax",
    "progress": False,
    "train": 4,
    "valid": 1,
    "test": 2,
}


@pytest.fixture(scope="module")
def system():
    return ieee14()


@pytest.fixture(scope="module")
def run(system):
    # A few epochs do not make a stable model; the known part keeps it near rest.
    def towards_rest(u):
        return (system.operation_point.astype(u.dtype) - u) / 2.0

    return pnde.train(system.simulate(7, t_end=2.0), physics=towards_rest, **SMALL)


def test_long_forecasts_keep_the_law(system, run):
    forecast = run.rollout(t_end=500, dt=10)
    assert not forecast["status"].any()
    assert float(system.bus_error(forecast).max()) < 1e-10
    loads = system.grid.buses.number[system.grid.loads]
    power = system.active_power(forecast).sel(bus=loads)
    np.testing.assert_allclose(power.std("time"), 0.0, atol=1e-10)
    measures = system.measures(forecast)
    assert set(measures) == {"distance to rest, median (t = 500 s)"}
    assert measures.popitem()[1] == pytest.approx(float(system.distance(forecast)[:, -1].median()))


def test_the_slack_stands_still_to_the_last_bit(system, run):
    u = run.data["u"].values.reshape(-1, 28)
    c = np.tile(system.constraint.target, (len(u), 1))
    velocity = get("jax").velocity(run.model, run.weights, u, Instant(np.zeros(len(u))), c)
    np.testing.assert_array_equal(velocity[:, [1, 15]], 0.0)
    assert np.abs(velocity).max() > 0
    forecast = run.rollout(t_end=20, dt=10)["u"].sel(state=["Re v_2", "Im v_2"]).values
    np.testing.assert_array_equal(forecast, np.broadcast_to([1.0, 0.0], forecast.shape))
    # What stands still in the data has no speed to learn.
    np.testing.assert_array_equal(run.model.speed[[1, 15]], 0.0)


def test_training_starts_with_velocities_of_the_data(run):
    batch = batches_of(get("jax"), run.model, run.data).train[0]
    model = dataclasses.replace(run.model, physics=None)
    u, c = batch.u[:, 0], batch.c
    velocity = get("jax").velocity(
        model, initial_weights(model, 1), u, Instant(np.zeros(len(u))), c
    )
    true = np.diff(batch.u, axis=1) / 0.1
    assert 0.1 < np.std(velocity) / np.std(true) < 2


@pytest.mark.slow
def test_a_grid_of_the_users_own(tmp_path):
    system = power_grid(DATA / "ieee14.m")
    save_data(system.simulate(7, t_end=0.4), tmp_path / "data.nc")
    run = pnde.train(tmp_path / "data.nc", folder=tmp_path / "run", **SMALL)
    again = pnde.load(tmp_path / "run")  # without the file
    u = system.operation_point + np.zeros((1, 28))
    ours, theirs = run.rollout(u, t_end=1, dt=0.5), again.rollout(u, t_end=1, dt=0.5)
    np.testing.assert_array_equal(ours["u"], theirs["u"])
    assert float(system.bus_error(theirs).max()) < 1e-10
    assert again.model.constraint.row_names(2 * 9 + 2)[-1].startswith("Im v at bus 1")
