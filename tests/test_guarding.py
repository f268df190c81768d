"""Gradients through rejected steps that met NaN: those of finite differences, with either loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.config import TrainingSolverConfig
from pnde.engines.jax.guarding import guarded
from pnde.engines.jax.solve import solve
from pnde.engines.jax.stepping import solve_together

pytestmark = pytest.mark.usefixtures("strict")

SETTINGS = TrainingSolverConfig(rtol=1e-6, atol=1e-6, precision="float64")
TIMES = np.array([0.0, 1.5])


def field(t, u, p):
    """A reaction that becomes 200 times as fast at t = 1; a step that is too long takes u below -1, where it is NaN."""
    rate = 1 + 200 * jax.nn.sigmoid(60 * (t - 1))
    return -p * rate * jnp.log1p(u)


def recomputed(field, p):
    return solve(field, jnp.array([[1.0]]), jnp.asarray(TIMES), p, SETTINGS)


def stored(field, p):
    return solve_together(field, jnp.array([[1.0]]), jnp.asarray(TIMES), p, SETTINGS, 200)


@pytest.mark.parametrize("loop", [recomputed, stored])
def test_a_rejected_step_that_met_nan_leaves_the_gradient_right(loop):
    def mean(p, field):
        solution = loop(field, p)
        # The middle of the way, so that there is something to differentiate.
        return jnp.mean(solution.u[-1]) + 1e-3 * p, solution

    p, h = jnp.asarray(0.02), 1e-6
    value = jax.jit(lambda p: mean(p, field)[0])
    expected = (value(p + h) - value(p - h)) / (2 * h)
    plain, solution = jax.jit(jax.grad(lambda p: mean(p, field), has_aux=True))(p)
    safe, _ = jax.jit(jax.grad(lambda p: mean(p, guarded(field)), has_aux=True))(p)
    assert int(solution.status) == 0 and np.isfinite(solution.u).all()
    np.testing.assert_allclose(safe, expected, rtol=1e-4)
    if loop is stored:  # of the steps that were taken alone
        np.testing.assert_allclose(plain, expected, rtol=1e-4)
    else:
        assert np.isnan(plain), "the case no longer meets NaN"


def test_a_guarded_field_is_the_field():
    p, u = jnp.asarray(0.3), jnp.array([[0.5, 2.0]])
    plain, safe = (
        jax.vjp(lambda u, p, f=f: f(jnp.asarray(0.5), u, p), u, p) for f in (field, guarded(field))
    )
    np.testing.assert_array_equal(plain[0], safe[0])
    for one, other in zip(plain[1](jnp.ones((1, 2))), safe[1](jnp.ones((1, 2))), strict=True):
        np.testing.assert_array_equal(one, other)
    for nothing in safe[1](jnp.zeros((1, 2))):
        np.testing.assert_array_equal(nothing, jnp.zeros_like(nothing))
