"""Laws traced by JAX as programs: the same numbers, in value and in first and second derivative."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde import systems
from pnde.engines.julia.tracing import trace
from pnde.errors import ConstraintError, EngineError
from pnde.laws import Instant
from pnde.laws.program import OPERATIONS, Program, Step

pytestmark = pytest.mark.slow

A = np.random.default_rng(3).normal(size=(6, 6))


def pendulum_sum(u):
    def turn(i, total):
        return total + u[i] ** 2 * jnp.sin(u[5 - i])

    return jax.lax.fori_loop(0, 4, turn, 0.0)


def scanned(u):
    def turn(carry, row):
        return jnp.cos(carry) + row @ u, carry * row

    last, rows = jax.lax.scan(turn, u[0], jnp.asarray(A))
    return jnp.concatenate([last[None], rows.sum(axis=0), rows[:, 2]])


FUNCTIONS = {
    "arithmetic": lambda u: (u[0] - 2) * u[1] / u[2] ** 3 + u[3] ** 1.5 - u[4] ** -2,
    "elementary": lambda u: jnp.sum(
        jnp.sin(u) * jnp.tanh(u) + jnp.exp(-u) * jnp.log1p(u) + jnp.sqrt(u) * jnp.arctan2(u, 2.0)
    ),
    "more of them": lambda u: jnp.stack(
        [jnp.cbrt(u[0]), jnp.expm1(u[1]), jnp.hypot(u[2], u[3]), jax.nn.softplus(u[4]), jax.nn.sigmoid(u[5])]
    ),
    "indexing": lambda u: u[1:5:2] * u[::-1][:2] + u[jnp.array([0, 0])] + u[-1],
    "repeated indices": lambda u: u[np.array([0, 1, 1, 1])] ** 2,
    "matrix": lambda u: jnp.asarray(A) @ u + u @ jnp.asarray(A),
    "outer": lambda u: (jnp.outer(u[:2], u[2:4]) @ u[4:]).sum() + u,
    "contraction": lambda u: jnp.einsum("ij,kj->ik", *(u.reshape(2, 3),) * 2).ravel(),
    "norm": lambda u: jnp.linalg.norm(u.reshape(3, 2), axis=1),
    "selection": lambda u: jnp.where(u > 1.2, u**2, -u) + jnp.clip(u, 0.8, 1.4) + jnp.maximum(u, u[::-1]),
    "largest": lambda u: jnp.stack([u.max(), u.min(), u.prod(), jnp.abs(u - 1).sum()]),
    "running": lambda u: jnp.cumsum(u) * jnp.cumsum(u[::-1]),
    "set": lambda u: jnp.zeros(8).at[1:7].set(u**2).at[np.array([1, 1])].add(u[:2]),
    "padded": lambda u: jnp.pad(u, (1, 2)) * jnp.roll(jnp.pad(u, (3, 0)), 2),
    "stacked": lambda u: jnp.concatenate([u[:2], jnp.stack([u[3], u[3] * u[2]])]),
    "a number": lambda u: [u[0] * u[1], 3.0],
    "loop": pendulum_sum,
    "scan": scanned,
    "cond": lambda u: jax.lax.cond(u[0] > 1.0, lambda v: v**2, lambda v: jnp.sin(v), u),
    "solve": lambda u: jnp.linalg.solve(jnp.diag(u[:3]) + jnp.outer(u[3:], u[3:]), u[:3]),
    "inverse": lambda u: jnp.linalg.inv(jnp.diag(u[:2]) + 0.1 * jnp.outer(u[3:5], u[3:5])).ravel(),
    "cholesky": lambda u: jnp.linalg.cholesky(jnp.diag(u[:3]) + 0.1 * jnp.outer(u[3:], u[3:]))[:, 0],
    "jitted": jax.jit(lambda u: jnp.vdot(u, u)),
    "a custom rule": lambda u: jax.nn.relu(u - 1).sum() + jax.nn.gelu(u[0]),
    "vmapped": lambda u: jax.vmap(lambda x, y: x @ y)(u.reshape(3, 2), jnp.asarray(A)[:3, :2] + u[:2]),
    "checkpoint": jax.checkpoint(lambda u: jnp.sin(jnp.sin(u))),
}  # fmt: skip


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def flat(function):
    return lambda *x: jnp.ravel(jnp.asarray(function(*x)))


def derivatives(function):
    """The function, its derivative, and the cotangent of that, of (u, w)."""
    h = flat(lambda u: jnp.stack(v) if isinstance(v := function(u), list) else v)
    first = flat(jax.jacrev(h))
    return (
        lambda u, w: h(u),
        lambda u, w: first(u),
        lambda u, w: jax.grad(lambda u: jnp.sum(first(u) * jnp.cos(w[0] * jnp.arange(1.0, 1 + first(u).size))))(u),
    )  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_computes_what_the_function_does(name):
    for function in derivatives(FUNCTIONS[name]):
        program = trace(function, [6, 1], "the law")
        for seed in range(3):
            u, w = np.random.default_rng(seed).uniform(0.5, 2.0, 6), np.array([0.3])
            expected = np.asarray(function(jnp.asarray(u), jnp.asarray(w)))
            scale = max(np.abs(expected).max(), 1)
            np.testing.assert_allclose(program(u, w), expected, rtol=1e-14, atol=1e-14 * scale)


@pytest.mark.parametrize("name", ["quartic", "lotka-volterra", "pendulum", "ieee14"])
def test_the_laws_of_the_systems(name):
    system = systems.get(name)
    n, law = len(system.states), system.constraint.bind(system.states)
    u = system.initial(np.random.default_rng(1), 1, "paper")[0]
    h = jax.jacrev(lambda u, t: law.value(u, Instant(t)))
    for function in (law.value, h):
        program = trace(lambda u, t, f=function: f(u, t).ravel(), [n, None], "the law", clock=1)
        expected = np.asarray(function(jnp.asarray(u), jnp.zeros(()))).ravel()
        np.testing.assert_allclose(program(u, np.zeros(1)), expected, rtol=1e-14, atol=1e-14)
        assert program.clock == 1


def test_what_is_known_is_no_step_and_nothing_is_done_twice():
    program = trace(lambda u: (u[1] * jnp.sin(2.0) + u[1] * jnp.sin(2.0), u[0])[0], [3], "the law")
    assert [step.operation for step in program.steps] == ["take", "multiply", "add"]
    # The same product, once.
    assert program.steps[-1].operands[0] == program.steps[-1].operands[1]


def test_every_operation_is_a_name_with_a_meaning():
    assert isinstance(Program((1,), (), (Step("sin", (0,)),), 1)(np.zeros(1))[0], float)
    assert all(callable(operation) for operation in OPERATIONS.values())


def test_what_has_no_counterpart_is_named_with_its_line():
    def law(u):
        return jax.scipy.special.gammaln(u[0])

    with pytest.raises(
        EngineError, match=r"'energy' uses 'lgamma' \(test_tracing.py, line \d+\)"
    ) as caught:
        trace(law, [2], "the law 'energy'")
    assert len(str(caught.value)) <= 300
    line = law.__code__.co_firstlineno + 1
    assert f"line {line})" in str(caught.value)
    with pytest.raises(EngineError, match="'lu'"):
        trace(lambda u: jnp.linalg.det(u.reshape(4, 4)), [16], "the law")
    with pytest.raises(EngineError, match="turns that depend on the state"):
        trace(lambda u: jax.lax.while_loop(lambda v: v[0] > 1, lambda v: v / 2, u), [2], "the law")
    with pytest.raises(EngineError, match="too many turns"):
        trace(lambda u: jax.lax.fori_loop(0, 30_000, lambda i, v: jnp.sin(v), u), [2], "the law")


def test_what_cannot_be_traced_is_one_sentence():
    with pytest.raises(ConstraintError, match="calls a NumPy function"):
        trace(lambda u: np.sin(u).sum(), [2], "the law")
    with pytest.raises(ConstraintError, match=r"use jax.numpy.where"):
        trace(lambda u: u[0] if u[0] > 0 else u[1], [2], "the law")


def test_pickles_and_kinds_of_laws():
    rod = pnde.Holonomic(lambda q: q[0] ** 2 + q[1] ** 2)
    program = trace(lambda u: rod.value(u, Instant(0.0)), [4], "the law")
    np.testing.assert_allclose(program(np.array([3.0, 4.0, 1.0, 1.0])), [25.0, 14.0])
