"""The retraction: how close it comes, its derivative, and where it gives up."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.engines.jax.retraction import retract
from pnde.laws import Conserved, Constraint, Instant

pytestmark = pytest.mark.usefixtures("strict")

N = 4


def one_row(u):
    return 0.5 * (u[2] ** 2 + u[3] ** 2) + 0.25 * (u[0] ** 2 + u[1] ** 2) ** 2


def two_rows(u):
    return [one_row(u), u[0] * u[3] - u[1] * u[2]]


def moving(u, t):
    return [u[0] ** 2 + u[1] ** 2 - (1 + t) ** 2, u[2] * u[3] * (1 + t)]


def weighted(u):
    return jnp.diag(1 + u**2) + 0.3


LAWS = {
    "one row": Conserved(one_row),
    "two rows": Conserved(two_rows),
    "moving": Constraint(moving, time_dependent=True),
}
METRICS = {
    "none": None,
    "diagonal": np.array([1.0, 2.0, 4.0, 0.5]),
    "function": weighted,
}
START = np.array([0.9, 0.4, -0.3, 0.8])


def retracting(law, metric=None, method="cholesky"):
    return jax.jit(lambda u, t, c: retract(law, metric, method, u, Instant(t), c))


@cache
def retraction(law="two rows", metric="none", method="cholesky"):
    return retracting(LAWS[law], METRICS[metric], method)


@cache
def value(law):
    return jax.jit(lambda u, t: LAWS[law].value(u, Instant(t)))


def target(law, u=START, t=0.3):
    return np.asarray(value(law)(jnp.asarray(u), t))


def on_device(*x, dtype=float):
    return tuple(jnp.asarray(a, dtype) for a in x)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reaches_rounding_from_a_few_percent_off(law, metric, dtype):
    c = target(law)
    eps = np.finfo(dtype).eps
    for seed in range(5):
        off = START * (1 + 0.05 * np.random.default_rng(seed).uniform(-1, 1, N))
        u = retraction(law, metric)(*on_device(off, 0.3, c, dtype=dtype))
        assert u.dtype == dtype
        u = np.asarray(u, float)
        residual = np.abs(target(law, u) - c).max()
        assert residual <= 20 * eps
        assert np.abs(u - off).max() < 0.2  # to the near part of the manifold


def test_a_state_on_the_manifold_stays():
    u = retraction()(*on_device(START, 0.3, target("two rows")))
    np.testing.assert_array_equal(u, START)


@pytest.mark.parametrize("metric", METRICS)
def test_moves_along_the_rows_as_the_metric_weighs_them(metric):
    """To first order u - u0 is in the span of W Gᵀ."""
    d = 1e-5 * np.random.default_rng(0).normal(size=N)
    u = retraction(metric=metric)(*on_device(START + d, 0.3, target("two rows")))
    M = np.eye(N)
    if metric != "none":
        M = np.diag(METRICS["diagonal"]) if metric == "diagonal" else np.diag(1 + START**2) + 0.3
    G = jax.jit(jax.jacfwd(lambda u: LAWS["two rows"].value(u, Instant(0.3))))(jnp.asarray(START))
    tangent = np.linalg.svd(np.asarray(G))[2][2:]
    assert np.abs(tangent @ M @ (np.asarray(u) - START - d)).max() < 1e-9


@pytest.mark.parametrize("metric", METRICS)
def test_derivative_on_the_manifold(metric):
    rng, h = np.random.default_rng(1), 1e-5
    x = on_device(START, 0.3, target("moving"))
    d = on_device(rng.normal(size=N), 0.7, rng.normal(size=2))
    R = retraction("moving", metric)
    above, below = (R(*(a + s * b for a, b in zip(x, d, strict=True))) for s in (h, -h))
    w = jnp.asarray(rng.normal(size=N))
    everything = jax.jit(lambda x: (R(*x), *jax.jvp(R, x, d), jax.vjp(R, *x)[1](w)))
    value, out, forward, reverse = jax.device_get(everything(x))
    np.testing.assert_allclose(forward, (above - below) / (2 * h), atol=1e-8)
    np.testing.assert_array_equal(out, value)
    pairing = sum(np.sum(a * np.asarray(b)) for a, b in zip(reverse, d, strict=True))
    np.testing.assert_allclose(pairing, np.asarray(w) @ forward, rtol=1e-12)


def test_batches_and_their_gradient():
    c = target("two rows")
    batch = jnp.asarray(START * np.linspace(0.97, 1.03, 3)[:, None])
    R = retraction()

    def loss(u):
        return jnp.sum(jnp.sin(R(u, 0.3, c)))

    together = jax.jit(jax.vmap(jax.value_and_grad(loss)))(batch)
    single = jax.jit(jax.value_and_grad(loss))
    alone = [single(u) for u in batch]
    for i in range(2):
        np.testing.assert_allclose(together[i], np.stack([a[i] for a in alone]), rtol=1e-12)


def test_a_state_that_is_done_waits_for_the_batch_unchanged():
    c = target("two rows")
    batch = jnp.asarray(np.stack([START, 1.05 * START]))
    u = jax.vmap(retraction(), in_axes=(0, None, None))(batch, 0.3, c)
    np.testing.assert_array_equal(u[0], START)


def test_dependent_rows_with_the_method_made_for_them():
    law = Conserved(lambda u: [one_row(u), 2 * one_row(u), 0 * u[0]])
    c = law.value(jnp.asarray(START), Instant(0.0))
    u = retracting(law, method="truncated")(jnp.asarray(1.04 * START), 0.0, c)
    np.testing.assert_allclose(law.value(u, Instant(0.0)), c, atol=1e-15)


def test_stops_where_the_residual_cannot_fall():
    """u² = -1 has no solution: it ends in finitely many steps, no farther from it than it began."""
    law = Conserved(lambda u: u[0] ** 2)
    R = retracting(law)
    u = R(jnp.asarray([2.0, 1.0]), 0.0, jnp.asarray([-1.0]))
    assert np.isfinite(u).all()
    assert abs(u[0]) <= 2


def test_stays_where_a_step_is_impossible():
    """At the origin G = 0."""
    law = Conserved(lambda u: u[0] ** 2 + u[1] ** 2)
    u = retracting(law)(jnp.zeros(2), 0.0, jnp.ones(1))
    np.testing.assert_array_equal(u, np.zeros(2))


def test_nan_in_nan_out():
    c = target("two rows")
    u = retraction()(*on_device([np.nan, 0.4, -0.3, 0.8], 0.3, c))
    assert np.isnan(u[0])
    np.testing.assert_array_equal(u[1:], START[1:])
    batch = jnp.asarray(np.stack([np.full(N, np.nan), 1.02 * START]))
    u = jax.vmap(retraction(), in_axes=(0, None, None))(batch, 0.3, c)
    assert np.isnan(u[0]).all()
    np.testing.assert_allclose(target("two rows", u[1]), c, atol=1e-14)
