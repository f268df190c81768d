"""Inequalities in the julia engine: the numbers of the embedded engine, and forecasts that stay inside."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from live import both, live
from parity import STEPPED, close, flat, model_of, wave, weights_of

import pnde
from pnde.config import SolverConfig
from pnde.data import Inputs
from pnde.engines import Batch, Status, get
from pnde.laws import Bounds, Conditions, Instant
from pnde.runs.new_model import new_model

pytestmark = [pytest.mark.julia, live]

MIXTURE = STEPPED["mixture-within-bounds"]
MASS, POSITIVE = pnde.Linear([[1, 1, 1]], 1.0), pnde.Bounded(["A", "B", "C"], lower=0)


def shares(count=20):
    """Shares of a whole inside of the bounds, many of them at one, `(B, 3)`."""
    u = np.random.default_rng(4).dirichlet([0.3, 0.3, 2.0], size=20 * count)
    u = np.where(u < 0.02, 0, u)
    u[:, 2] = 1 - u[:, 0] - u[:, 1]
    return u[u[:, 0] ** 2 + u[:, 1] ** 2 <= 0.4][:count]


METRICS = {
    "plain": None,
    "weighted": np.array([0.5, 1.0, 2.0]),
    "full": np.diag([1.0, 2.0, 3.0]) + 0.3,
    "of the state": lambda u: 1 + u**2,
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("law", [True, False])
def test_velocity(metric, law):
    model = replace(model_of(MIXTURE, "pnde"), metric=METRICS[metric])
    if not law:
        model = replace(model, constraint=None)
    u = shares()
    c, at = np.ones((len(u), int(law))), Instant(np.zeros(len(u)))
    ours, theirs = (run(model, weights_of(model), u, at, c) for run in both("velocity"))
    close(ours, theirs, 1e-12)
    if law:
        free = get("jax").velocity(replace(model, bounds=None), weights_of(model), u, at, c)
        assert (np.abs(theirs - free).max(axis=1) > 1e-3).mean() > 0.2


def test_bounds_of_states_alone():
    """Which nothing couples; one of them is named twice."""
    parts = tuple(pnde.Bounded(n, lower=0).bind(MIXTURE.states) for n in (["a", "c"], ["a"]))
    zeros, ones = np.zeros(3), np.ones(3)
    bounds = Bounds(
        parts,
        ("a", "c", "a"),
        np.array([0, 2, 0]),
        zeros,
        np.inf * ones,
        np.array([2.0, 3.0, 1.0]),
        ones,
    )
    model = replace(model_of(MIXTURE, "pnde", step=0.05), bounds=bounds, constraint=None)
    u, at = shares(), Instant(np.zeros(20))
    c = np.empty((20, 0))
    ours, theirs = (run(model, weights_of(model), u, at, c) for run in both("velocity"))
    close(ours, theirs, 1e-12)
    compare_gradients(model)


def compare_gradients(model, count=6):
    u = shares(count)
    points = u[:, None] + 0.1 * np.arange(4)[:, None] * wave(count, 4, 3)
    c = np.ones((count, 0 if model.constraint is None else 1))
    share = np.full(count, 1 / count)
    batch = Batch(points, np.zeros(count), 0.1 * np.arange(4), c, share)
    ours, theirs = (run(model, weights_of(model), batch) for run in both("loss_and_gradient"))
    close(ours[0], theirs[0], 1e-12)
    close(flat(ours[1]), flat(theirs[1]), 1e-10)


@pytest.mark.parametrize("retract", ["step", "save", "never"])
def test_loss_and_gradient(retract):
    """Of the same steps: what is within bounds has kinks, so that small steps are not exact."""
    compare_gradients(model_of(MIXTURE, "pnde", step=0.05, retract=retract))


def test_states_are_put_back():
    u = shares() + 0.05 * np.random.default_rng(1).normal(size=(20, 3))
    at, c = Instant(np.zeros(20)), np.ones((20, 1))
    law = MIXTURE.constraint.bind(MIXTURE.states)
    for metric in (None, np.array([0.5, 1.0, 2.0])):
        ours, theirs = (run(law, metric, u, at, c, MIXTURE.bounds) for run in both("retract"))
        close(ours[0], theirs[0], 1e-12)
        np.testing.assert_array_equal(ours[1], theirs[1])
        assert ours[1].all() and ours[0][:, :2].min() == 0
    alone = next(both("retract"))(None, None, u, at, c[:, :0], MIXTURE.bounds)[0]
    assert alone[:, :2].min() == 0


@pytest.mark.parametrize("law", [True, False])
def test_forecasts_stay_inside(law):
    model = model_of(MIXTURE, "pnde")
    model = model if law else replace(model, constraint=None)
    u0, times = shares(4), np.linspace(0, 30, 61)
    c = np.ones((4, int(law)))
    settings = SolverConfig(solver="tsit5", step=0.05, retract="step")
    ours, theirs = (
        run(model, weights_of(model), u0, times, c, settings) for run in both("rollout")
    )
    close(ours.u, theirs.u)
    np.testing.assert_array_equal(ours.status, theirs.status)
    assert not ours.status.any() and ours.u[..., :2].min() >= 0
    assert (ours.u[..., 0] ** 2 + ours.u[..., 1] ** 2).max() <= 0.4
    if law:
        assert np.abs(ours.u.sum(axis=-1) - 1).max() < 1e-15
    stiff = get("julia").rollout(
        model, weights_of(model), u0, times, c, SolverConfig(solver="kvaerno5", retract="step")
    )
    assert not stiff.status.any() and stiff.u[..., :2].min() >= 0
    np.testing.assert_allclose(stiff.u, ours.u, atol=1e-2)


def growing(u, t, w):
    return jnp.sum(u) - 0.5 * t * w[0]


def test_bounds_that_come_to_contradict_the_law_are_a_status():
    part = pnde.Inequality(growing, lower=-4.0).bind(MIXTURE.states)
    one = np.ones(1)
    bounds = Bounds((part,), ("sum",), np.array([-1]), -4 * one, np.inf * one, one, one)
    model = replace(
        model_of(MIXTURE, "pnde"),
        bounds=bounds,
        inputs=("w",),
        condition_mean=np.zeros(1),
        condition_std=one,
    )
    knots, coefficients = np.array([[0.0]]), np.zeros((1, 1, 4, 1))
    coefficients[0, 0, 0] = 1.0
    none = np.empty((1, 0))
    conditions = Conditions(Inputs(knots, coefficients, none, none), None)
    settings = SolverConfig(solver="tsit5", retract="save")
    ours, theirs = (
        run(model, weights_of(model), shares(1), np.arange(0.0, 13.0), np.ones((1, 1)), settings, conditions)
        for run in both("rollout")
    )  # fmt: skip
    assert ours.status == theirs.status == Status.INFEASIBLE
    assert np.isfinite(ours.u).all()


def test_a_training_and_its_forecast():
    t = np.linspace(0, 8, 17)
    start = np.linspace(0.4, 1, 5)[:, None]
    a, b = start * np.exp(-t), 2 * start * (np.exp(-t / 2) - np.exp(-t))
    data = pnde.data.make_dataset(np.stack([a, b, 1 - a - b], axis=-1), t, ["A", "B", "C"])
    exact = {"solver.precision": "float64", "solver.step": 0.5}
    settings = {"width": 8, "epochs": 3, "learning_rate": 1e-2, "progress": False} | exact
    ours, theirs = (
        pnde.train(data, MASS & POSITIVE, engine=name, **settings) for name in ("julia", "jax")
    )
    np.testing.assert_allclose(ours.history["loss"], theirs.history["loss"], rtol=1e-9)
    forecast = ours.rollout(t_end=80.0)
    u = forecast["u"].values
    assert (forecast["status"] == 0).all()
    assert u.min() == 0.0 and np.abs(u.sum(axis=-1) - 1).max() <= 1e-15
    np.testing.assert_array_equal(forecast["margin"].values, u)


def test_limits_of_a_grid():
    """A band of voltages and angles across branches, which most states are near."""
    system = pnde.systems.ieee14(voltage_band=[0.9, 1.1], angle_limit=40)
    data = pnde.split_data(system.simulate(4, t_end=1.0, dt=0.1, seed=1), 2, 1, 1)
    config = pnde.Config.make(
        width=8, rate=0.1, **{"solver.step": 0.05, "solver.precision": "float64"}
    )
    model, _ = new_model(get("jax"), data, None, config, None, None, None)
    u = data["u"].values[:, -1]
    c, at = get("jax").law(model.constraint, u, Instant(np.zeros(4))), Instant(np.zeros(4))
    weights = {name: 30 * array for name, array in weights_of(model).items()}
    ours, theirs = (run(model, weights, u, at, c) for run in both("velocity"))
    free = get("jax").velocity(replace(model, bounds=None), weights, u, at, c)
    assert np.abs(theirs - free).max() > 1e-3
    close(ours, theirs, 1e-10)
