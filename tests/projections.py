"""Projections to test: problems with their directions, compiled derivatives, and what counts as equal."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.engines.jax.projection import condition, factorise, project
from pnde.engines.jax.structures.dense import DenseJacobian

METHODS = ("cholesky", "qr", "truncated")
METRICS = ("none", "diagonal", "matrix")
M_ROWS, N = 3, 5

every_method = pytest.mark.parametrize("method", METHODS)
every_metric = pytest.mark.parametrize("kind", METRICS)


def problem(kind, seed=0, m=M_ROWS, n=N):
    """G, v, offset and, but for the identity, W."""
    rng = np.random.default_rng(seed)
    arguments = (rng.normal(size=(m, n)), rng.normal(size=n), rng.normal(size=m))
    if kind == "none":
        return arguments
    B = rng.normal(size=(n, n))
    return (*arguments, rng.uniform(0.5, 2, n) if kind == "diagonal" else B @ B.T + n * np.eye(n))


def direction(x, seed=1):
    """A random direction in the space of `problem`; that of a matrix W is symmetric."""
    rng = np.random.default_rng(seed)
    d = [rng.normal(size=a.shape) for a in x]
    if len(d) == 4 and d[3].ndim == 2:
        d[3] = d[3] + d[3].T
    return tuple(d)


def on_device(x, dtype=float):
    return tuple(jnp.asarray(a, dtype) for a in x)


def moved(x, d, h):
    return tuple(a + h * b for a, b in zip(x, d, strict=True))


def dot(x, y):
    return sum((a * b).sum() for a, b in zip(x, y, strict=True))


def plain(G, v, b, W=None):
    """The formula itself, which JAX differentiates through a general solve."""
    W = jnp.eye(N) if W is None else jnp.diag(W) if W.ndim == 1 else W
    return v - W @ G.T @ jnp.linalg.solve(G @ W @ G.T, G @ v + b)


def derivatives(function):
    """p and its derivative along d; a loss, its gradient, and its Hessian times d, forward and reverse over reverse."""

    def loss(x):
        return jnp.sum(jnp.sin(function(*x)) * jnp.arange(1.0, N + 1))

    def everything(x, d):
        gradient = jax.grad(loss)
        p, p_dot = jax.jvp(lambda x: function(*x), (x,), (d,))
        return {
            "p": p,
            "p_dot": p_dot,
            "loss": loss(x),
            "gradient": gradient(x),
            "forward": jax.jvp(gradient, (x,), (d,))[1],
            "reverse": jax.grad(lambda x: dot(gradient(x), d))(x),
        }

    return jax.jit(everything)


plain_derivatives = derivatives(plain)


@cache
def derivatives_of(method):
    return derivatives(partial(project, method=method))


@cache
def projector(method):
    return jax.jit(partial(project, method=method))


@cache
def rcond(method):
    """1/κ of a dense Jacobian, as it is known under `jit`."""
    return jax.jit(lambda G: condition(factorise(DenseJacobian(G), None, method)))


def close(actual, expected, tolerance):
    """Equal to `tolerance`, relative to the largest entry."""
    actual, expected = jax.tree.leaves(actual), jax.tree.leaves(expected)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))
