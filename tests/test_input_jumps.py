"""Inputs and parameters: in the field and the law, in trainings and forecasts, on both sides of a jump."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from pnde.config import SolverConfig, TrainingSolverConfig
from pnde.data import Inputs
from pnde.engines import Status
from pnde.engines.jax.driving import drive, instant
from pnde.engines.jax.dynamics import Dynamics
from pnde.engines.jax.laws import drift, jacobian
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.projection import project
from pnde.laws import Conditions, Conserved, Constraint

T = np.linspace(0.0, 2.0, 21)


@pytest.fixture(autouse=True)
def double_precision():
    with numerics():
        yield


def inputs(values, interpolation, jumps=()):
    """Inputs of one trajectory through values `(T, k)` at `T`."""
    kinds = [interpolation] * values.shape[1]
    return Inputs.through(values[None], T[None], kinds, np.reshape(jumps, (1, -1)))


# As functions of time


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "held"])
def test_inputs_between_samples(interpolation):
    values = np.stack([np.sin(3 * T), np.cos(T)], axis=1)
    t = np.linspace(0.013, 1.97, 50)[None]
    found = inputs(values, interpolation)
    if interpolation == "held":
        expected = values[np.searchsorted(T, t[0], side="right") - 1]
        assert len(found.jumps[0]) == 20
    elif interpolation == "linear":
        expected = np.stack([np.interp(t[0], T, column) for column in values.T], axis=1)
    else:
        expected = CubicSpline(T, values)(t[0])
        np.testing.assert_allclose(found.at(t, 1)[0], CubicSpline(T, values)(t[0], 1), atol=1e-12)
        np.testing.assert_allclose(found.at(t, 2)[0], CubicSpline(T, values)(t[0], 2), atol=1e-11)
    np.testing.assert_allclose(found.at(t)[0], expected, atol=1e-13)


def test_a_jump_between_samples_parts_what_is_before_and_behind():
    values = np.where(T < 0.75, T, 5 + T)[:, None]
    found = inputs(values, "linear", [0.75])
    t = np.array([[0.65, 0.74, np.nextafter(0.75, 0), 0.75, 0.79, 0.85]])
    np.testing.assert_allclose(found.at(t)[0, :, 0], [0.65, 0.7, 0.7, 5.8, 5.8, 5.85])


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "held"])
def test_the_engine_sees_the_same_inputs(interpolation):
    values = np.stack([np.sin(3 * T), np.cos(T)], axis=1)
    conditions = Conditions(inputs(values, interpolation, [0.75]), np.array([[2.0, 3.0]]))
    t = np.array([0.0, 0.05, np.nextafter(0.75, 0), 0.75, 0.81, 1.999])
    expected = conditions.at(t[None])
    driven = jax.tree.map(lambda x: x[0], drive(conditions, np.array([100.0]), jnp.float64))
    found = jax.vmap(lambda clock: instant(driven, clock))(jnp.asarray(t))
    np.testing.assert_array_equal(found.t, 100 + t)
    for name in ("w", "rate", "curvature", "p"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name)[0], atol=1e-11, err_msg=name
        )


def test_pieces_of_inputs_are_those_of_the_whole():
    values = np.stack([np.sin(3 * T), np.cos(T)], axis=1)
    whole = Conditions(inputs(values, "cubic", [0.75, 1.2]).of(np.zeros(3, int)))
    start, end = np.array([0.0, 0.7, 1.2]), np.array([0.4, 1.25, 2.0])
    part = whole.between(start, end).since(start)
    assert part.inputs.knots.shape[1] < 12
    np.testing.assert_allclose(
        np.where(np.isfinite(part.inputs.jumps), part.inputs.jumps, -1),
        [[-1, -1], [0.05, 0.5], [-1, -1]],
    )
    t = np.linspace(0, 1, 30) * (end - start)[:, None]
    for order in range(3):
        np.testing.assert_allclose(
            part.inputs.at(t, order), whole.inputs.at(t + start[:, None], order), atol=1e-10
        )


# Along a solve


def rotor(u, w):
    """x² + y² - w, which a jump of w moves."""
    return u[0] ** 2 + u[1] ** 2 - w[0]


STEPS = np.where(T < 0.9, 1.0 + 0.3 * np.sin(2 * T), 2.0 + 0.1 * np.cos(3 * T))[:, None]
LAWS = {
    "fixed": Constraint(rotor, target=0.0),
    "one state": Constraint(rotor, target=0.0, jumps=["y"]).bind(["x", "y"]),
    "initial": Conserved(rotor),
}


@cache
def driven_solve(law, training=False, step=None):
    """A solution at `T` with inputs of values w `(T, 1)` that jump at t = 0.9; with a fixed step none is retracted."""
    kind = TrainingSolverConfig if training else SolverConfig
    retract = "step" if step is None else "never"
    settings = kind(
        solver="dopri8", rtol=1e-11, atol=1e-11, retract=retract, max_steps=4000, step=step
    )
    if training:
        settings = settings.model_copy(update={"precision": "float64"})
    dynamics = Dynamics(
        velocity=lambda a, at, u, c: project_on(
            LAWS[law], at, a * jnp.stack([-u[1], u[0] + at.w[0]]), u
        ),
        law=LAWS[law],
        retracts=True,
    )

    @jax.jit
    def solve(a, u0, w):
        whole = inputs(STEPS, "cubic", [0.9])
        driven = jax.tree.map(lambda x: x[0], drive(Conditions(whole), np.zeros(1), jnp.float64))
        # The coefficients as a function of the samples, for derivatives by them.
        basis = [inputs(np.eye(21)[:, [k]], "cubic", [0.9]).coefficients[0] for k in range(21)]
        driven = driven._replace(
            coefficients=jnp.tensordot(w[:, 0], jnp.asarray(np.stack(basis)), axes=1)
        )
        c = law_value(law, u0, instant(driven, jnp.asarray(0.0)))
        return dynamics.solve(u0, jnp.asarray(T), (a, driven, c), settings)

    return solve


def law_value(law, u, at):
    fixed = LAWS[law].fixed_rows(1)[0]
    return jnp.zeros(1) if fixed else LAWS[law].value(u, at)


def project_on(law, at, v, u):
    return project(jacobian(law, u, at), v, drift(law, u, at))


START = np.array([0.6, 0.8])


@pytest.mark.parametrize("law", LAWS)
def test_states_saved_at_a_jump_are_those_after_it(law):
    solution, c = driven_solve(law)(1.3, jnp.asarray(START), jnp.asarray(STEPS))
    assert solution.status == Status.OK
    u = np.asarray(solution.u)
    at = Conditions(inputs(STEPS, "cubic", [0.9])).at(T[None]).pick(0)
    h = np.array([LAWS[law].value(jnp.asarray(u[k]), at.pick(k))[0] for k in range(21)])
    np.testing.assert_allclose(h, np.asarray(c)[:, 0], atol=1e-13)
    before, after = u[8], u[9]
    if law == "initial":
        # The state goes on, and the target follows.
        assert np.abs(after - before).max() < 0.4
        assert len(np.unique(np.round(np.asarray(c), 9))) == 2
    else:
        np.testing.assert_array_equal(c, 0)
    if law == "one state":
        # Nothing else jumps: x is what the stretch before leads to.
        alone, _ = driven_solve(law)(
            1.3, jnp.asarray(START), jnp.asarray(np.where(T < 0.9, STEPS[:, 0], 1.3)[:, None])
        )
        np.testing.assert_allclose(after[0], np.asarray(alone.u)[9, 0], atol=1e-8)


@pytest.mark.parametrize("step", [None, 0.013])
def test_nothing_is_integrated_across_a_jump(step):
    """Against SciPy, which is stopped there."""
    free = Dynamics(velocity=lambda a, at, u, c: jnp.stack([u[1], at.w[0] - u[0]]))
    conditions = Conditions(inputs(STEPS, "linear", [0.9]))
    settings = SolverConfig(rtol=1e-10, atol=1e-10, step=step)
    driven = jax.tree.map(lambda x: x[0], drive(conditions, np.zeros(1), jnp.float64))
    solution, _ = jax.jit(
        lambda u0: free.solve(u0, jnp.asarray(T), (0.0, driven, jnp.zeros(0)), settings)
    )(jnp.asarray(START))
    u = [np.array(START)]
    for a, b in ((0.0, 0.9), (0.9, 2.0)):
        last = np.nextafter(b, a)

        def rhs(t, u, last=last):
            return [u[1], conditions.inputs.at(np.array([[min(t, last)]]))[0, 0, 0] - u[0]]

        inside = T[(T > a) & (T <= b)]
        tight = {"rtol": 1e-11, "atol": 1e-11, "max_step": 0.1}
        u += list(solve_ivp(rhs, (a, b), u[-1], t_eval=inside, **tight).y.T)
    # States at samples are interpolated between fixed steps, which do not end at the corners of the input either.
    np.testing.assert_allclose(solution.u, u, atol=1e-9 if step is None else 1e-6)
    assert solution.steps < (120 if step is None else 2 / step + 3)


def test_with_fixed_steps_a_state_is_on_the_new_manifold_too():
    solution, _ = driven_solve("one state", step=0.017)(1.3, START, jnp.asarray(STEPS))
    u = np.asarray(solution.u)
    np.testing.assert_allclose((u**2).sum(axis=1), STEPS[:, 0], atol=1e-4)
    assert solution.steps <= np.ceil(2 / 0.017) + 2


@pytest.mark.parametrize("kind", [SolverConfig, TrainingSolverConfig])
def test_steps_of_a_fixed_size_end_at_a_jump(kind):
    """u̇ = w, so each step is exact if nothing jumps in it."""
    free = Dynamics(velocity=lambda a, at, u, c: at.w)
    held = inputs(np.where(T < 0.9, 1.0, 3.0)[:, None], "held")
    driven = jax.tree.map(lambda x: x[0], drive(Conditions(held), np.zeros(1), jnp.float64))
    solution, _ = free.solve(
        jnp.ones(1), jnp.asarray(T), (0.0, driven, jnp.zeros(0)), kind(step=0.2)
    )
    expected = 1 + T + 2 * np.maximum(T - 0.9, 0)
    np.testing.assert_allclose(solution.u[:, 0], expected, atol=1e-14)
    assert solution.steps == 11  # four and a part, then five and a part


@pytest.mark.parametrize("law", ["one state", "initial"])
def test_gradients_across_a_jump(law):
    solve = driven_solve(law, training=True)

    def loss(a, u0, w):
        # The start stays on the manifold of a fixed target.
        w = w.at[0].set(jnp.sum(u0**2)) if law != "initial" else w
        solution, _ = solve(a, u0, w)
        return jnp.sum(jnp.sin(solution.u[np.array([5, 9, 15, 20])]))

    arguments = (jnp.asarray(1.3), jnp.asarray(START), jnp.asarray(STEPS))
    run = jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2)))
    _, gradient = run(*arguments)
    rng, step = np.random.default_rng(3), 1e-4
    way = [jnp.asarray(rng.normal(size=np.shape(x))) for x in arguments[:2]]
    way.append(jnp.cos(2 * jnp.asarray(T))[:, None])  # no rougher than the inputs, so steps stay
    ahead, behind = (
        run(*(x + s * d for x, d in zip(arguments, way, strict=True)))[0] for s in (step, -step)
    )
    slope = sum(jnp.sum(g * d) for g, d in zip(gradient, way, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-6)
