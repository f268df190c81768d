"""Training in the engine: the loss and its gradient, a step of the optimiser, the room for the solver's steps."""

import warnings
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from pnde.config import Config
from pnde.data import segments
from pnde.engines import Batch, Status, get
from pnde.engines.jax.batches import on_device
from pnde.engines.jax.slots import Slots
from pnde.errors import ConstraintError, IllConditionedWarning
from pnde.laws import Instant, Linear
from pnde.models import initial_weights
from pnde.systems import quartic

pytestmark = pytest.mark.usefixtures("strict", "full_compilation")

FIXED = {"solver.step": 0.05, "solver.precision": "float64"}


@pytest.fixture(scope="module")
def batch(orbits):
    """18 segments of 4 steps."""
    cut = segments(orbits, 4)
    c = get("jax").law(quartic().constraint, cut.u[:, 0], Instant(cut.start_time))
    assert len(cut) == 18
    return Batch(cut.u, cut.start_time, cut.grid, c, np.full(18, 1 / 18))


def part(batch, chosen, share=None):
    """Some segments, of equal weight unless they have a `share`."""
    u = batch.u[chosen]
    share = np.full(len(u), 1 / len(u)) if share is None else np.asarray(share)
    return replace(batch, u=u, start=batch.start[chosen], c=batch.c[chosen], share=share)


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


def flat(weights):
    return np.concatenate([np.ravel(array) for array in weights.values()])


def loss_of(model, weights, batch, share=None, grid=None):
    """The loss and its gradient, with other weights of the segments or other relative times if given."""
    if share is not None:
        batch = replace(batch, share=np.asarray(share))
    if grid is not None:
        batch = replace(batch, grid=np.asarray(grid))
    loss, gradient = get("jax").loss_and_gradient(model, weights, batch)
    return loss, flat(gradient)


def test_loss_is_the_mean_over_predicted_points_of_normalised_errors(pnde_model, batch):
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    loss, _ = loss_of(pnde_model, weights, four)
    exact = get("jax").rollout(
        pnde_model,
        weights,
        four.u[:, 0],
        four.grid,
        four.c,
        pnde_model.config.rollout.model_copy(update={"step": 0.05, "retract": "never"}),
    )
    error = (exact.u - four.u)[:, 1:] / pnde_model.std
    np.testing.assert_allclose(loss, np.mean(error**2), rtol=1e-9)


def test_the_mean_is_over_the_entries_that_are_known(pnde_model, batch):
    """Segment by segment; what stands for the others has no part in loss and gradient."""
    two, weights = part(batch, slice(2)), initial_weights(pnde_model, 2)
    known = np.ones(two.u.shape, bool)
    known[0, 2, 1] = known[0, 4, 3] = False
    known[1, 1:, 0] = False
    marked = replace(two, known=known, u=np.where(known, two.u, np.nan))
    marked.u[:, 0] = two.u[:, 0]
    loss, gradient = loss_of(pnde_model, weights, marked)
    exact = get("jax").rollout(
        pnde_model,
        weights,
        two.u[:, 0],
        two.grid,
        two.c,
        pnde_model.config.rollout.model_copy(update={"step": 0.05, "retract": "never"}),
    )
    squares = (((exact.u - two.u) / pnde_model.std) ** 2)[:, 1:]
    expected = np.mean([squares[i][known[i, 1:]].mean() for i in range(2)])
    np.testing.assert_allclose(loss, expected, rtol=1e-9)
    assert np.isfinite(gradient).all()


def test_segments_that_fill_up_a_batch_change_nothing(pnde_model, batch):
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    loss, gradient = loss_of(pnde_model, weights, four, [1 / 3, 1 / 3, 1 / 3, 0])
    alone = [loss_of(pnde_model, weights, four, share) for share in np.eye(4)[:3]]
    np.testing.assert_allclose(loss, np.mean([a[0] for a in alone]), rtol=1e-13)
    np.testing.assert_allclose(gradient, np.mean([a[1] for a in alone], axis=0), atol=1e-14)
    filled = loss_of(pnde_model, weights, part(batch, [0, 1, 2, 9], [1 / 3, 1 / 3, 1 / 3, 0]))
    np.testing.assert_allclose(filled[0], loss, rtol=1e-13)


def test_time_grids_of_their_own(pnde_model, batch):
    """Segments solved each by itself give what they give together; on uneven grids, each its own."""
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    even, uneven = np.array([0, 0.1, 0.2, 0.3, 0.4]), np.array([0, 0.05, 0.2, 0.25, 0.4])
    together = loss_of(pnde_model, weights, four, grid=even)
    apart = loss_of(pnde_model, weights, four, grid=np.tile(even, (4, 1)))
    np.testing.assert_allclose(apart[0], together[0], rtol=1e-12)
    np.testing.assert_allclose(apart[1], together[1], atol=1e-13)
    mixed = loss_of(pnde_model, weights, four, grid=np.stack([even, uneven, even, uneven]))
    halves = [loss_of(pnde_model, weights, four, s, g) for s, g in (
        ([0.25, 0, 0.25, 0], even), ([0, 0.25, 0, 0.25], uneven))]  # fmt: skip
    np.testing.assert_allclose(mixed[0], halves[0][0] + halves[1][0], rtol=1e-12)
    np.testing.assert_allclose(mixed[1], halves[0][1] + halves[1][1], atol=1e-13)


def test_backward_solve_gives_nearly_the_gradient_of_the_steps(make_model, pnde_model, batch):
    tight = {"solver.rtol": 1e-8, "solver.atol": 1e-8, "solver.precision": "float64"}
    backward = make_model(quartic(), "pnde", adjoint="backsolve", **tight)
    four, weights = part(batch, slice(4)), initial_weights(pnde_model, 2)
    loss, gradient = loss_of(backward, weights, four)
    expected = loss_of(pnde_model, weights, four)
    np.testing.assert_allclose(loss, expected[0], rtol=1e-5)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-4 * np.abs(expected[1]).max())
    assert (gradient != expected[1]).any()


# A step of the optimiser


@pytest.fixture(scope="module")
def model(make_model):
    return make_model(
        quartic(), "pnde", batch_size=4, learning_rate=3e-2, clip=1e-3, weight_decay=0.1
    )


def test_first_step_of_the_optimiser(model, batch):
    """AdamW with the gradient clipped by component; the gradient is that of recomputed steps."""
    four, weights = part(batch, slice(4)), initial_weights(model, 5)
    training = get("jax").start(model, [four], [four], weights)
    step = training.step(0, 3e-2)
    loss, gradient = get("jax").loss_and_gradient(model, weights, four)
    np.testing.assert_allclose(step.loss, loss, rtol=1e-5)
    np.testing.assert_allclose(step.gradient_norm, np.linalg.norm(flat(gradient)), rtol=1e-4)
    state = training.state()
    assert state["count"] == 1
    clipped = np.clip(flat(gradient), -1e-3, 1e-3)
    assert 0 < np.count_nonzero(np.abs(clipped) == 1e-3) < len(clipped)
    mu = flat({name: state[f"mu.{name}"] for name in weights})
    np.testing.assert_allclose(mu, 0.1 * clipped, rtol=1e-3, atol=1e-6)
    before, after = flat(weights), flat(training.weights())
    change = clipped / (np.abs(clipped) + 1e-8) + 0.1 * before
    clear = np.abs(clipped) > 1e-5  # the sign of the others is rounding
    np.testing.assert_allclose((after - before)[clear], -3e-2 * change[clear], rtol=1e-3, atol=1e-6)


def test_steps_share_their_room_and_nothing_that_is_in_it(model, batch):
    """A step stores what its derivative needs where the last one did; what it finds there does not matter."""
    four, two = part(batch, slice(4)), part(batch, slice(2))

    def trained(spoil):
        training = get("jax").start(model, [two, four], [four], initial_weights(model, 5))
        for index in (0, 1, 0):
            training.step(index, 3e-2)
            room = training._room
            assert room.size > 0
            if spoil:
                training._room = jnp.full_like(room, np.nan)
        return flat(training.weights())

    np.testing.assert_array_equal(trained(spoil=True), trained(spoil=False))


def test_weights_are_those_of_single_precision_and_a_copy(model, batch):
    four = part(batch, slice(4))
    training = get("jax").start(model, [four], [four], initial_weights(model, 5))
    before = training.weights()
    assert {array.dtype for array in before.values()} == {np.dtype("float32")}
    kept = flat(before)
    training.step(0, 3e-2)
    np.testing.assert_array_equal(flat(before), kept)
    assert (flat(training.weights()) != kept).any()
    config = Config()
    assert (config.solver.precision, config.rollout.precision) == ("float32", "float64")


def test_dependent_rows_are_named_before_training(make_model, batch):
    four, weights = part(batch, slice(4)), initial_weights(make_model(quartic()), 1)
    A = np.array([[1.0, 0, 0, 0], [1, 1e-2, 0, 0]])
    twice, nearly = (make_model(quartic(), constraint=Linear(A[rows])) for rows in ([0, 0], [0, 1]))
    with pytest.raises(ConstraintError, match="rows of the law 'linear' are dependent"):
        get("jax").start(twice, [four], [four], weights)
    with pytest.warns(IllConditionedWarning, match="'linear' are nearly dependent"):
        get("jax").start(nearly, [four], [four], weights)


QR, DOUBLE = 'projection.method = "qr"', 'solver.precision = "float64"'


@pytest.mark.parametrize(
    ("method", "apart", "remedy"),
    [
        ("cholesky", 1e-3, QR),
        ("cholesky", 1e-6, DOUBLE),
        ("qr", 1e-6, DOUBLE),
        ("cholesky", 1e-9, f"{QR} and {DOUBLE}"),
    ],
)
def test_rows_that_are_nearly_dependent_name_what_would_work(
    make_model, batch, method, apart, remedy
):
    four, A = part(batch, slice(4)), np.array([[1.0, 0, 0, 0], [1.0, apart, 0, 0]])

    def start(**settings):
        model = make_model(quartic(), constraint=Linear(A), **settings)
        return get("jax").start(model, [four], [four], initial_weights(model, 1))

    with pytest.raises(ConstraintError) as refused:
        start(**{"projection.method": method})
    assert str(refused.value).endswith(f"cannot project in float32: use {remedy}")
    settings = dict(words.split(" = ") for words in remedy.split(" and "))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)
        start(**{"projection.method": method, **{k: v.strip('"') for k, v in settings.items()}})


# The room for the steps of the solver


def test_a_validation_takes_the_steps_of_training(make_model, batch):
    """With no derivative to store the steps are a loop; they are the same ones, and as many as are allowed."""
    tight = {"solver.rtol": 1e-8, "solver.atol": 1e-8, "solver.precision": "float64"}
    four = part(batch, slice(4))

    def start(**settings):
        model = make_model(quartic(), **tight, **settings)
        return get("jax").start(model, [four], [four], initial_weights(model, 2))

    training = start()
    valid, train = training.loss(0), training.step(0, 0.0)
    assert valid.solver_steps == train.solver_steps > 1
    assert valid.loss == pytest.approx(train.loss, rel=1e-12)
    few = start(**{"solver.max_steps": 1}).loss(0)
    assert few.status == Status.MAX_STEPS and few.solver_steps == 1


def test_steps_are_stored_up_to_max_steps(make_model, batch):
    def slots(**settings):
        model = make_model(quartic(), **settings)
        return Slots.for_training(model, on_device(batch, "float32"))

    assert slots().count == 4
    few = slots(**{"solver.max_steps": 6})
    assert few.too_few(Status.MAX_STEPS) and few.count == 6
    assert few.too_few(Status.MAX_STEPS) and few.count is None
    assert not few.too_few(Status.MAX_STEPS)
    few.used(40)  # recomputed until a window of batches has needed less, then stored again
    for _ in range(Slots.WINDOW):
        assert few.count is None
        few.used(3)
    assert few.count == 4
    assert slots(**{"solver.max_steps": 3}).count == 3
    assert slots(adjoint="backsolve").count is None
    apart = on_device(replace(batch, grid=np.tile(batch.grid, (18, 1))), "float32")
    assert Slots.for_training(make_model(quartic()), apart).count is None


def test_slots_shrink_after_a_window_and_follow_from_the_recent_steps():
    slots = Slots(32)
    slots.used(7)
    for _ in range(31):
        slots.used(2)
    assert slots.count == 8
    slots.used(2)
    assert slots.count == 4
    assert slots.too_few(Status.MAX_STEPS) and slots.count == 8
    slots.used(6)
    assert slots.count == 8 == Slots(32, slots.recent_steps()).count
    slots.used(50)
    assert slots.count is None is Slots(32, slots.recent_steps()).count
