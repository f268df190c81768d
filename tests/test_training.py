"""Training: the loss and its gradient, and what an epoch does."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.config import Config, OptimiserConfig
from pnde.data import segments
from pnde.engines import Batch, Status, TrainingState, get
from pnde.engines.jax import fields, train
from pnde.engines.jax.engine import _loss_and_gradient
from pnde.engines.jax.stepping import Slots
from pnde.errors import ConstraintError, IllConditionedWarning, SolveError
from pnde.laws import Linear
from pnde.models import initial_weights
from pnde.systems import quartic

pytestmark = pytest.mark.usefixtures("strict")

FIXED = {"solver.step": 0.05, "solver.precision": "float64"}


def with_targets(law, u, t):
    return Batch(u, t, get("jax").law(law, u[:, 0], t[:, 0]))


@pytest.fixture(scope="module")
def batch(orbits):
    """18 segments of 4 steps."""
    cut = segments(orbits, 4)
    assert len(cut) == 18
    return with_targets(quartic().constraint, cut.u, cut.t)


def part(batch, chosen):
    return Batch(batch.u[chosen], batch.t[chosen], batch.c[chosen])


# The loss of a batch


@pytest.fixture(scope="module")
def pnde_model(make_model):
    return make_model(quartic(), "pnde", **FIXED)


@pytest.mark.parametrize("method", ["nde", "snde", "pnde"])
def test_gradient_of_the_loss(make_model, pnde_model, batch, method):
    model = pnde_model if method == "pnde" else make_model(quartic(), method, **FIXED)
    weights, rng, h = initial_weights(model, 2), np.random.default_rng(0), 1e-5
    # Off the manifold, where the stabilisation of an SNDE acts.
    four = replace(part(batch, slice(4)), c=batch.c[:4] + 0.1)
    _, gradient = get("jax").loss_and_gradient(model, weights, four)
    d = {name: rng.normal(size=array.shape) for name, array in weights.items()}

    def loss(s):
        moved = {name: array + s * d[name] for name, array in weights.items()}
        return get("jax").loss_and_gradient(model, moved, four)[0]

    slope = sum(np.sum(gradient[name] * d[name]) for name in weights)
    np.testing.assert_allclose(slope, (loss(h) - loss(-h)) / (2 * h), rtol=1e-7)


def loss_of(model, weights, batch, share, grid=None):
    """The loss with segments weighted by `share`, on relative times `grid` if given."""
    parameters = fields.parameters(weights, float)
    on_device = train.on_device(batch, np.asarray(share), float)
    if grid is not None:
        on_device = on_device._replace(grid=jnp.asarray(grid))
    (loss, _), gradient = _loss_and_gradient(model, parameters, on_device)
    return float(loss), np.concatenate([np.ravel(g) for g in jax.tree.leaves(gradient)])


def test_loss_is_the_mean_over_predicted_points_of_normalised_errors(pnde_model, batch):
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    loss, _ = loss_of(pnde_model, weights, four, np.full(4, 1 / 4))
    exact = get("jax").rollout(
        pnde_model,
        weights,
        four.u[:, 0],
        four.t[0] - four.t[0, 0],
        four.c,
        pnde_model.config.rollout.model_copy(update={"step": 0.05, "retract": "never"}),
    )
    error = (exact.u - four.u)[:, 1:] / pnde_model.std
    np.testing.assert_allclose(loss, np.mean(error**2), rtol=1e-9)


def test_segments_that_fill_up_a_batch_change_nothing(pnde_model, batch):
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    loss, gradient = loss_of(pnde_model, weights, four, [1 / 3, 1 / 3, 1 / 3, 0])
    alone = [loss_of(pnde_model, weights, four, share) for share in np.eye(4)[:3]]
    np.testing.assert_allclose(loss, np.mean([a[0] for a in alone]), rtol=1e-13)
    np.testing.assert_allclose(gradient, np.mean([a[1] for a in alone], axis=0), atol=1e-14)
    other = part(batch, [0, 1, 2, 9])
    filled = loss_of(pnde_model, weights, other, [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(filled[0], loss, rtol=1e-13)


def test_the_last_batch_is_filled_up(batch):
    order = np.random.default_rng(0).permutation(18)
    batches = train._batches(batch, order, 7, jnp.float64)
    assert [b.u.shape for b in batches] == [(7, 5, 4)] * 3
    for b, count in zip(batches, (7, 7, 4), strict=True):
        np.testing.assert_allclose(b.share, [1 / count] * count + [0] * (7 - count))
    seen = np.concatenate([b.u[np.asarray(b.share) > 0] for b in batches])
    np.testing.assert_array_equal(seen, batch.u[order])
    assert train._batches(batch, order, 100, jnp.float64)[0].u.shape == (18, 5, 4)


def test_time_grids_of_their_own(pnde_model, batch):
    """Segments solved each by itself give what they give together; on uneven grids, each its own."""
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    even, uneven = np.array([0, 0.1, 0.2, 0.3, 0.4]), np.array([0, 0.05, 0.2, 0.25, 0.4])
    share = np.full(4, 1 / 4)
    together = loss_of(pnde_model, weights, four, share, even)
    apart = loss_of(pnde_model, weights, four, share, np.tile(even, (4, 1)))
    np.testing.assert_allclose(apart[0], together[0], rtol=1e-12)
    np.testing.assert_allclose(apart[1], together[1], atol=1e-13)
    mixed = loss_of(pnde_model, weights, four, share, np.stack([even, uneven, even, uneven]))
    halves = [loss_of(pnde_model, weights, four, s, g) for s, g in (
        ([0.25, 0, 0.25, 0], even), ([0, 0.25, 0, 0.25], uneven))]  # fmt: skip
    np.testing.assert_allclose(mixed[0], halves[0][0] + halves[1][0], rtol=1e-12)
    np.testing.assert_allclose(mixed[1], halves[0][1] + halves[1][1], atol=1e-13)


def test_one_grid_where_all_segments_share_it(batch):
    later = replace(batch, t=batch.t + 7e4)
    assert train.on_device(later, np.ones(18), jnp.float32).grid.shape == (5,)
    odd = batch.t.copy()
    odd[3, 2] += 1e-3
    assert train.on_device(replace(batch, t=odd), np.ones(18), jnp.float32).grid.shape == (18, 5)


def test_backward_solve_gives_nearly_the_gradient_of_the_steps(make_model, pnde_model, batch):
    tight = {"solver.rtol": 1e-8, "solver.atol": 1e-8, "solver.precision": "float64"}
    backward = make_model(quartic(), "pnde", adjoint="backsolve", **tight)
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    share = np.full(4, 1 / 4)
    loss, gradient = loss_of(backward, weights, four, share)
    expected = loss_of(pnde_model, weights, four, share)
    np.testing.assert_allclose(loss, expected[0], rtol=1e-5)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-4 * np.abs(expected[1]).max())
    assert (gradient != expected[1]).any()


# Epochs


@pytest.fixture(scope="module")
def model(make_model):
    return make_model(
        quartic(), "pnde", epochs=6, batch_size=4, learning_rate=3e-2, clip=1e-3, weight_decay=0.1
    )


@pytest.fixture(scope="module")
def start(model):
    weights = initial_weights(model, 5)
    return TrainingState(0, weights, {}, weights, np.inf)


@pytest.fixture(scope="module")
def splits(batch):
    return part(batch, slice(14)), part(batch, slice(14, None))


def epochs_of(model, splits, state, on_step=lambda *_: None):
    """Each epoch with its state."""
    return [(epoch, epoch.state()) for epoch in get("jax").train(model, *splits, state, on_step)]


@pytest.fixture(scope="module")
def trained(model, splits, start):
    steps = []
    return epochs_of(model, splits, start, lambda *step: steps.append(step)), steps


def flat(weights):
    return np.concatenate([np.ravel(array) for array in weights.values()])


def same(state, other):
    """Bit for bit."""
    assert state.epoch == other.epoch
    assert state.best_loss == other.best_loss
    for a, b in (
        (state.weights, other.weights),
        (state.optimiser, other.optimiser),
        (state.best_weights, other.best_weights),
    ):
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_array_equal(a[name], b[name])


def test_training_lowers_the_loss_and_counts(trained):
    epochs, steps = trained
    assert [epoch.number for epoch, _ in epochs] == [1, 2, 3, 4, 5, 6]
    assert epochs[-1][0].loss < epochs[0][0].loss
    assert [step[:2] for step in steps] == [(i, 4) for _ in range(6) for i in (1, 2, 3, 4)]
    assert all(1 <= count <= 30 for *_, count in steps)
    np.testing.assert_allclose(epochs[0][0].loss, np.mean([loss for *_, loss, _ in steps[:4]]))


def test_training_is_deterministic(model, splits, start, trained):
    same(epochs_of(model, splits, start)[-1][1], trained[0][-1][1])


@pytest.mark.parametrize("stopped", [1, 3, 5])
def test_a_resumed_training_ends_with_the_same_bits(model, splits, trained, stopped):
    epochs, _ = trained
    resumed = epochs_of(model, splits, epochs[stopped - 1][1])
    assert [epoch.number for epoch, _ in resumed] == list(range(stopped + 1, 7))
    same(resumed[-1][1], epochs[-1][1])
    assert resumed[-1][0].valid_loss == epochs[-1][0].valid_loss


def test_best_weights_are_those_of_the_least_validation_loss(model, splits, start, trained):
    epochs, _ = trained
    losses = [epoch.valid_loss for epoch, _ in epochs]
    for i, (epoch, state) in enumerate(epochs):
        best = int(np.argmin(losses[: i + 1]))
        assert epoch.best_loss == state.best_loss == losses[best]
        np.testing.assert_array_equal(flat(state.best_weights), flat(epochs[best][1].weights))
    # A loss that no epoch reaches: the weights that came with it stay.
    unbeaten = replace(start, best_loss=1e-30, best_weights={"mark": np.ones(1)})
    kept = next(get("jax").train(model, *splits, unbeaten, lambda *_: None)).state()
    assert kept.best_loss == 1e-30
    assert list(kept.best_weights) == ["mark"]


def test_validation_loss_is_that_of_all_its_segments(model, splits, trained):
    epoch, state = trained[0][-1]
    loss, _ = get("jax").loss_and_gradient(model, state.weights, splits[1])
    np.testing.assert_allclose(epoch.valid_loss, loss, rtol=1e-5)


def test_first_step_of_the_optimiser(model, splits, start):
    """AdamW with the gradient clipped by component; the gradient is that of recomputed steps."""
    four = part(splits[0], slice(4))
    epoch = next(get("jax").train(model, four, splits[1], start, lambda *_: None))
    state = epoch.state()
    loss, gradient = get("jax").loss_and_gradient(model, start.weights, four)
    np.testing.assert_allclose(epoch.loss, loss, rtol=1e-5)
    np.testing.assert_allclose(epoch.gradient_norm, np.linalg.norm(flat(gradient)), rtol=1e-4)
    assert state.optimiser["count"] == 1
    clipped = np.clip(flat(gradient), -1e-3, 1e-3)
    assert 0 < np.count_nonzero(np.abs(clipped) == 1e-3) < len(clipped)
    mu = flat({name: state.optimiser[f"mu.{name}"] for name in start.weights})
    np.testing.assert_allclose(mu, 0.1 * clipped, rtol=1e-3, atol=1e-6)
    before, after = flat(start.weights), flat(state.weights)
    step = clipped / (np.abs(clipped) + 1e-8) + 0.1 * before
    clear = np.abs(clipped) > 1e-5  # the sign of the others is rounding
    np.testing.assert_allclose((after - before)[clear], -3e-2 * step[clear], rtol=1e-3, atol=1e-6)


def test_learning_rate_is_a_cosine_and_then_constant(trained):
    schedule = OptimiserConfig(
        epochs=100, learning_rate=1e-2, final_learning_rate=1e-4, decay_epochs=40
    )
    rates = [train.learning_rate(schedule, epoch) for epoch in range(100)]
    np.testing.assert_allclose(rates[0], 1e-2)
    np.testing.assert_allclose(rates[20], (1e-2 + 1e-4) / 2)
    np.testing.assert_allclose(rates[10], 1e-4 + 0.5 * (1e-2 - 1e-4) * (1 + np.sqrt(0.5)))
    np.testing.assert_allclose(rates[40:], 1e-4)
    assert (np.diff(rates[:41]) < 0).all()
    half = schedule.model_copy(update={"decay_epochs": None})
    assert train.learning_rate(half, 49) > 1e-4 == train.learning_rate(half, 50)
    used = [epoch.learning_rate for epoch, _ in trained[0]]
    np.testing.assert_allclose(used, [3e-2, 0.75 * 3e-2, 0.25 * 3e-2, 1e-6, 1e-6, 1e-6], rtol=1e-3)


def test_a_loss_that_is_not_finite_names_epoch_and_batch(model, splits, start, trained):
    broken = splits[0].u.copy()
    broken[5, 2] = 1e25  # squared, it is too large for single precision
    steps = []
    with pytest.raises(SolveError) as error:
        epochs_of(
            model, (replace(splits[0], u=broken), splits[1]), start, lambda *s: steps.append(s)
        )
    assert f"training loss is not finite in epoch 1, batch {len(steps) + 1}:" in str(error.value)
    with pytest.raises(SolveError, match="validation loss is not finite in epoch 4:"):
        epochs_of(model, (splits[0], replace(splits[1], u=1e25 * splits[1].u)), trained[0][2][1])


def test_weights_that_are_not_finite(model, splits, start):
    nan = {name: np.nan * array for name, array in start.weights.items()}
    with pytest.raises(SolveError, match="epoch 1, batch 1: the state became infinite or NaN"):
        epochs_of(model, splits, replace(start, weights=nan))


def test_dependent_rows_are_named_before_training(make_model, splits, start, monkeypatch):
    def stop(*_):
        raise RuntimeError("stop here")

    monkeypatch.setattr(train, "step", stop)
    A = np.array([[1.0, 0, 0, 0], [1, 1e-2, 0, 0]])
    twice, nearly = (make_model(quartic(), constraint=Linear(A[rows])) for rows in ([0, 0], [0, 1]))
    with pytest.raises(ConstraintError, match="rows of the law 'linear' are dependent"):
        epochs_of(twice, splits, start)
    with pytest.warns(IllConditionedWarning, match="'linear' are nearly dependent"):
        with pytest.raises(RuntimeError, match="stop here"):
            epochs_of(nearly, splits, start)


def test_steps_are_stored_up_to_max_steps(make_model, splits):
    def slots(**settings):
        return Slots.for_training(make_model(quartic(), **settings), on_device)

    on_device = train.on_device(splits[0], np.ones(14), jnp.float32)
    assert slots().count == 4
    few = slots(**{"solver.max_steps": 6})
    assert few.too_few(Status.MAX_STEPS) and few.count == 6
    assert few.too_few(Status.MAX_STEPS) and few.count is None
    assert not few.too_few(Status.MAX_STEPS)
    few.used(40)  # recomputed for the rest of the epoch, then tried again
    few.next_epoch()
    few.used(3)
    assert few.count == 6
    assert slots(**{"solver.max_steps": 3}).count == 3
    assert slots(adjoint="backsolve").count is None
    reason = train._not_finite("training", 0, 2, Status.MAX_STEPS)
    assert reason.startswith("the training loss is not finite in epoch 1, batch 3: ")
    assert "max_steps" in reason


def test_slots_shrink_after_a_window_and_follow_from_the_recent_steps():
    slots = Slots(32)
    for _ in range(31):
        slots.used(2)
    assert slots.count == 4
    slots.used(2)
    assert slots.count == 2
    assert slots.too_few(Status.MAX_STEPS) and slots.count == 3
    slots.used(3)
    assert slots.count == 3 == Slots(32, slots.recent_steps()).count
    slots.used(50)
    slots.next_epoch()
    assert slots.count == 32 == Slots(32, slots.recent_steps()).count


def test_default_configuration_trains_in_single_and_rolls_out_in_double_precision(trained):
    config = Config()
    assert (config.solver.precision, config.rollout.precision) == ("float32", "float64")
    assert {array.dtype for array in trained[0][-1][1].weights.values()} == {np.dtype("float32")}
