"""Laws, physics and metrics that do not fit: one sentence each, and never a wrong number."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde.data import make_dataset
from pnde.engines import get
from pnde.errors import ConfigError, ConstraintError, PndeError
from pnde.laws import (
    Conserved,
    Constraint,
    Holonomic,
    Instant,
    Linear,
    Pinned,
    Rods,
    as_constraint,
)

T = np.arange(11) * 0.1


@pytest.fixture(scope="module")
def decay():
    """Three states that decay."""
    size = np.arange(1.0, 6)[:, None]
    u = np.stack([size * np.exp(-T), np.exp(-2 * T) + 0 * size, np.exp(-3 * T) + 0 * size], axis=-1)
    return make_dataset(u, T, ["a", "b", "c"])


def two_states(u):
    x, v = u
    return 0.5 * x * x + 0.5 * v * v


def broken(u):
    return undefined_name


def in_place(u):
    u[0] = 1.0
    return u.sum()


def recursive(u):
    return recursive(u)


NUMBER = "it has to return a number, or a number for each row"
SENTENCES = {
    "two states": (
        two_states,
        r"fails on a state of 3 numbers \(line \d+ of test_laws_refused.py\): ValueError: too",
    ),
    "a name": (broken, r"line \d+ of test_laws_refused.py\): NameError: name 'undefined_name'"),
    "text": (lambda u: "a", "returns str instead of numbers"),
    "nothing": (lambda u: None, r"returns None \(is a return missing\?\)"),
    "a dict": (lambda u: {"a": u[0]}, "returns dict"),
    "a matrix": (lambda u: jnp.outer(u, u), rf"returns an array of shape \(3, 3\); {NUMBER}"),
    "rows of arrays": (
        lambda u: [u, u],
        rf"row 0 of the law .* is an array of shape \(3,\); {NUMBER}",
    ),
    "an empty list": (lambda u: [], "returns nothing: an empty list"),
    "an empty array": (lambda u: u[3:], r"returns an array of shape \(0,\)"),
    "complex": (
        lambda u: u[0] + 1j * u[1],
        "complex numbers; return real and imaginary parts as two rows",
    ),
    "a truth value": (lambda u: u[0] > 0, "returns a truth value"),
    "an index": (lambda u: u[7] ** 2, r"asks for index 7 of 3 states \(0 to 2\)"),
    "a negative index": (lambda u: u[-5], "asks for index -5 of 3 states"),
    "an index of jnp": (lambda u: jnp.take(u, -5) + 0 * u[0], "asks for index -5 of 3 states"),
    "an index at": (lambda u: u.at[7].get(), "asks for index 7 of 3 states"),
    "an index array": (lambda u: u[jnp.array([0, 7])], "asks for index 7 of 3 states"),
    "a numpy index array": (lambda u: u[np.array([0, -4])], "asks for index -4 of 3 states"),
    "a slice": (lambda u: (u[1:9] ** 2).sum(), "asks for entries 1:9 of 3 states"),
    "a slice of jnp": (lambda u: jnp.sum(u[3:9] ** 2), "asks for entries 3:9 of 3 states"),
    "an index of a part": (lambda u: u[:2][2], "asks for index 2 of an array of 2"),
    "an index of a result": (lambda u: jnp.cumsum(u)[5], "asks for index 5 of 3 states"),
    "an index in a loop": (
        lambda u: jax.lax.fori_loop(0, 5, lambda i, total: total + u[i], 0.0),
        "asks for index 3 of 3 states",
    ),
    "an index under a derivative": (
        lambda u: jax.grad(lambda x: x[4] ** 2)(u)[0],
        "asks for index 4 of 3",
    ),
    "a list": (lambda u: u[[0, 1]], "fails on a state of 3 numbers.*TypeError"),
    "a key": (lambda u: u["a"], "fails on a state of 3 numbers.*string indexing"),
    "an attribute": (lambda u: u.a, "fails on a state of 3 numbers.*AttributeError"),
    "in place": (in_place, r"changes the state in place.*u\.at\[0\]\.set"),
    "a branch": (lambda u: u[0] if u[1] > 0 else u[2], "branches on the state"),
    "math": (lambda u: math.sin(u[0]), "branches on the state"),
    "numpy": (lambda u: np.hypot(u[0], u[1]), "calls a NumPy function"),
    "recursion": (recursive, "RecursionError"),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_law_that_does_not_fit_is_told_so(decay, case):
    h, message = SENTENCES[case]
    with pytest.raises(ConstraintError, match=message) as caught:
        pnde.check(decay, h)
    assert len(str(caught.value)) <= 300 and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "case", ["two states", "text", "an index", "a slice", "in place", "an index at"]
)
def test_so_are_its_jacobian_and_domain(decay, case):
    h, message = SENTENCES[case]

    def total(u):
        return u.sum()

    for option in ("jacobian", "domain"):
        with pytest.raises(ConstraintError, match=f"the {option} of the law 'total' {message}"):
            pnde.check(decay, Conserved(total, **{option: h}))
    with pytest.raises(ConstraintError, match=message):
        pnde.check(decay, Conserved(total) & Conserved(h))
    with pytest.raises(ConstraintError, match=r"the domain of .* returns an array of shape \(3,\)"):
        pnde.check(decay, Conserved(total, domain=lambda u: u > 0))


@pytest.mark.parametrize(
    "case", ["two states", "nothing", "text", "an index", "a slice", "in place"]
)
@pytest.mark.parametrize("part", ["physics", "metric"])
def test_so_are_physics_and_metric(decay, case, part):
    f, message = SENTENCES[case]
    given = functools.wraps(f)(lambda u: f(u))
    begin = message.partition(r" \(line")[0]
    with pytest.raises(PndeError, match=f"the {part} .* {begin}"):
        pnde.train(decay, Linear(np.eye(3)[:1]), epochs=1, width=4, progress=False, **{part: given})


@pytest.mark.parametrize(
    ("physics", "shape"),
    [(lambda u: -u[:1], r"\(1,\)"), (lambda u: -u[0], r"\(\)"), (lambda u: -u[:2], r"\(2,\)")],
)
def test_physics_of_another_size_is_not_broadcast(decay, physics, shape):
    with pytest.raises(
        ConfigError, match=rf"returns an array of shape {shape} instead of \(3,\) for the 3 states"
    ):
        pnde.train(decay, method="nde", physics=physics, epochs=1, width=4, progress=False)
    with pytest.raises(ConfigError, match=rf"shape {shape} instead of \(3,\) or \(3, 3\)"):
        pnde.train(decay, Linear(np.eye(3)[:1]), metric=physics, epochs=1, width=4, progress=False)


def test_a_metric_of_time_is_told_so(decay):
    with pytest.raises(ConstraintError, match="takes the time; it has to take the state alone"):
        pnde.train(
            decay,
            Linear(np.eye(3)[:1]),
            metric=lambda u, t: 1 + 0 * u,
            epochs=1,
            width=4,
            progress=False,
        )


def test_laws_that_look_up_what_there_is_are_accepted(decay):
    def law(u):
        a, _, c = u
        x, q = u.reshape(1, 3), u[:2]
        table = jnp.array([2, 0])
        return (
            a
            + c
            + u[-3]
            + u[1:].sum()
            + u[table].sum()
            + jnp.take(u, 2)
            + x[0, -1]
            + q[1]
            + u[::-1][0]
        )

    expected = law(jnp.asarray(decay["u"].values[0, 0]))
    h = get("jax").law(Conserved(law), decay["u"].values[0], Instant(T))
    np.testing.assert_allclose(h[0, 0], expected, rtol=1e-6)


# Targets and names


def radius(u):
    return u[0] ** 2 + u[1] ** 2


def test_targets_for_rows_that_do_not_exist(decay):
    for law in (
        Constraint(radius, target=[1.0, 1.0]),
        Linear(np.eye(3)[:1]) & Constraint(radius, target=[1.0, 1.0]),
    ):
        for use in (
            pnde.check,
            functools.partial(pnde.train, epochs=1, progress=False),
            pnde.project,
        ):
            with pytest.raises(ConstraintError, match="the law 'radius' has 1 row but 2 targets"):
                use(decay, law)
    with pytest.raises(ConstraintError, match="'linear' has 2 rows but 3 targets"):
        Linear(np.eye(3)[:2], [1, 2, 3])
    with pytest.raises(ConstraintError, match="'pinned' has 2 rows but 1 targets"):
        Pinned(["a", "b"], [1.0])
    with pytest.raises(ConstraintError, match="'radius' has 1 row but 3 targets"):
        Holonomic(radius, target=[1, 2, 3]).targets(np.zeros((4, 2)))


@pytest.mark.parametrize("target", ["final", None, [[1.0]], [1.0, "x"], np.inf, 1j, True, {}])
def test_targets_that_are_none(target):
    with pytest.raises(ConstraintError, match="a target is"):
        Constraint(radius, target=target)


def test_names_for_rows_that_do_not_exist(decay):
    with pytest.raises(ConstraintError, match="'radius' has 1 rows but 2 names"):
        pnde.check(decay, Conserved(radius, names=["a", "b"]))
    with pytest.raises(ConstraintError, match="'radius' has 1 rows but 2 names"):
        pnde.train(decay, Conserved(radius, names=["a", "b"]), epochs=1, progress=False)
    with pytest.raises(ConstraintError, match="has 2 rows but 1 names"):
        Linear(np.eye(3)[:2], names=["one"])
    assert Conserved(radius, names="energy").names == ("energy",)


def test_matrices_that_are_none():
    for A in ("a", [[1, 2], [3]], np.zeros((2, 2, 2)), [[1, np.inf]]):
        with pytest.raises(ConstraintError, match="the matrix A of a Linear law"):
            Linear(A)


def test_half_a_velocity_is_refused(decay):
    with pytest.raises(
        ConstraintError, match="as many velocities as positions, but the data have 3 states"
    ):
        pnde.check(decay, Holonomic(radius))


# What a function takes


def moving(u, t):
    return u[0] - t


def moving_by_name(u, time):
    return u[0] - time


def with_default(u, t=0.0):
    return u[0] - t


def other_name(u, s):
    return u[0] - s


class Callable:
    def __call__(self, u, t):
        return u[0] - t


@pytest.mark.parametrize(
    "h", [moving, moving_by_name, with_default, Callable(), Callable().__call__]
)
def test_a_law_of_time_is_recognised(h):
    for law in (Constraint(h), Conserved(h), as_constraint(h), Constraint(h, time_dependent=True)):
        assert law.takes == {"t"}
    value = get("jax").law(Constraint(h), np.array([[3.0, 1.0]]), Instant(np.array([0.5])))
    np.testing.assert_allclose(value, 2.5)


def test_a_declared_law_of_time_may_call_it_anything():
    assert Constraint(other_name, time_dependent=True).takes == {"t"}
    assert not Conserved(lambda u, scale=2.0: scale * u[0]).takes
    assert not Conserved(functools.partial(other_name, s=2.0)).takes
    assert not Conserved(np.sin).takes
    value = get("jax").law(
        Constraint(moving, jacobian=lambda u, t: jnp.stack([t, t])[None]),
        np.ones((1, 2)),
        Instant(np.ones(1)),
    )
    np.testing.assert_allclose(value, 0)


@pytest.mark.parametrize(
    "h", [other_name, lambda: 1.0, lambda u, t, time: u[0], lambda u, *, k: u[0], lambda *, u: u[0]]
)
def test_other_numbers_of_arguments_are_one_sentence(h):
    with pytest.raises(
        ConstraintError, match="it has to take the state, and may take the time t, inputs w and"
    ):
        as_constraint(h)
    with pytest.raises(ConstraintError, match="it has to take the state"):
        Conserved(radius, jacobian=h)


def test_contradictions():
    with pytest.raises(
        ConstraintError, match="'radius' does not take the time, but time_dependent=True"
    ):
        Constraint(radius, time_dependent=True)
    with pytest.raises(ConstraintError, match="'moving' takes the time, but time_dependent=False"):
        Constraint(moving, time_dependent=False)
    with pytest.raises(ConstraintError, match="the domain of the law 'radius' takes the time"):
        Conserved(radius, domain=moving)
    with pytest.raises(ConstraintError, match="not int"):
        Conserved(radius, domain=3)
    with pytest.raises(ConstraintError, match=r"a plain function becomes one by pnde\.Conserved"):
        Conserved(radius) & radius
    with pytest.raises(ConstraintError, match=r"Rods is a kind of law; give one of that kind"):
        as_constraint(Rods)


def test_a_moving_pivot(decay):
    """A law of time, starts at different times."""
    u, t = [], []
    for i in range(4):
        own = np.linspace(0, 4, 41) + 1.5 * i
        r, phase = 1 + 0.1 * own, 0.7 * own + i
        u.append(np.column_stack([r * np.cos(phase), r * np.sin(phase)]))
        t.append(own)

    def on_circle(u, t):
        return (u[0] ** 2 + u[1] ** 2) / (1 + 0.1 * t) ** 2

    ds = make_dataset(u, t, ["x", "y"])
    for law in (on_circle, Constraint(on_circle, target=1.0)):
        assert float(pnde.check(ds, law)["relative"].max()) < 1e-14


# Pickles and representations
