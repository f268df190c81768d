"""The projection: values, all derivatives, and the cost of the factor."""

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from projections import (
    M_ROWS,
    N,
    close,
    derivatives_of,
    direction,
    dot,
    every_method,
    every_metric,
    moved,
    on_device,
    plain,
    plain_derivatives,
    problem,
    projector,
)

from pnde.engines.jax.laws import jacobian
from pnde.engines.jax.projection import minimum_norm, project
from pnde.engines.jax.structures import triangle
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.laws import Instant, Linear

pytestmark = pytest.mark.usefixtures("strict")


@every_method
@every_metric
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
def test_nearest_velocity_that_obeys_the_law(method, kind, dtype, tolerance):
    G, v, b, *W = x = problem(kind)
    p = projector(method)(*on_device(x, dtype))
    assert p.dtype == dtype
    p = np.asarray(p, float)
    assert np.abs(G @ p + b).max() <= tolerance * np.linalg.norm(G, 2) * np.linalg.norm(v)
    # What was taken away is orthogonal, in the metric, to all velocities that obey the law.
    metric = np.eye(N)
    if W:
        metric = np.diag(1 / W[0]) if W[0].ndim == 1 else np.linalg.inv(W[0])
    tangent = np.linalg.svd(G)[2][M_ROWS:]
    assert np.abs(tangent @ metric @ (v - p)).max() <= 10 * tolerance


@every_method
@every_metric
def test_derivatives(method, kind):
    x, h = problem(kind), 1e-5
    d = direction(x)
    ours = jax.device_get(derivatives_of(method)(x, d))
    above, below = (derivatives_of(method)(moved(x, d, s), d) for s in (h, -h))

    def difference(name):
        return jax.tree.map(lambda a, b: (a - b) / (2 * h), above[name], below[name])

    close(ours["p_dot"], difference("p"), 1e-8)
    close(dot(ours["gradient"], d), difference("loss"), 1e-8)
    close(ours["forward"], difference("gradient"), 1e-8)
    close(ours["reverse"], difference("gradient"), 1e-8)
    for name, expected in plain_derivatives(x, d).items():
        close(ours[name], expected, 1e-11)


@every_method
def test_batches(method):
    def loss(*x):
        return jnp.sum(jnp.sin(project(*x, method=method)))

    singles = [problem("matrix", seed) for seed in range(3)]
    batch = on_device(np.stack(a) for a in zip(*singles, strict=True))
    value_and_gradient = jax.value_and_grad(loss, argnums=(0, 1, 2, 3))
    together = jax.jit(jax.vmap(value_and_gradient))(*batch)
    single = jax.jit(value_and_gradient)
    alone = [single(*on_device(x)) for x in singles]
    close(together, jax.tree.map(lambda *a: np.stack(a), *alone), 1e-12)


@every_method
def test_a_batch_of_velocities_with_one_jacobian(method):
    G, _, b = on_device(problem("none"))
    velocities = jnp.asarray(np.random.default_rng(2).normal(size=(4, N)))
    together = jax.jit(jax.vmap(partial(project, method=method), in_axes=(None, 0, None)))
    alone = [projector(method)(G, v, b) for v in velocities]
    close(together(G, velocities, b), np.stack(alone), 1e-13)


def primitives(function, *x):
    """Names of the primitives that a function traces to, those of inner programs included."""

    def walk(jaxpr):
        for equation in jaxpr.eqns:
            yield equation.primitive.name
            for parameter in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns")
            ):
                inner = getattr(parameter, "jaxpr", parameter)
                if hasattr(inner, "eqns"):
                    yield from walk(inner)

    return list(walk(jax.make_jaxpr(function)(*x).jaxpr))


@pytest.mark.parametrize(
    ("method", "factorisation"), [("cholesky", "cholesky"), ("qr", "qr"), ("truncated", "svd")]
)
def test_one_factorisation_serves_value_and_gradient(method, factorisation):
    def loss(*x):
        return jnp.sum(project(*x, method=method) ** 2)

    x = on_device(problem("none", m=5, n=7))  # fewer rows are written out
    found = primitives(jax.value_and_grad(loss, argnums=(0, 1, 2)), *x)
    assert found.count(factorisation) == 1


@pytest.mark.parametrize("m", [2, 4, 5])
def test_few_rows_are_factored_without_lapack(m):
    def loss(*x):
        return jnp.sum(project(*x) ** 2)

    x = on_device(problem("diagonal", m=m, n=7))
    gradient = jax.value_and_grad(loss, argnums=(0, 1, 2, 3))
    found = primitives(gradient, *x)
    if m < 5:
        assert not {"cholesky", "triangular_solve"} & set(found)
        assert found.count("sqrt") == m  # one factor for the value and the gradient
    expected = jax.value_and_grad(lambda *x: jnp.sum(plain(*x) ** 2), argnums=(0, 1, 2, 3))
    for ours, theirs in zip(
        jax.tree.leaves(jax.jit(gradient)(*x)), jax.tree.leaves(jax.jit(expected)(*x)), strict=True
    ):
        close(ours, theirs, 1e-13)


def test_a_gram_matrix_that_is_not_positive_definite_has_no_factor():
    for S in ([[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]):
        assert jnp.isnan(triangle.cholesky(jnp.array(S))).any()


@pytest.mark.parametrize("method", ["cholesky", "qr"])
@every_metric
def test_one_row_is_a_division(method, kind):
    x = on_device(problem(kind, m=1))
    found = primitives(jax.value_and_grad(lambda *x: jnp.sum(project(*x, method=method))), *x)
    assert "div" in found
    assert not {"cholesky", "qr", "svd", "triangular_solve", "lu"} & set(found)
    close(projector(method)(*x), jax.jit(plain)(*x), 1e-14)


def test_constant_jacobian_is_factored_before_the_program_runs():
    A, v, _ = problem("none")
    law = Linear(A)

    def velocity(u):
        return project(jacobian(law, u, Instant(0.0)), jnp.sin(u))

    assert "cholesky" not in primitives(jax.value_and_grad(lambda u: jnp.sum(velocity(u))), v)
    expected = projector("cholesky")(*on_device((A, np.sin(v), np.zeros(M_ROWS))))
    close(jax.jit(velocity)(v), expected, 1e-13)


@every_method
def test_minimum_norm(method):
    G, _, b, W = problem("matrix")
    x = jax.jit(lambda G, b, W: minimum_norm(DenseJacobian(G), b, W, method, N))(G, b, W)
    close(x, W @ G.T @ np.linalg.solve(G @ W @ G.T, b), 1e-12)


@pytest.mark.parametrize("metric", ["none", "matrix"])
def test_a_batch_of_qr_factors_does_not_wait_for_itself(metric):
    # Two batched LAPACK calls at once take both threads of a machine with two cores, and both wait for a third.
    code = (
        "import jax, numpy as np\n"
        "from pnde.engines.jax.projection import project\n"
        "rng = np.random.default_rng(1)\n"
        "G, v = rng.normal(size=(64, 64, 128)), rng.normal(size=(64, 128))\n"
        f"W = np.eye(128) + 0.1 if {metric == 'matrix'} else None\n"
        "with jax.enable_x64(True):\n"
        "    run = jax.jit(jax.vmap(lambda G, v: project(G, v, W=W, method='qr')))\n"
        "    for _ in range(20):\n"
        "        p = jax.block_until_ready(run(G, v))\n"
        "assert abs(np.einsum('bmn,bn->bm', G, p)).max() < 1e-10\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
