"""The velocity within bounds: it is the nearest, its derivative is that of the rows that act, and what contradicts."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.engines.jax.bounded_projection import project_along, project_within
from pnde.engines.jax.structures.bounded import Selection
from pnde.engines.jax.structures.dense import DenseJacobian

pytestmark = pytest.mark.usefixtures("strict")

N, R, M, COUNT = 6, 2, 5, 400


def problems(seed=0):
    """Random ones with a solution; in a fifth each, rows repeat others, or the law, or are states."""
    rng = np.random.default_rng(seed)
    G, A = rng.normal(size=(COUNT, R, N)), rng.normal(size=(COUNT, M, N))
    fifth = COUNT // 5
    A[:fifth, -1] = 2 * A[:fifth, 0]
    A[fifth : 2 * fifth, -2] = A[fifth : 2 * fifth, 0] + A[fifth : 2 * fifth, 1]
    A[2 * fifth : 3 * fifth, 2] = np.einsum(
        "br,brn->bn", rng.normal(size=(fifth, R)), G[2 * fifth : 3 * fifth]
    )
    A[3 * fifth : 4 * fifth] = np.eye(N)[:M]
    inside = rng.normal(size=(COUNT, N))
    v = inside + 3 * rng.normal(size=(COUNT, N))
    values = np.einsum("bmn,bn->bm", A, inside)
    lo = values - rng.exponential(size=(COUNT, M))
    lo[:fifth, -1] = 2 * lo[:fifth, 0]
    hi = np.where(rng.random((COUNT, M)) < 0.5, np.inf, values + rng.exponential(size=(COUNT, M)))
    hi[:fifth, -1] = np.inf
    b = -np.einsum("brn,bn->br", G, inside)
    return G, A, v, b, lo, hi, np.exp(rng.normal(size=(COUNT, N)))


def nearest(G, A, v, b, lo, hi, W):
    return project_within(DenseJacobian(G), DenseJacobian(A), v, b, lo, hi, W)


@cache
def program():
    return jax.jit(jax.vmap(nearest))


def test_it_is_the_nearest_velocity():
    """Karush, Kuhn and Tucker's conditions, which are enough where a problem is convex."""
    found = program()(*problems())
    assert np.all(found.feasible)
    acting = np.asarray(found.active).sum(axis=1)
    assert acting.max() >= 3 and (acting == 0).any()
    for G, A, v, b, lo, hi, W, p, active in zip(*problems(), found.p, found.active, strict=True):
        np.testing.assert_allclose(G @ p, -b, atol=1e-11)
        y = A @ p
        assert (y >= lo - 1e-11).all() and (y <= hi + 1e-11).all()
        force = (p - v) / W
        rows = np.concatenate([G, A[active]])
        multipliers = np.linalg.lstsq(rows.T, force)[0]
        np.testing.assert_allclose(rows.T @ multipliers, force, atol=1e-9)
        at_upper = np.abs(y - hi)[active] < np.abs(y - lo)[active]
        assert (multipliers[R:] * np.where(at_upper, -1, 1) >= -1e-9).all()


def test_derivatives():
    """Of everything but W against central differences, where no row is about to act or to let go."""
    G, A, v, b, lo, hi, W = problems()
    hi = np.where(np.isfinite(hi), hi, 1e3)
    rng = np.random.default_rng(5)
    arguments = (G, A, v, b, lo, hi, W)
    along = tuple(rng.normal(size=x.shape) for x in arguments)
    weight = rng.normal(size=v.shape)

    @jax.jit
    @jax.vmap
    def slopes(x, dx, weight):
        def measured(*x):
            return weight @ nearest(*x).p

        forward = jax.jvp(measured, x, dx)[1]
        pulled = jax.grad(measured, range(7))(*x)
        return forward, sum(jnp.sum(g * d) for g, d in zip(pulled, dx, strict=True))

    ease, ends = 1e-6, []
    for sign in (1, -1):
        x = tuple(a + sign * ease * d for a, d in zip(arguments, along, strict=True))
        ends.append(program()(*x))
    same = (np.asarray(ends[0].active) == np.asarray(ends[1].active)).all(axis=1)
    assert same.mean() > 0.9
    # Where rows meet at a very flat angle, differences say nothing.
    same &= np.abs(ends[0].p - ends[1].p).max(axis=1) < 1e-4
    differences = np.sum(weight * np.asarray(ends[0].p - ends[1].p), axis=1) / (2 * ease)
    for found in slopes(arguments, along, weight):
        np.testing.assert_allclose(found[same], differences[same], rtol=1e-4, atol=1e-4)


def test_bounds_of_states_by_themselves_are_cut_off():
    A = Selection((0, 2, 0), 3)
    lo, hi = jnp.array([0.0, -jnp.inf, 0.5]), jnp.array([jnp.inf, 1.0, 2.0])
    v, W = jnp.array([-1.0, 7.0, 3.0]), jnp.array([1.0, 2.0, 3.0])

    @jax.jit
    def both(v):
        dense = DenseJacobian(jnp.eye(3)[np.array(A.columns)])
        alone, general = (project_within(None, rows, v, None, lo, hi, W) for rows in (A, dense))
        return (
            alone,
            general,
            jax.jacrev(lambda v: project_within(None, A, v, None, lo, hi, W).p)(v),
        )

    alone, general, slope = both(v)
    np.testing.assert_array_equal(alone.p, [0.5, 7.0, 1.0])
    np.testing.assert_array_equal(alone.active, [True, True, True])
    np.testing.assert_allclose(general.p, alone.p, atol=1e-15)
    np.testing.assert_array_equal(slope, np.diag([0.0, 1.0, 0.0]))


def test_contradictions_are_told_and_finite():
    @jax.jit
    def keeping(A, lo, hi):
        G, b = DenseJacobian(jnp.ones((1, 3))), jnp.array([-1.0])  # the sum is 1
        return project_within(G, DenseJacobian(A), jnp.zeros(3), b, lo, hi)

    free, units = np.full(3, np.inf), np.eye(3)
    found = keeping(units, -free, np.full(3, 0.25))
    assert not found.feasible and np.isfinite(found.p).all()
    np.testing.assert_allclose(found.p.sum(), 1.0)
    sums = np.ones((3, 3))  # rows of the law again
    assert not keeping(sums, np.full(3, 2.0), free).feasible
    assert keeping(sums, np.ones(3), free).feasible


def test_along_given_rows_it_is_linear():
    G, A = DenseJacobian(jnp.ones((1, 3))), Selection((0, 1, 0), 3)
    rate = jnp.array([2.0, -1.0, 2.0])
    rows = jnp.array([True, False, True])  # the third repeats the first
    p = project_along(G, A, jnp.array([1.0, 2.0, 3.0]), None, rate, rows)
    np.testing.assert_allclose(p, [2.0, -1.5, -0.5], atol=1e-15)
