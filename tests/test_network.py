"""The structured Jacobian of a grid against the dense path."""

import dataclasses
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.engines import get
from pnde.engines.jax.laws import jacobian, value
from pnde.engines.jax.projection import condition, factorise, project
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.network import NetworkJacobian
from pnde.grids import complete, operation_point, read_grid
from pnde.grids.network import DENSE_BUSES
from pnde.grids.power import constant_power_jacobian
from pnde.grids.saddle_point import SaddlePoint
from pnde.laws import Instant, PowerBalance


def with_constant_currents():
    """The 14-bus grid, in which loads and two sources have constant-current parts too."""
    grid = read_grid("ieee14")
    current = np.zeros(14, complex)
    current[grid.loads] = 0.3 * np.linspace(-1.0, 1.0, 9) - 0.2j * np.linspace(1.0, -0.5, 9)
    current[[0, 7]] = [0.1 - 0.05j, -0.2]
    return dataclasses.replace(grid, buses=dataclasses.replace(grid.buses, current=current))


def along_branches(law):
    """The law with the way of a grid of many buses; two of them are left to the dense core."""
    law.structure.__dict__["saddle_point"] = SaddlePoint(law.structure, core=2)
    return law


CASES = {
    "ieee14": lambda: read_grid("ieee14"),
    "ieee118": lambda: read_grid(Path(__file__).parent / "grids/data/ieee118.m"),
    "constant currents": with_constant_currents,
    "along branches": with_constant_currents,
}


@pytest.fixture(autouse=True)
def strict():
    with (
        jax.enable_x64(True),
        jax.numpy_dtype_promotion("strict"),
        jax.numpy_rank_promotion("raise"),
    ):
        yield


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A law, a state off its manifold, a velocity, an offset."""
    grid = complete(CASES[request.param]())
    law, random = PowerBalance(grid), np.random.default_rng(0)
    if request.param == "along branches":
        law = along_branches(law)
    u = grid.state(operation_point(grid)) + 0.02 * random.normal(size=2 * grid.size)
    m = 2 * len(grid.loads) + 2 * len(grid.slack)
    return law, u, random.normal(size=u.size), random.normal(size=m)


@partial(jax.jit, static_argnames=("law", "method"))
def structured(law, u, v, b, method="cholesky", W=None):
    return project(jacobian(law, u, Instant(0.0)), v, b, W, method)


@partial(jax.jit, static_argnames=("law", "method"))
def dense(law, u, v, b, method="cholesky", W=None):
    return project(DenseJacobian(law.jacobian(u)), v, b, W, method)


def on_device(*arrays, dtype=None):
    return tuple(jnp.asarray(array, dtype) for array in arrays)


def test_rows_and_their_derivative(case):
    law, u, w, b = case
    grid, n = law.grid, law.grid.size
    power = grid.constant_power(grid.voltage(u))[grid.loads]
    slack = grid.voltage(u)[grid.slack]
    expected = np.concatenate([power.real, power.imag, slack.real, slack.imag])
    np.testing.assert_allclose(law.value(u, Instant(0.0)), expected, atol=1e-12)

    rows = np.concatenate([grid.loads, grid.loads + n])
    reference = constant_power_jacobian(grid, grid.voltage(u)).toarray()[rows]
    matrix = law.jacobian(u)
    np.testing.assert_allclose(matrix[: len(rows)], reference, atol=1e-12)
    np.testing.assert_array_equal(
        matrix[len(rows) :], np.eye(2 * n)[np.concatenate([grid.slack, grid.slack + n])]
    )
    follow = law.structure.load_matrix(u, law.structure.current(u))
    np.testing.assert_allclose(follow, reference[:, rows], atol=1e-12)
    G = jacobian(law, *on_device(u), Instant(0.0))
    assert isinstance(G, NetworkJacobian)
    np.testing.assert_allclose(G.apply(*on_device(w)), matrix @ w, atol=1e-11)
    np.testing.assert_allclose(G.transpose_apply(*on_device(b)), matrix.T @ b, atol=1e-11)
    free = np.setdiff1d(np.arange(2 * n), law.structure.pinned)
    gram = reference[:, free] @ reference[:, free].T
    np.testing.assert_allclose(G.load_gram(), gram, atol=1e-13 * np.abs(gram).max())


@pytest.mark.parametrize("method", ["cholesky", "qr", "truncated"])
def test_projection_agrees_with_the_dense_one(case, method):
    law, u, v, b = case
    u, v, b = on_device(u, v, b)
    np.testing.assert_allclose(
        structured(law, u, v, b, method), dense(law, u, v, b, method), atol=1e-12
    )

    @jax.jit
    def multiplier(u, b):
        factor = factorise(jacobian(law, u, Instant(0.0)), None, method)
        return factor.solve(b), condition(factor)

    solution, reciprocal = multiplier(u, b)
    G = law.jacobian(np.asarray(u))
    np.testing.assert_allclose(solution, np.linalg.solve(G @ G.T, b), atol=1e-11)
    assert 1e-3 < reciprocal <= 1


@pytest.mark.parametrize("shape", ["diagonal", "matrix"])
def test_projection_in_a_metric(case, shape):
    law, u, v, b = case
    W = np.random.default_rng(1).uniform(0.5, 2.0, len(u))
    if shape == "matrix":
        W = np.diag(W) + 0.01
    u, v, b, W = on_device(u, v, b, W)
    actual = structured(law, u, v, b, "cholesky", W)
    np.testing.assert_allclose(actual, dense(law, u, v, b, "cholesky", W), atol=1e-12)


@pytest.mark.parametrize("method", ["cholesky", "qr", "truncated"])
def test_the_slack_stands_still_to_the_last_bit(case, method):
    law, u, v, _ = case
    u, v = on_device(u, v, dtype=jnp.float32)
    p = structured(law, u, v, None, method)
    assert p.dtype == jnp.float32
    np.testing.assert_array_equal(p[law.structure.pinned], 0.0)


def test_first_and_second_derivatives(case):
    law, u, v, b = case
    u, v, b = on_device(u, v, b)
    way, other = on_device(*np.random.default_rng(2).normal(size=(2, len(u))))

    def derivatives(path):
        """Value, gradient in all arguments, and the second derivative along `way`."""

        def loss(u, v, b):
            return jnp.sum(jnp.sin(3.0 * path(law, u, v, b)))

        @jax.jit
        def all_of(u):
            second = jax.grad(lambda u: jax.grad(loss)(u, v, b) @ way)(u)
            return loss(u, v, b), jax.grad(loss, (0, 1, 2))(u, v, b), second

        return all_of

    mine, theirs = derivatives(structured), derivatives(dense)
    jax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, atol=1e-11 * float(1 + jnp.abs(y).max())),
        mine(u),
        theirs(u),
    )
    step = 1e-5
    up, down = mine(u + step * other), mine(u - step * other)
    _, (gradient, *_), second = mine(u)
    np.testing.assert_allclose(
        gradient @ other, (up[0] - down[0]) / (2 * step), rtol=1e-5, atol=1e-6
    )
    numeric = (up[1][0] - down[1][0]) @ way / (2 * step)
    np.testing.assert_allclose(second @ other, numeric, rtol=1e-5, atol=1e-4)


def test_forward_mode_and_batches(case):
    law, u, v, b = case
    u, v, b, du = on_device(u, v, b, np.random.default_rng(3).normal(size=len(u)))
    batch = (jnp.stack([u, u + 0.01]), jnp.stack([v, -v]), jnp.stack([b, b]))
    many = jax.jit(jax.vmap(lambda u, v, b: structured(law, u, v, b)))(*batch)
    for k in range(2):
        one = structured(law, *(x[k] for x in batch))
        np.testing.assert_allclose(many[k], one, atol=1e-12)
    tangents = [
        jax.jit(partial(jax.jvp, lambda u, path=path: path(law, u, v, b)))((u,), (du,))[1]
        for path in (structured, dense)
    ]
    np.testing.assert_allclose(*tangents, atol=1e-11)


def sizes(jaxpr):
    """The number of elements of every array in a program, nested ones and constants included."""
    found = {int(np.prod(np.shape(constant))) for constant in getattr(jaxpr, "consts", ())}
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    for equation in jaxpr.eqns:
        for variable in (*equation.invars, *equation.outvars):
            found.add(int(np.prod(getattr(variable.aval, "shape", ()))))
        for parameter in jax.tree.leaves(
            tuple(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            if hasattr(parameter, "eqns") or hasattr(parameter, "jaxpr"):
                found |= sizes(parameter)
    return found


def test_nothing_of_the_size_of_the_jacobian_is_formed(case):
    law, u, v, b = case
    m, n = len(b), len(u)

    def loss(u, v):
        return jnp.sum(project(jacobian(law, u, Instant(0.0)), v) ** 2) + jnp.sum(
            value(law, u, Instant(0.0))
        )

    program = jax.make_jaxpr(jax.value_and_grad(loss, (0, 1)))(*on_device(u, v))
    if law.grid.size > DENSE_BUSES:
        assert max(sizes(program)) < m * n
    dense_program = jax.make_jaxpr(lambda u, v, b: dense(law, u, v, b))(*on_device(u, v, b))
    assert max(sizes(dense_program)) >= m * n  # the check sees what it looks for


def test_the_engine_evaluates_the_law(case):
    law, u, _, _ = case
    values = get("jax").law(law, np.stack([u, u]), Instant(np.zeros(2)))
    np.testing.assert_allclose(values[1], law.value(u, Instant(0.0)), atol=1e-12)
    assert law.row_names(values.shape[1])[0] == f"P at {law.grid.bus_label(law.grid.loads[0])}"
