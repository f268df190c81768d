"""Stiff equations: the implicit solver in training and in forecasts, on the law's manifold."""

import numpy as np
import pytest

import pnde
from pnde.data import make_dataset
from pnde.engines import Status
from pnde.errors import ConfigError
from pnde.training import _remedy

IMPLICIT = {"solver.solver": "kvaerno5", "rollout.solver": "kvaerno5"}


def fast_and_slow():
    """A → B → C with rates 1 and 1e4, known at times from 1e-5 to 10: B is gone before A begins to fall."""
    times = np.concatenate([[0], np.logspace(-5, 1, 24)])
    a0 = np.linspace(0.6, 1.0, 6)[:, None]
    a = a0 * np.exp(-times)
    b = a0 * 1e-4 * (np.exp(-times) - np.exp(-1e4 * times))
    return make_dataset(np.stack([a, b, 1 - a - b], axis=-1), times, ["A", "B", "C"])


def test_training_and_forecast_by_the_implicit_solver():
    mass = pnde.Linear([[1, 1, 1]], 1.0, names=["mass"])
    settings = {"layers": 1, "width": 8, "epochs": 120, "learning_rate": 3e-2, "progress": False}
    run = pnde.train(fast_and_slow(), mass, **settings, **IMPLICIT)
    assert run.history["valid_loss"].iloc[-1] < 0.7 * run.history["valid_loss"].iloc[0]
    # A unit of output moves no state by more than its spread in a segment, however fast the data begin.
    times = fast_and_slow()["time"].values
    longest = (times[4:] - times[:-4]).max()
    assert (run.model.speed * longest <= run.model.std * (1 + 1e-12)).all()
    forecast = run.rollout()
    assert (forecast["status"] == 0).all()
    np.testing.assert_allclose(forecast["u"].sum("state"), 1.0, rtol=0, atol=1e-15)


def test_implicit_steps_may_shrink():
    with pytest.raises(ConfigError, match=r"leave rollout\.step out"):
        pnde.Config.make(**IMPLICIT, **{"rollout.step": 0.1})


def test_a_loss_that_is_not_finite_names_float64_for_an_implicit_solver(make_model):
    """A state that leaves its bound does so in steps that float32 may not tell from none at a late time."""
    model = make_model(pnde.systems.quartic(), **IMPLICIT)
    words = _remedy(model, Status.NON_FINITE)
    assert 'solver.precision = "float64"' in words and "kvaerno5" not in words
    double = make_model(pnde.systems.quartic(), **IMPLICIT, **{"solver.precision": "float64"})
    assert "precision" not in _remedy(double, Status.NON_FINITE)
