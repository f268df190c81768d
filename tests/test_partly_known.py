"""Training and forecasts on data whose states were sampled at different times."""

import numpy as np
import pytest

import pnde
from pnde.data import complete, make_dataset
from pnde.errors import ConstraintError
from pnde.metrics import state_error

T = 0.1 * np.arange(41)


def energy(u):
    return 0.5 * u[0] ** 2 + 0.5 * u[1] ** 2


@pytest.fixture(scope="module")
def alternating():
    phase = T + np.arange(6)[:, None]
    u = np.stack([np.cos(phase), -np.sin(phase)], axis=-1)
    u[:, ::2, 0] = np.nan
    u[:, 1::2, 1] = np.nan
    return pnde.split_data(make_dataset(u, T, ["x", "v"]), 3, 1, 2)


def test_training_and_a_forecast(alternating):
    run = pnde.train(alternating, energy, epochs=3, width=8, learning_rate=1e-2, progress=False)
    assert np.isfinite(run.history["loss"]).all()
    forecast = run.rollout()
    # It starts at the second sample, where x is first known, on the law.
    np.testing.assert_allclose(forecast["time"], T[1:-1] if forecast.sizes["time"] == 39 else T[1:])
    start = forecast["u"].values[:, 0]
    np.testing.assert_allclose(
        start, [[np.cos(p + 0.1), -np.sin(p + 0.1)] for p in (4, 5)], atol=1e-3
    )
    assert float(forecast["constraint_error"].max()) < 1e-12
    assert np.isfinite(forecast["state_error"]).all()


def test_the_loss_is_over_what_was_measured(alternating):
    """What stands in the place of an entry that was not measured does not change anything."""
    from pnde.engines import get
    from pnde.training import batches_of

    run = pnde.train(alternating, energy, epochs=1, width=8, progress=False)
    engine = get("jax")
    batch = batches_of(engine, run.model, alternating).train[0]
    assert batch.known is not None and not batch.known.all()
    loss, gradient = engine.loss_and_gradient(run.model, run.weights, batch)
    batch.u[:, 1:][~batch.known[:, 1:]] = 1e3
    again, same = engine.loss_and_gradient(run.model, run.weights, batch)
    assert np.isfinite(loss) and again == loss
    for name in gradient:
        np.testing.assert_array_equal(gradient[name], same[name])


def test_a_law_needs_complete_samples_to_be_checked(alternating):
    with pytest.raises(
        ConstraintError, match=r"trajectory 0: no sample has all states; pnde\.data\.complete"
    ):
        pnde.check(alternating, energy)
    assert float(pnde.check(complete(alternating), energy)["relative"].max()) < 1e-3


def test_the_state_error_is_over_what_was_measured():
    truth = np.array([[3.0, 4.0], [np.nan, 4.0], [np.nan, np.nan], [0.0, np.nan]])
    errors = state_error(truth, np.array([[3.0, 3.0], [9.0, 3.0], [1.0, 1.0], [0.0, 5.0]]))
    np.testing.assert_allclose(errors, [0.2, 0.25, np.nan, 0.0])
