"""The loop: batches, epochs, schedule, best weights, resuming, losses that are not finite."""

from dataclasses import replace

import numpy as np
import pytest

import pnde
from pnde.config import Config, OptimiserConfig
from pnde.data import segments, select
from pnde.engines import get
from pnde.errors import RunError, SolveError
from pnde.models import initial_weights
from pnde.systems import quartic
from pnde.training import Batches, Progress, batches_of, check_fits, epochs, learning_rate

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture(scope="module")
def split(orbits):
    """15 segments of 4 steps to train on, 3 to validate."""
    return pnde.split_data(orbits, 5, 1, 0)


@pytest.fixture(scope="module")
def model(make_model):
    return make_model(
        quartic(), "pnde", epochs=6, batch_size=4, learning_rate=3e-2, clip=1e-3, weight_decay=0.1
    )


@pytest.fixture(scope="module")
def batches(model, split):
    return batches_of(get("jax"), model, split)


@pytest.fixture(scope="module")
def start(model):
    weights = initial_weights(model, 5)
    return Progress(weights, weights)


def epochs_of(model, batches, progress, on_step=lambda *_: None):
    """How far the training has come after each epoch."""
    return [end.progress() for end in epochs(get("jax"), model, batches, progress, on_step)]


@pytest.fixture(scope="module")
def trained(model, batches, start):
    steps = []
    return epochs_of(model, batches, start, lambda *step: steps.append(step)), steps


def flat(weights):
    return np.concatenate([np.ravel(array) for array in weights.values()])


def same(progress, other):
    """Bit for bit, but for the clock."""
    without_clock = [[row._replace(seconds=0) for row in p.history] for p in (progress, other)]
    assert without_clock[0] == without_clock[1]
    for a, b in (
        (progress.weights, other.weights),
        (progress.state, other.state),
        (progress.best_weights, other.best_weights),
    ):
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_array_equal(a[name], b[name])


def test_the_last_batch_is_filled_up(make_model, split):
    model = make_model(quartic(), "pnde", batch_size=7)
    made = batches_of(get("jax"), model, split)
    assert [batch.u.shape for batch in made.train] == [(7, 5, 4)] * 3
    for batch, count in zip(made.train, (7, 7, 1), strict=True):
        np.testing.assert_allclose(batch.share, [1 / count] * count + [0] * (7 - count))
    seen = np.concatenate([batch.u[batch.share > 0] for batch in made.train])
    cut = segments(select(split, "train"), 4).u
    order = np.random.default_rng(model.config.seed).permutation(15)
    np.testing.assert_array_equal(seen, cut[order])
    assert [batch.u.shape for batch in made.valid] == [(3, 5, 4)]
    whole = batches_of(get("jax"), make_model(quartic(), "pnde", batch_size=100), split)
    assert [batch.u.shape for batch in whole.train] == [(15, 5, 4)]


def test_training_lowers_the_loss_and_counts(trained):
    done, steps = trained
    assert [progress.epoch for progress in done] == [1, 2, 3, 4, 5, 6]
    history = done[-1].history
    assert [row.epoch for row in history] == [1, 2, 3, 4, 5, 6]
    assert history[-1].loss < history[0].loss
    assert [step[:2] for step in steps] == [(i, 4) for _ in range(6) for i in (1, 2, 3, 4)]
    assert all(1 <= step.solver_steps <= 30 for *_, step in steps)
    np.testing.assert_allclose(history[0].loss, np.mean([step.loss for *_, step in steps[:4]]))
    np.testing.assert_allclose(
        history[0].gradient_norm, np.mean([step.gradient_norm for *_, step in steps[:4]])
    )


def test_training_is_deterministic(model, batches, start, trained):
    same(epochs_of(model, batches, start)[-1], trained[0][-1])


@pytest.mark.parametrize("stopped", [1, 3, 5])
def test_a_resumed_training_ends_with_the_same_bits(model, batches, trained, stopped):
    done, _ = trained
    resumed = epochs_of(model, batches, done[stopped - 1])
    assert [progress.epoch for progress in resumed] == list(range(stopped + 1, 7))
    same(resumed[-1], done[-1])


def test_best_weights_are_those_of_the_least_validation_loss(model, batches, start, trained):
    done, _ = trained
    losses = [row.valid_loss for row in done[-1].history]
    for i, progress in enumerate(done):
        best = int(np.argmin(losses[: i + 1]))
        assert progress.history[-1].best_loss == progress.best_loss == losses[best]
        assert progress.best_epoch == best + 1
        np.testing.assert_array_equal(flat(progress.best_weights), flat(done[best].weights))
    # A loss that no epoch reaches: the weights that came with it stay.
    row = done[0].history[0]._replace(valid_loss=1e-30, best_loss=1e-30)
    unbeaten = replace(done[0], history=(row,), best_weights={"mark": np.ones(1)})
    kept = next(epochs(get("jax"), model, batches, unbeaten)).progress()
    assert kept.best_loss == 1e-30
    assert kept.best_epoch == 1
    assert list(kept.best_weights) == ["mark"]


def test_validation_loss_is_that_of_all_its_segments(model, batches, trained):
    last = trained[0][-1]
    loss, _ = get("jax").loss_and_gradient(model, last.weights, batches.valid[0])
    np.testing.assert_allclose(last.history[-1].valid_loss, loss, rtol=1e-5)
    # The same in several batches, of which the last is filled up.
    many = replace(model, config=Config.make(model.config, batch_size=2))
    assert len(batches.valid[0]) == 3
    pieces = batches.valid[0]
    two = [
        replace(pieces, u=pieces.u[rows], start=pieces.start[rows], c=pieces.c[rows], share=share)
        for rows, share in (([0, 1], np.full(2, 0.5)), ([2, 0], np.array([1.0, 0])))
    ]
    again = next(epochs(get("jax"), many, Batches(batches.train, two), trained[0][4]))
    np.testing.assert_allclose(again.row.valid_loss, last.history[-1].valid_loss, rtol=1e-5)


def test_learning_rate_is_a_cosine_and_then_constant(trained):
    schedule = OptimiserConfig(
        epochs=100, learning_rate=1e-2, final_learning_rate=1e-4, decay_epochs=40
    )
    rates = [learning_rate(schedule, epoch) for epoch in range(100)]
    np.testing.assert_allclose(rates[0], 1e-2)
    np.testing.assert_allclose(rates[20], (1e-2 + 1e-4) / 2)
    np.testing.assert_allclose(rates[10], 1e-4 + 0.5 * (1e-2 - 1e-4) * (1 + np.sqrt(0.5)))
    np.testing.assert_allclose(rates[40:], 1e-4)
    assert (np.diff(rates[:41]) < 0).all()
    half = schedule.model_copy(update={"decay_epochs": None})
    assert learning_rate(half, 49) > 1e-4 == learning_rate(half, 50)
    used = [row.learning_rate for row in trained[0][-1].history]
    np.testing.assert_allclose(used, [3e-2, 0.75 * 3e-2, 0.25 * 3e-2, 1e-6, 1e-6, 1e-6], rtol=1e-3)


def test_a_loss_that_is_not_finite_names_epoch_and_batch(model, batches, start, trained):
    broken = batches.train[1].u.copy()
    broken[2, 2] = 1e25  # squared, it is too large for single precision
    train = [batches.train[0], replace(batches.train[1], u=broken), *batches.train[2:]]
    steps = []
    with pytest.raises(SolveError) as error:
        epochs_of(model, replace(batches, train=train), start, lambda *s: steps.append(s))
    order = np.random.default_rng([model.config.seed, 0]).permutation(4)
    assert len(steps) == list(order).index(1)
    assert f"training loss is not finite in epoch 1, batch {len(steps) + 1}:" in str(error.value)
    valid = [replace(batches.valid[0], u=1e25 * batches.valid[0].u)]
    with pytest.raises(SolveError, match="validation loss is not finite in epoch 4:"):
        epochs_of(model, replace(batches, valid=valid), trained[0][2])


def test_weights_that_are_not_finite(model, batches, start):
    nan = {name: np.nan * array for name, array in start.weights.items()}
    with pytest.raises(SolveError, match="epoch 1, batch 1: the state became infinite or NaN"):
        epochs_of(model, batches, replace(start, weights=nan))


def test_too_few_steps_of_the_solver_are_named(make_model, batches, start):
    model = make_model(quartic(), "pnde", epochs=1, batch_size=4, **{"solver.max_steps": 1})
    with pytest.raises(SolveError, match=r"epoch 1, batch 1: .*solver.max_steps = 1 steps"):
        epochs_of(model, batches, start)


def test_a_fixed_step_that_is_long_for_gamma_is_named(make_model, batches, start):
    given = {"epochs": 1, "batch_size": 4, "gamma": 1e5, "solver.step": 0.1}
    with pytest.raises(
        SolveError, match=r"leave out solver.step, of which γ = 100000 wants at most 1/γ = 1e-05"
    ):
        epochs_of(make_model(quartic(), "snde", **given), batches, start)


def test_a_checkpoint_of_another_model_is_refused(make_model, batches, trained):
    wider = make_model(quartic(), "pnde", epochs=6, batch_size=4, width=5)
    with pytest.raises(RunError, match=r"'?layers.0.weight'? has the shape"):
        check_fits(trained[0][0], wider)
    weights = initial_weights(wider, 1)
    with pytest.raises(RunError, match="the checkpoint does not fit the model"):
        epochs_of(wider, batches, replace(trained[0][0], weights=weights))
