"""Solving: counts, statuses, independent trajectories, retraction, own laws, the limit of stabilisation."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.config import SolverConfig
from pnde.engines import Status, get
from pnde.engines.jax.solve import evaluations, solve
from pnde.laws import Conserved, Constraint, Instant
from pnde.models import initial_weights
from pnde.systems import lotka_volterra, quartic

pytestmark = pytest.mark.usefixtures("strict", "full_compilation")


def still(model):
    """Weights of a network that gives zero, so that the field is the model's known physics."""
    return {name: 0 * array for name, array in initial_weights(model, 1).items()}


def rollout(model, u0, times, c=None, weights=None, **settings):
    u0 = np.asarray(u0, float)
    settings = model.config.rollout.model_copy(update=settings)
    if c is None:
        law = model.constraint
        c = law.targets(get("jax").law(law, u0, Instant(np.full(len(u0), times[0]))))
    weights = still(model) if weights is None else weights
    return get("jax").rollout(model, weights, u0, np.asarray(times), c, settings)


def residual(model, solution, times):
    """|h - c| at each trajectory and time, relative to where the trajectory began."""
    shape = solution.u.shape[:2]
    h = (
        get("jax")
        .law(
            model.constraint,
            solution.u.reshape(-1, solution.u.shape[-1]),
            Instant(np.broadcast_to(times, shape).ravel()),
        )
        .reshape(*shape, -1)
    )
    c = model.constraint.targets(h[:, 0])
    return np.abs(h - c[:, None]).max(axis=-1)


# Counts


@pytest.mark.parametrize("solver", ["tsit5", "dopri8"])
@pytest.mark.parametrize("step", [0.1, None])
def test_evaluations_are_those_that_happen(solver, step):
    """A system whose steps are rejected now and then, so that these count as well."""
    settings = SolverConfig(solver=solver, step=step, rtol=1e-7, atol=1e-7)
    calls = []

    def field(t, u, args):
        jax.debug.callback(lambda: calls.append(1))
        return jnp.stack([u[1], 5 * (1 - u[0] ** 2) * u[1] - u[0]])

    solution = jax.jit(lambda u: solve(field, u, jnp.linspace(0.0, 2.0, 5), None, settings))(
        jnp.asarray([2.0, 0.0])
    )
    jax.block_until_ready(solution)
    jax.effects_barrier()
    assert solution.status == Status.OK
    if step is not None:
        assert solution.steps == 20
    assert evaluations(int(solution.steps), settings) == len(calls)


def test_the_solution_of_a_known_system():
    """Each trajectory at times of its own."""
    times = np.array([[0.5, 1.0, 1.7], [1.0, 1.1, 3.0]])
    settings = SolverConfig(solver="dopri8", rtol=1e-11, atol=1e-11)
    solution = get("jax").integrate(
        lambda u, at: jnp.stack([-u[0], 2 * at.t]), np.array([[1.0, 0], [2, 1]]), times, settings
    )
    np.testing.assert_array_equal(solution.status, Status.OK)
    decay = [[1], [2]] * np.exp(times[:, :1] - times)
    np.testing.assert_allclose(solution.u[..., 0], decay, rtol=1e-10)
    rise = [[0], [1]] + times**2 - times[:, :1] ** 2
    np.testing.assert_allclose(solution.u[..., 1], rise, rtol=1e-10)


# Statuses

CLOCK = SimpleNamespace(
    states=("x", "y", "rate", "z"),
    order=1,
    constraint=Conserved(lambda u: u[2], domain=lambda u: u[0] > -0.9),
)


def clock(u):
    """A rotation of (x, y) at a rate, and z' = z², infinite at t = 1/z(0)."""
    return jnp.stack([u[2] * u[1], -u[2] * u[0], 0 * u[2], u[3] ** 2])


FINE = [0.5, 0.0, 1.0, -1.0]
FAILING = {
    Status.MAX_STEPS: [0.5, 0.0, 3e3, -1.0],
    Status.NON_FINITE: [0.5, 0.0, 1.0, 0.6],
    Status.LEFT_DOMAIN: [1.0, 0.0, 1.0, -1.0],
}


@pytest.fixture(scope="module")
def clock_model(make_model):
    return make_model(CLOCK, "nde", physics=clock)


def test_each_trajectory_has_a_status_and_does_not_disturb_the_others(clock_model):
    times = np.linspace(0, 4, 9)
    slow = [0.5, 0.0, 0.3, -0.2]
    mixed = rollout(clock_model, [FINE, *FAILING.values(), slow], times, max_steps=2000)
    np.testing.assert_array_equal(mixed.status, [Status.OK, *FAILING, Status.OK])
    alone = rollout(clock_model, [FINE, slow, slow, FINE, FINE], times, max_steps=2000)
    np.testing.assert_array_equal(alone.status, Status.OK)
    for i, j in ((0, 0), (4, 1), (0, 4)):
        np.testing.assert_array_equal(mixed.u[i], alone.u[j])
        assert mixed.steps[i] == alone.steps[j]
    np.testing.assert_allclose(mixed.u[0, :, 3], 1 / (-1 - times), rtol=1e-4)


def test_a_failed_trajectory_is_nan_from_where_it_failed(clock_model):
    times = np.linspace(0, 4, 9)
    u0 = [FINE, *FAILING.values(), FINE]
    solution = rollout(clock_model, u0, times, max_steps=2000)
    for u, status in zip(solution.u, solution.status, strict=True):
        known = np.isfinite(u).all(axis=1)
        assert not np.isinf(u).any()
        if status == Status.OK:
            assert known.all()
            continue
        assert not known[-1]
        np.testing.assert_array_equal(known, np.arange(len(times)) < known.sum())
    # z = 1 / (5/3 - t) up to the pole, and x = cos t up to where it leaves the domain.
    known = np.isfinite(solution.u).all(axis=2)
    np.testing.assert_array_equal(times[known[2]], [0, 0.5, 1, 1.5])
    np.testing.assert_array_equal(times[known[3]], [0, 0.5, 1, 1.5, 2, 2.5])
    np.testing.assert_allclose(solution.u[2, :4, 3], 1 / (5 / 3 - times[:4]), rtol=1e-4)


def test_states_outside_the_domain_are_not_known(strict):
    """The last step ends outside, and of its states those before the border count. Another leaps over a narrow one."""
    times, settings = np.linspace(0, 1, 11), SolverConfig(solver="tsit5", retract="never")
    falling = Conserved(lambda u: u[1], domain=lambda u: u[0] > 0.45)
    out = get("jax").integrate(
        lambda u, t: -1.0 + 0.0 * u, np.ones((1, 2)), times, settings, falling
    )
    np.testing.assert_array_equal(np.isfinite(out.u[0, :, 0]), times < 0.55)
    assert out.status == Status.LEFT_DOMAIN
    gap = Conserved(lambda u: u[1], domain=lambda u: (u[0] < 0.55) | (u[0] > 0.65))
    coarse = SolverConfig(solver="tsit5", step=1.0, retract="never")
    out = get("jax").integrate(lambda u, t: -1.0 + 0.0 * u, np.ones((1, 2)), times, coarse, gap)
    np.testing.assert_array_equal(np.isfinite(out.u[0, :, 0]), times < 0.35)
    assert out.status == Status.LEFT_DOMAIN


def test_non_finite_with_fixed_steps():
    solution = get("jax").integrate(
        lambda u, t: u**2,
        np.array([[-1.0], [1.0]]),
        np.linspace(0, 20, 3),
        SolverConfig(step=0.5),
    )
    np.testing.assert_array_equal(solution.status, [Status.OK, Status.NON_FINITE])


def test_singular_law_at_a_state_is_reported_for_its_trajectory(make_model):
    """At the equilibrium of Lotka-Volterra the gradient of V is zero."""
    system = lotka_volterra()
    model = make_model(system)
    times = np.linspace(0, 1, 5)
    solution = rollout(model, [[1.0, 1.0], [3.0, 1.5], [0.8, 2.0]], times)
    np.testing.assert_array_equal(solution.status, [Status.OK, Status.RANK_DEFICIENT, Status.OK])
    np.testing.assert_array_equal(solution.u[1, 0], [3.0, 1.5])  # as far as it is known


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_reason(status):
    assert status.reason


# The manifold


U0 = quartic().initial(np.random.default_rng(1), 4, "paper")
TIMES = np.linspace(0, 3, 7)


@pytest.fixture(scope="module")
def drifts(make_model):
    """Constraint errors and solutions of one model with the three ways to retract."""
    model = make_model(quartic())
    weights = initial_weights(model, 2)
    out = {}
    for when in ("step", "save", "never"):
        solution = rollout(model, U0, TIMES, weights=weights, retract=when)
        assert (solution.status == Status.OK).all()
        out[when] = residual(model, solution, TIMES), solution
    return out


def test_retraction_keeps_the_law_to_rounding(drifts):
    assert drifts["step"][0].max() < 5e-15
    assert drifts["save"][0].max() < 5e-15


def test_without_retraction_the_law_drifts_by_the_error_of_the_solver(drifts):
    never = drifts["never"][0]
    assert 1e-8 < never.max() < 1e-4
    assert never[:, -1].mean() > never[:, 1].mean()


def test_saved_states_alone_are_retracted(drifts):
    """The steps are those of "never", which "step" takes differently."""
    (_, step), (_, save), (errors, never) = (drifts[k] for k in ("step", "save", "never"))
    np.testing.assert_array_equal(save.steps, never.steps)
    off = np.abs(save.u - never.u).max()
    assert 0 < off < 10 * errors.max()
    assert np.abs(step.u - save.u).max() > 0
    np.testing.assert_array_equal(step.u[:, 0], never.u[:, 0])


CIRCLE = SimpleNamespace(states=("x", "y"), order=1, constraint=None)


def breathing(u, t):
    return u[0] ** 2 + u[1] ** 2 - (1 + 0.3 * jnp.sin(2 * t)) ** 2


def test_a_law_that_moves_is_followed(make_model):
    law = Constraint(breathing, time_dependent=True, target=0.0)
    model = make_model(CIRCLE, constraint=law)
    angles, times = np.array([0.3, 2.0]), np.linspace(0.5, 4.5, 9)
    start = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (1 + 0.3 * np.sin(1.0))
    solution = rollout(model, start, times, weights=initial_weights(model, 3))
    np.testing.assert_array_equal(solution.status, Status.OK)
    radius = np.linalg.norm(solution.u, axis=-1)
    np.testing.assert_allclose(radius, np.tile(1 + 0.3 * np.sin(2 * times), (2, 1)), atol=1e-13)
    # The velocity itself follows, not the retraction alone.
    loose = rollout(model, start, times, weights=initial_weights(model, 3), retract="never")
    np.testing.assert_allclose(loose.u, solution.u, atol=1e-4)


def test_truth_on_the_manifold_of_a_fixed_target():
    """`integrate` retracts to the law's own target, not to where the trajectory began."""
    law = Constraint(lambda u: u[0] ** 2 + u[1] ** 2, target=1.0)
    solution = get("jax").integrate(
        lambda u, t: jnp.stack([-u[1], u[0]]),
        np.array([[1.0 + 1e-7, 0.0]]),
        np.linspace(0, 2, 4),
        SolverConfig(rtol=1e-8, atol=1e-8),
        law,
    )
    np.testing.assert_allclose(np.linalg.norm(solution.u, axis=-1)[0, 1:], 1, rtol=1e-15)


def test_stabilised_field_tends_to_the_projected_one(make_model, drifts):
    """The difference falls as 1/γ."""

    def error(gamma):
        model = make_model(quartic(), "snde", gamma=gamma)
        solution = rollout(model, U0, TIMES, weights=initial_weights(model, 2))
        return np.abs(solution.u - drifts["step"][1].u).max()

    errors = [error(100.0), error(1000.0)]
    assert errors[0] < 0.1
    np.testing.assert_allclose(np.log10(errors[0] / errors[1]), 1, atol=0.1)
