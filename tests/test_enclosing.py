"""The retraction with bounds: the nearest state that obeys both, exactly inside, and its derivative."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde.engines.jax.enclosing import enclose, is_inside
from pnde.laws import Bounds, Constraint, Instant, Linear

pytestmark = pytest.mark.usefixtures("strict")

STATES = ("a", "b", "c")
MASS = Linear([[1.0, 1.0, 1.0]], 1.0, names="mass", states=STATES)


def bounds_of(part, m, lower, upper):
    columns = np.full(m, -1) if part.columns is None else part.columns
    ones = np.ones(m)
    names = tuple(f"row {k}" for k in range(m))
    return Bounds((part,), names, columns, lower * ones, upper * ones, ones, ones)


POSITIVE = bounds_of(pnde.Bounded(STATES, lower=0).bind(STATES), 3, 0.0, np.inf)


def radius(u, t):
    return [u[0] ** 2 + u[1] ** 2 - t]


def swirl(u, t):
    return [u[0] * u[2] + t]


ROUND = bounds_of(pnde.Inequality(radius, lower=-1, upper=1).bind(STATES), 1, -1.0, 1.0)
LAW = Constraint(swirl, target=1.0, states=STATES)


def on_simplex(u):
    """Where a state comes to, by sorting."""
    falling = np.sort(u)[::-1]
    excess = np.cumsum(falling) - 1
    k = np.flatnonzero(falling - excess / np.arange(1, len(u) + 1) > 0)[-1]
    return np.maximum(u - excess[k] / (k + 1), 0)


@cache
def enclosed():
    return jax.jit(
        jax.vmap(lambda u: enclose(MASS, POSITIVE, None, "cholesky", u, Instant(0.0), jnp.ones(1)))
    )


def test_nearest_nonnegative_state_of_the_same_mass():
    rng = np.random.default_rng(0)
    u = rng.dirichlet(np.full(3, 0.3), size=2000) + 0.05 * rng.normal(size=(2000, 3))
    out = np.asarray(enclosed()(u))
    assert out.min() == 0.0 and (out == 0).any(axis=1).mean() > 0.3
    assert np.abs(out.sum(axis=1) - 1).max() <= 5e-16
    np.testing.assert_allclose(out, [on_simplex(row) for row in u], atol=1e-15)
    np.testing.assert_array_equal(enclosed()(out), out)


@cache
def curved():
    def one(u, t, c):
        return enclose(LAW, ROUND, np.array([1.0, 2.0, 3.0]), "cholesky", u, Instant(t), c)

    return one


def test_curved_rows_that_move():
    rng = np.random.default_rng(1)
    t, c, angle = rng.uniform(0, 1, 300), np.ones((300, 1)), rng.uniform(-1, 1, 300)
    reach = np.sqrt(1 + t) * rng.uniform(0.8, 1.0, 300)
    u = np.stack([reach * np.cos(angle), reach * np.sin(angle), (1 - t) / reach], axis=1)
    u[:, 2] /= np.cos(angle)
    u += 0.1 * rng.normal(size=u.shape)
    out = np.asarray(jax.jit(jax.vmap(curved()))(u, t, c))
    h = out[:, 0] ** 2 + out[:, 1] ** 2 - t
    off = np.abs(out[:, 0] * out[:, 2] + t - 1)
    assert off.max() < 1e-14
    assert h.max() <= 1.0 and (h > 1 - 1e-12).any()


def test_derivative():
    """Of a state near the bound, along all of its arguments, against differences."""
    u, t, c = np.array([1.1, 0.6, 0.4]), 0.5, np.array([1.0])
    start = np.asarray(jax.jit(curved())(u, t, c))  # on both, so that the derivative is exact
    rng = np.random.default_rng(2)
    du, dt, dc = rng.normal(size=3), 0.7, rng.normal(size=1)
    du = du + start * np.array([2.0, 2.0, 0.0])  # outwards
    program = jax.jit(curved())
    ease = 1e-6
    ahead = program(start + ease * du, t + ease * dt * 0, c + ease * dc)
    slope = jax.jit(lambda *x: jax.jvp(curved(), x[:3], x[3:])[1])
    base = (start + 1e-9 * du, t, c)
    found = slope(*base, du, 0.0 * dt, dc)
    np.testing.assert_allclose(found, (ahead - program(*base)) / ease, rtol=2e-3, atol=2e-3)
    weight = rng.normal(size=3)
    pulled = jax.jit(jax.grad(lambda u, t, c: weight @ curved()(u, t, c), (0, 2)))(*base)
    np.testing.assert_allclose(pulled[0] @ du + pulled[1] @ dc, weight @ found, rtol=1e-9)


def test_what_cannot_be_met_is_told_and_inside():
    """Three states that add up to 1 cannot all be below 0.2."""
    low = bounds_of(pnde.Bounded(STATES, upper=0.2).bind(STATES), 3, -np.inf, 0.2)
    u = jnp.array([0.5, 0.3, 0.2])
    out = enclose(MASS, low, None, "cholesky", u, Instant(0.0), jnp.ones(1))
    assert np.isfinite(out).all() and out.max() <= 0.2
    assert is_inside(low, out, Instant(0.0)) and not is_inside(low, u, Instant(0.0))
