"""The O(N) projection of a chain of rods: the same numbers as the dense one, without its arrays."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde import systems
from pnde.engines.jax.laws import jacobian
from pnde.engines.jax.projection import condition, factorise, minimum_norm, project
from pnde.engines.jax.retraction import retract
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.rods import RodsFactor, RodsJacobian
from pnde.laws import Instant
from pnde.systems.pendulum import to_cartesian

pytestmark = pytest.mark.usefixtures("strict")

METRICS = ("none", "diagonal", "matrix")
every_metric = pytest.mark.parametrize("kind", METRICS)


def states(n, count=3, speed=5.0, seed=0):
    """States `(count, 4n)` on the manifold."""
    rng = np.random.default_rng([seed, n])
    angles, speeds = rng.uniform(0, 2 * np.pi, (count, n)), speed * rng.normal(size=(count, n))
    return to_cartesian(np.concatenate([angles, speeds], axis=1))


def vectors(n, count=3, seed=1):
    return np.random.default_rng([seed, n]).normal(size=(count, 4 * n))


def inverse_metric(kind, n):
    rng = np.random.default_rng(n)
    if kind == "none":
        return None
    if kind == "diagonal":
        return jnp.asarray(rng.uniform(0.5, 2, 4 * n))
    B = rng.normal(size=(4 * n, 4 * n))
    return jnp.asarray(B @ B.T / n + np.eye(4 * n))


def close(actual, expected, tolerance):
    """Equal to `tolerance`, relative to the largest entry."""
    actual, expected = jax.tree.leaves(actual), jax.tree.leaves(expected)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))


def both(n):
    """The Jacobian at a state, as a chain and as the law's matrix."""
    law = systems.get("pendulum", n=n).constraint
    return (
        lambda u: jacobian(law, u, Instant(0.0)),
        lambda u: DenseJacobian(law.jacobian(u)),
    )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_operator(n):
    chain, dense = (build(jnp.asarray(states(n)[0])) for build in both(n))
    assert isinstance(chain, RodsJacobian)
    w, y = jnp.asarray(vectors(n)[0]), jnp.asarray(vectors(n)[1, : 2 * n])
    close(chain.dense(), dense.matrix, 1e-15)
    close(chain.apply(w), dense.apply(w), 1e-14)
    close(chain.transpose_apply(y), dense.transpose_apply(y), 1e-14)


@pytest.mark.parametrize("n", [1, 3, 8])
@every_metric
def test_agrees_with_the_dense_projection(n, kind):
    """Value, minimum norm, gradients with respect to u, v and W, and a second derivative."""
    W = inverse_metric(kind, n)
    law = systems.get("pendulum", n=n).constraint
    u, v, d = (jnp.asarray(x) for x in (states(n), vectors(n), vectors(n, seed=2)))

    def results(build):
        def loss(u, v, W):
            p = jax.vmap(lambda u, v: project(build(u), v, None, W))(u, v)
            return jnp.sum(jnp.sin(p) * d)

        gradient = jax.grad(loss, argnums=(0, 1, 2))
        inputs = (u, v, W)
        direction = (d, v, None if W is None else 0.1 * W)
        return {
            "p": jax.vmap(lambda u, v: project(build(u), v, None, W))(u, v),
            "offset": project(build(u[0]), v[0], d[0, : 2 * n], W),
            "minimum norm": minimum_norm(build(u[0]), law.rows(v[0]), W, "cholesky", 4 * n),
            "gradient": gradient(*inputs),
            "second": jax.jvp(gradient, inputs, direction)[1],
        }

    chain, dense = (jax.jit(partial(results, build))() for build in both(n))
    for name in dense:
        close(chain[name], dense[name], 1e-12)


@pytest.mark.parametrize("method", ["qr", "truncated"])
def test_other_methods_are_dense(method):
    chain, dense = both(3)
    u, v = jnp.asarray(states(3)[0]), jnp.asarray(vectors(3)[0])
    factor = factorise(chain(u), None, method)
    assert not isinstance(factor, RodsFactor)
    close(project(chain(u), v, method=method), project(dense(u), v, method=method), 1e-12)


def test_single_precision():
    chain, _ = both(4)
    u, v = states(4, 50), vectors(4, 50)

    def p(dtype):
        return jax.vmap(lambda u, v: project(chain(u), v))(
            jnp.asarray(u, dtype), jnp.asarray(v, dtype)
        )

    single = p("float32")
    assert single.dtype == "float32"
    close(single, p("float64"), 1e-4)


def test_a_batch_of_velocities_with_one_jacobian():
    chain, _ = both(3)
    G = chain(jnp.asarray(states(3)[0]))
    v = jnp.asarray(vectors(3))
    together = jax.vmap(partial(project, G))(v)
    close(together, jnp.stack([project(G, row) for row in v]), 1e-14)


@pytest.fixture(scope="module")
def hard_states():
    """States of true trajectories of 8 bobs, those with the worst condition of G Gᵀ, up to about 1e4."""
    system = systems.get("pendulum", n=8)
    u = system.simulate(30, t_end=5, dt=0.05, seed=5)["u"].values.reshape(-1, 32)
    G = np.stack([system.constraint.jacobian(state) for state in u])
    conditions = np.linalg.cond(G @ np.swapaxes(G, 1, 2))
    worst = np.argsort(np.where(conditions < 1e4, conditions, 0))[-3:]
    assert conditions[worst].min() > 4e3
    return u[worst]


@pytest.mark.parametrize("method", ["cholesky", "qr"])
def test_finite_differences_where_it_is_ill_conditioned(hard_states, method):
    chain, _ = both(8)
    d, e = (jnp.asarray(vectors(8, seed=s)) for s in (3, 4))
    u, v, h = jnp.asarray(hard_states), jnp.asarray(vectors(8)), 1e-5

    @jax.jit
    def p(u, v):
        return jax.vmap(lambda u, v: project(chain(u), v, method=method))(u, v)

    _, pullback = jax.vjp(p, u, v)
    by_u, by_v = pullback(e)

    def difference(f):
        # Richardson's extrapolation of the central difference
        coarse, fine = ((f(s) - f(-s)) / (2 * s) for s in (2 * h, h))
        return jnp.sum(e * (4 * fine - coarse) / 3, axis=1)

    close(jnp.sum(by_u * d, axis=1), difference(lambda s: p(u + s * d, v)), 1e-7)
    close(jnp.sum(by_v * d, axis=1), difference(lambda s: p(u, v + s * d)), 1e-7)


def test_condition_is_estimated_as_for_the_dense_factor(hard_states):
    chain, dense = both(8)
    for u in jnp.asarray(np.concatenate([hard_states, states(8)])):
        estimates = [condition(factorise(build(u), None, "cholesky")) for build in (chain, dense)]
        assert 0.1 < estimates[0] / estimates[1] < 10


def test_a_rod_without_length_is_reported():
    chain, _ = both(3)
    u = np.array(states(3)[0])
    u[1::3] = u[::3]  # the second bob is where the first one is
    G = chain(jnp.asarray(u))
    assert condition(jax.jit(lambda G: factorise(G, None, "cholesky"))(G)) == 0
    assert jnp.isnan(jax.jit(lambda G: project(G, jnp.ones(12)))(G)).all()


def sizes(jaxpr):
    """Sizes of all arrays in a program, those of inner programs included."""
    for equation in jaxpr.eqns:
        for variable in (*equation.invars, *equation.outvars):
            yield int(np.prod(variable.aval.shape))
        for parameter in jax.tree.leaves(
            list(equation.params.values()),
            is_leaf=lambda p: hasattr(p, "eqns") or hasattr(p, "jaxpr"),
        ):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                yield from sizes(inner)


@pytest.mark.parametrize("kind", ["none", "diagonal"])
def test_no_array_grows_faster_than_the_chain(kind):
    n = 64
    chain, dense = both(n)
    W = inverse_metric(kind, n)
    u, v = jnp.asarray(states(n)[0]), jnp.asarray(vectors(n)[0])

    def largest(build):
        def loss(u, v):
            return jnp.sum(project(build(u), v, None, W) ** 2)

        def second(u, v):
            return jnp.sum(jax.grad(loss)(u, v) ** 2)

        return max(sizes(jax.make_jaxpr(jax.value_and_grad(second, argnums=(0, 1)))(u, v).jaxpr))

    assert largest(dense) >= 2 * n * 4 * n
    assert largest(chain) <= 16 * n


@pytest.mark.parametrize("n", [1, 4, 8])
def test_retraction_from_ten_percent_away(n):
    """Each rod up to 10 % too long or too short, the rate of each link off by 10 %, in any direction."""
    law = systems.get("pendulum", n=n).constraint
    rng = np.random.default_rng(n)
    links = np.diff(states(n, 300).reshape(300, 4, n), axis=-1, prepend=0)
    rates = np.linalg.norm(links[:, 2:], axis=1)
    links[:, :2] *= 1 + rng.uniform(-0.1, 0.1, (300, 1, n))
    angle = rng.uniform(0, 2 * np.pi, (300, n))
    links[:, 2:] += 0.1 * rates[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    u = links.cumsum(axis=-1).reshape(300, 4 * n)
    c = jnp.broadcast_to(jnp.asarray(law.target), (300, 2 * n))
    back = partial(retract, law, None, "cholesky")
    found = jax.jit(jax.vmap(lambda u, c: back(u, Instant(jnp.zeros(())), c)))(jnp.asarray(u), c)
    g = np.abs(law.rows(np.asarray(found)) - law.target)
    assert g[:, :n].max() <= 1e-12  # lengths
    assert g[:, n:].max() <= 1e-12  # velocities


@pytest.mark.slow
def test_sixty_four_bobs_train(make_model):
    from pnde.engines import Batch, get
    from pnde.models import initial_weights

    system = systems.get("pendulum", n=64)
    model = make_model(system, layers=2, width=16)
    u = np.repeat(states(64, 8, speed=0.5)[:, None], 3, axis=1)
    batch = Batch(
        u=u,
        start=np.zeros(8),
        grid=0.01 * np.arange(3),
        c=np.broadcast_to(system.constraint.target, (8, 128)),
        share=np.full(8, 1 / 8),
    )
    training = get("jax").start(model, [batch], [batch], initial_weights(model, 0))
    losses = [training.step(0, 1e-3).loss for _ in range(3)]
    assert np.isfinite(losses).all()
    assert losses[2] < losses[0]
