"""The projection: values, all derivatives, the cost of the factor, and Jacobians that are hard to factor."""

import subprocess
import sys
import warnings
from fractions import Fraction
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pnde.engines.jax.laws import jacobian
from pnde.engines.jax.projection import (
    check_rows,
    condition,
    factorise,
    minimum_norm,
    project,
)
from pnde.engines.jax.structure import DenseJacobian, Truncated
from pnde.errors import ConstraintError, IllConditionedWarning
from pnde.laws import Linear

pytestmark = pytest.mark.usefixtures("strict")

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

    found = primitives(jax.value_and_grad(loss, argnums=(0, 1, 2)), *on_device(problem("none")))
    assert found.count(factorisation) == 1


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
        return project(jacobian(law, u, 0.0), jnp.sin(u))

    assert "cholesky" not in primitives(jax.value_and_grad(lambda u: jnp.sum(velocity(u))), v)
    expected = projector("cholesky")(*on_device((A, np.sin(v), np.zeros(M_ROWS))))
    close(jax.jit(velocity)(v), expected, 1e-13)


@every_method
def test_minimum_norm(method):
    G, _, b, W = problem("matrix")
    x = jax.jit(lambda G, b, W: minimum_norm(DenseJacobian(G), b, W, method, N))(G, b, W)
    close(x, W @ G.T @ np.linalg.solve(G @ W @ G.T, b), 1e-12)


# Jacobians that are hard to factor


def exact(G, v, b):
    """The Euclidean projection in rational arithmetic, of independent rows."""
    G = [[Fraction(float(g)) for g in row] for row in G]
    v, b = [Fraction(float(a)) for a in v], [Fraction(float(a)) for a in b]
    rows = [
        [sum(a * c for a, c in zip(g, other, strict=True)) for other in G]
        + [sum(a * c for a, c in zip(g, v, strict=True)) + b[i]]
        for i, g in enumerate(G)
    ]
    for i, pivot in enumerate(rows):
        pivot[:] = [a / pivot[i] for a in pivot]
        for other in rows:
            if other is not pivot:
                other[:] = [a - other[i] * c for a, c in zip(other, pivot, strict=True)]
    lam = [row[-1] for row in rows]
    return np.array(
        [float(v[j] - sum(x * g[j] for x, g in zip(lam, G, strict=True))) for j in range(len(v))]
    )


def hard(case):
    """G, v, b, and the projection."""
    G, v, b = problem("none", seed=4)
    if case == "repeated row":
        return G[[0, 1, 0]], v, b[[0, 1, 0]], exact(G[:2], v, b[:2])
    if case == "scaled repeated row":
        D = np.array([1, 1, -3.7e5])
        return D[:, None] * G[[0, 1, 0]], v, D * b[[0, 1, 0]], exact(G[:2], v, b[:2])
    if case == "zero row":
        return G * [[1], [0], [1]], v, b * [1, 0, 1], exact(G[[0, 2]], v, b[[0, 2]])
    left, _, right = np.linalg.svd(G, full_matrices=False)
    G = left @ np.diag([1, 1e-3, 1e-6]) @ right  # κ = 1e6
    b = G @ v[::-1]
    return G, v, b, exact(G, v, b)


DEPENDENT = ("repeated row", "scaled repeated row", "zero row")


@pytest.mark.parametrize(
    ("case", "method"), [*((case, "truncated") for case in DEPENDENT), ("ill", "qr")]
)
def test_the_method_made_for_it_is_right(case, method):
    G, v, b, p = hard(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = project(*on_device((G, v, b)), method=method)
    tolerance = 1e-9 if case == "ill" else 1e-13
    close(ours, p, tolerance)
    assert np.abs(G @ ours + b).max() <= 1e-12 * np.linalg.norm(G, 2)


@pytest.mark.parametrize("case", DEPENDENT)
@pytest.mark.parametrize("method", ["cholesky", "qr"])
def test_dependent_rows_are_refused_with_the_remedy(case, method):
    G, v, b, _ = hard(case)
    with pytest.raises(ConstraintError, match=r"rows of the law are dependent.*\"truncated\""):
        project(*on_device((G, v, b)), method=method)
    # Where nothing can be raised, `condition` tells.
    assert rcond(method)(G) < 1e-15


@pytest.mark.parametrize("method", ["cholesky", "qr"])
def test_dependent_rows_are_found_among_many(method):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        G = rng.normal(size=(20, 30))
        check_rows(rcond(method)(G), method)
        G[-1] = rng.normal(size=19) @ G[:-1]
        with pytest.raises(ConstraintError, match="rows of the law are dependent"):
            check_rows(rcond(method)(G), method)


def test_ill_conditioned_rows_bring_a_warning_from_cholesky():
    G, v, b, p = hard("ill")
    with pytest.warns(
        IllConditionedWarning, match=r'nearly dependent.*use projection.method = "qr"'
    ):
        ours = project(*on_device((G, v, b)), method="cholesky")
    assert np.abs(ours - p).max() > 1e-9  # the warning is deserved
    with pytest.warns(IllConditionedWarning, match="float64"):
        check_rows(rcond("qr")(G.astype("float32")), "qr")


def test_rows_of_very_different_size_are_harmless():
    G, v, b = problem("none")
    D = np.array([1e-8, 1.0, 1e9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_rows(rcond("cholesky")(D[:, None] * G), "cholesky")
    p = projector("cholesky")(*on_device((D[:, None] * G, v, D * b)))
    close(p, exact(G, v, b), 1e-13)


def test_derivatives_at_dependent_rows_are_those_of_the_independent_ones():
    repeat = np.array([0, 1, 0, 2, 1])
    x = problem("matrix")
    d = direction(x)

    def repeated(G, v, b, W):
        return project(G[repeat], v, b[repeat], W, method="truncated")

    close(derivatives(repeated)(x, d), plain_derivatives(x, d), 1e-11)


def test_truncated_rank_is_counted_in_the_precision_at_hand():
    nearly = np.array([[1, 0, 0], [1, 1e-9, 0]])
    inverse = jax.jit(lambda G: Truncated.of(G, None).inverse)
    for dtype, rank in (("float64", 2), ("float32", 1)):
        assert np.count_nonzero(inverse(nearly.astype(dtype))) == rank


# Properties

numbers = st.floats(-1, 1, allow_subnormal=False)
SCALES = st.floats(1e-6, 1e6)


@st.composite
def projections(draw):
    """G of moderate condition, two velocities, an offset, a metric and its inverse."""
    G = draw(arrays(float, (M_ROWS, N), elements=numbers))
    B = draw(arrays(float, (N, N), elements=numbers))
    v, w = (10 * draw(arrays(float, N, elements=numbers)) for _ in range(2))
    b = draw(arrays(float, M_ROWS, elements=numbers))
    sigma = np.linalg.svd(G, compute_uv=False)
    assume(sigma[-1] > 1e-3 * sigma[0] and sigma[0] > 1e-3)
    W = B @ B.T + 0.1 * np.eye(N)
    return G, v, w, b, W, np.linalg.inv(W)


def apply(method, *x):
    return np.asarray(projector(method)(*on_device(x)))


def holds(error, *sizes):
    """Rounding, of a condition up to some 1e7, of quantities of these sizes."""
    assert np.abs(error).max() <= 1e-8 * max(1.0, *(np.abs(size).max() for size in sizes))


properties = settings(max_examples=40, deadline=None, derandomize=True)


@every_method
@properties
@given(x=projections())
def test_property_obeys_the_law(method, x):
    G, v, _, b, W, _ = x
    p = apply(method, G, v, b, W)
    holds(G @ p + b, v, p)


@every_method
@properties
@given(x=projections())
def test_property_idempotent(method, x):
    G, v, _, b, W, _ = x
    p = apply(method, G, v, b, W)
    holds(apply(method, G, p, b, W) - p, v, p)


@every_method
@properties
@given(x=projections())
def test_property_non_expansive(method, x):
    G, v, _, b, W, M = x
    p = apply(method, G, v, 0 * b, W)
    assert p @ M @ p <= v @ M @ v * (1 + 1e-8) + 1e-12


@every_method
@properties
@given(x=projections())
def test_property_self_adjoint(method, x):
    G, v, w, b, W, M = x
    left = apply(method, G, v, 0 * b, W) @ M @ w
    right = v @ M @ apply(method, G, w, 0 * b, W)
    holds(left - right, v @ M @ v, w @ M @ w)


@every_method
@properties
@given(x=projections(), D=arrays(float, M_ROWS, elements=SCALES))
def test_property_independent_of_row_scaling(method, x, D):
    G, v, _, b, W, _ = x
    p = apply(method, G, v, b, W)
    holds(apply(method, D[:, None] * G, v, D * b, W) - p, v, p)


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
