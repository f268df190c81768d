"""Laws: their rows, names, targets and Jacobians, and what is said about unusable ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.engines import get
from pnde.engines.jax.laws import drift, inverse_metric, jacobian, value
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.errors import ConstraintError
from pnde.laws import (
    Conserved,
    Constraint,
    Holonomic,
    Instant,
    Linear,
    Pinned,
    Stacked,
    as_constraint,
)
from pnde.systems import lotka_volterra, quartic

pytestmark = pytest.mark.usefixtures("strict")

STATES = ("x", "y", "vx", "vy")
U = np.array([0.3, -1.2, 0.7, 0.4])


def radius(u):
    return u[0] ** 2 + u[1] ** 2


def products(u):
    return [u[0] * u[2], u[1] * u[3]]


def moving(u, t):
    return radius(u) - (1 + 0.1 * jnp.sin(3 * t)) ** 2


def rows(law, u=U, t=0.0):
    """h(u, t), as the engine computes it."""
    return np.asarray(
        jax.jit(lambda u, t: value(law, u, Instant(t)))(jnp.asarray(u), jnp.asarray(t))
    )


def differences(law, u=U, t=0.0, h=1e-6):
    """∂h/∂u by central differences."""
    steps = h * np.eye(len(u))
    return np.stack([(rows(law, u + s, t) - rows(law, u - s, t)) / (2 * h) for s in steps], axis=1)


def dense(law, u=U, t=0.0):
    """G as the engine sees it, from its action."""
    G = jax.jit(lambda u: jax.vmap(jacobian(law, u, Instant(t)).apply)(jnp.eye(len(U))).T)
    return np.asarray(G(jnp.asarray(u)))


# Values and names


@pytest.mark.parametrize("form", [tuple, jnp.stack])
def test_rows_as_a_sequence_or_an_array(form):
    law = Conserved(lambda u: form([u[0] * u[2], u[1] * u[3]]))
    np.testing.assert_allclose(rows(law), [0.21, -0.48], rtol=1e-15)
    np.testing.assert_allclose(dense(law), differences(law), atol=1e-9)


def test_a_single_number_is_one_row():
    assert rows(Conserved(radius)).shape == (1,)
    assert rows(Conserved(lambda u: 2.0)).shape == (1,)


def test_rows_keep_single_precision():
    law = Conserved(products) & Linear(np.ones((1, 4)))
    moves = Constraint(moving, time_dependent=True)

    def everything(u):
        return (
            value(law, u, Instant(0.0)),
            jacobian(law, u, Instant(0.0)).matrix,
            drift(moves, u, Instant(0.5)),
        )

    shapes = jax.eval_shape(everything, jnp.asarray(U, "float32"))
    assert [shape.dtype for shape in shapes] == ["float32"] * 3


def test_names_of_rows():
    assert Conserved(radius).row_names(1) == ("radius",)
    assert Conserved(products).row_names(2) == ("products[0]", "products[1]")
    assert Conserved(products, names=("a", "b")).row_names(2) == ("a", "b")
    with pytest.raises(ConstraintError, match="'products' has 2 rows but 3 names"):
        Conserved(products, names=("a", "b", "c")).row_names(2)


def test_targets():
    h0 = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(Conserved(products).targets(h0), h0)
    np.testing.assert_array_equal(Constraint(products, target=5).targets(h0), np.full((2, 2), 5.0))
    mixed = Constraint(products, target=[np.nan, 7.0]).targets(h0)
    np.testing.assert_array_equal(mixed, [[1, 7], [3, 7]])
    with pytest.raises(ConstraintError, match="2 rows but 3 targets"):
        Constraint(products, target=[1, 2, 3]).targets(h0)


def test_unusable_arguments():
    with pytest.raises(ConstraintError, match="a function of the state, not int"):
        Constraint(3)
    with pytest.raises(ConstraintError, match="not 'final'"):
        Constraint(radius, target="final")
    with pytest.raises(ConstraintError, match="not finite"):
        Linear([[1.0, np.nan]])


def test_a_plain_function_is_conserved():
    law = as_constraint(radius)
    assert isinstance(law, Conserved)
    assert law.label == "radius"
    assert as_constraint(None) is None
    assert isinstance(as_constraint(lambda u, scale=2.0: scale * u[0]), Conserved)
    of_time = as_constraint(moving)
    assert isinstance(of_time, Conserved) and of_time.takes == {"t"}
    with pytest.raises(ConstraintError, match="not str"):
        as_constraint("energy")


# Binding to the states of data


def test_law_for_other_states_names_the_nearest():
    law = Conserved(radius, states=STATES)
    assert law.bind(STATES) is law
    with pytest.raises(ConstraintError, match=r"state 'Vx' \(did you mean 'vx'\?\)"):
        law.bind(("x", "y", "Vx", "vy"))
    with pytest.raises(ConstraintError, match="order the states of the data as x, y, vx, vy"):
        law.bind(("vx", "vy", "x", "y"))
    with pytest.raises(ConstraintError, match="x, y, vx, vy"):
        (Conserved(products) & law).bind(("x", "y"))


def test_pinned():
    law = Pinned(("vy", "x"), (0.5, -1.0)).bind(STATES)
    np.testing.assert_array_equal(rows(law), U[[3, 0]])
    np.testing.assert_array_equal(law.targets(rows(law)), [0.5, -1.0])
    assert law.row_names(2) == ("vy", "x")
    start = Pinned("y").bind(STATES)
    np.testing.assert_array_equal(start.targets(rows(start)), U[[1]])
    with pytest.raises(ConstraintError, match=r"'xx' is not in the data \(did you mean 'x'\?\)"):
        Pinned(("xx",)).bind(STATES)
    with pytest.raises(ConstraintError, match="bind"):
        rows(Pinned("x"))


def test_linear():
    A = np.array([[1.0, 2, 0, 0], [0, 0, 1, -1]])
    law = Linear(A, [3.0, 0.0]).bind(STATES)
    np.testing.assert_allclose(rows(law), A @ U, rtol=1e-15)
    np.testing.assert_array_equal(dense(law), A)
    np.testing.assert_array_equal(law.targets(rows(law)), [3.0, 0.0])
    with pytest.raises(ConstraintError, match="4 columns but the data have 2 states"):
        Linear(A).bind(("x", "y"))


# Stacks


def test_stack():
    law = Conserved(products) & Linear(np.eye(4)[:1], 2.0) & Constraint(moving, time_dependent=True)
    assert isinstance(law, Stacked)
    assert len(law.parts) == 3
    bound = law.bind(STATES)
    t = 0.4
    expected = [U[0] * U[2], U[1] * U[3], U[0], moving(U, t)]
    np.testing.assert_allclose(rows(bound, t=t), expected, rtol=1e-14)
    np.testing.assert_allclose(dense(bound, t=t), differences(bound, t=t), atol=1e-9)
    assert bound.row_names(4) == ("products[0]", "products[1]", "linear", "moving")
    np.testing.assert_array_equal(bound.targets(np.ones((3, 4))), np.tile([1, 1, 2, 1], (3, 1)))
    assert bound.takes == {"t"}
    rate = jax.jit(lambda u: drift(bound, u, Instant(t)))(jnp.asarray(U))
    np.testing.assert_allclose(rate, [0, 0, 0, -0.6 * (1 + 0.1 * np.sin(1.2)) * np.cos(1.2)])


def test_stack_uses_the_jacobians_of_its_parts():
    def wrong(u):
        return jnp.full((1, 4), 9.0)

    law = Conserved(radius, jacobian=wrong) & Linear(np.eye(4)[:1])
    np.testing.assert_array_equal(dense(law), [[9, 9, 9, 9], [1, 0, 0, 0]])


def test_stack_is_defined_where_all_parts_are():
    law = Conserved(radius, domain=lambda u: u[0] > 0) & Conserved(
        products, domain=lambda u: u[1] < 0
    )
    flipped = U * [[1, 1, 1, 1], [-1, 1, 1, 1], [1, -1, 1, 1]]
    h = get("jax").law(law, flipped, Instant(np.zeros(3)))
    np.testing.assert_array_equal(np.isfinite(h).all(axis=1), [True, False, False])


# Position constraints


def rods(q):
    return [q[0] ** 2 + q[1] ** 2, jnp.sin(q[0]) * q[1]]


def test_holonomic_adds_the_velocity_rows():
    law = Holonomic(rods, names=("rod", "wave"))
    q, v, h = U[:2], U[2:], 1e-6
    ahead, behind = (np.array([float(r) for r in rods(q + s * v)]) for s in (h, -h))
    np.testing.assert_allclose(rows(law)[:2], [float(r) for r in rods(q)], rtol=1e-14)
    np.testing.assert_allclose(rows(law)[2:], (ahead - behind) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(dense(law), differences(law), atol=1e-9)
    assert law.row_names(4) == ("rod", "wave", "d/dt rod", "d/dt wave")


@pytest.mark.parametrize(
    ("target", "positions"), [(0.0, [0, 0]), ([1, 2], [1, 2]), ("initial", [5, 6])]
)
def test_holonomic_velocities_are_always_tangent(target, positions):
    law = Holonomic(rods, target=target)
    np.testing.assert_array_equal(law.targets(np.array([[5.0, 6, 7, 8]])), [[*positions, 0, 0]])


# On the engine


@pytest.mark.parametrize("system", [quartic(), lotka_volterra()])
def test_jacobian_of_a_system_is_the_derivative_of_its_law(system):
    u = np.random.default_rng(5).uniform(0.5, 2, len(system.states))
    law = system.constraint
    assert law.jacobian is not None
    own = law.jacobian_value(u, 0.0)
    exact = jax.jit(jax.jacfwd(lambda u: value(law, u, Instant(0.0))))(jnp.asarray(u))
    np.testing.assert_allclose(own, exact, rtol=1e-13)
    np.testing.assert_allclose(own, differences(law, u), atol=1e-8)


def test_drift_is_the_derivative_in_time():
    law, h = Constraint(moving, time_dependent=True), 1e-6
    expected = (rows(law, t=0.4 + h) - rows(law, t=0.4 - h)) / (2 * h)
    np.testing.assert_allclose(drift(law, jnp.asarray(U), Instant(0.4)), expected, atol=1e-9)
    assert drift(Conserved(radius), jnp.asarray(U), Instant(0.4)) is None


def test_law_is_not_a_number_outside_its_domain():
    h = get("jax").law(
        lotka_volterra().constraint, np.array([[1.0, 2.0], [-1.0, 2.0]]), Instant(np.zeros(2))
    )
    np.testing.assert_array_equal(np.isfinite(h[:, 0]), [True, False])


def numpy_rows(u):
    return np.hypot(u[0], u[1])


def branching(u):
    return u[0] if u[1] > 0 else u[2]


def converting(u):
    return float(u[0])


@pytest.mark.parametrize(
    ("h", "message"),
    [
        (numpy_rows, "'numpy_rows' calls a NumPy function.*jax.numpy"),
        (branching, "'branching' branches on the state.*jax.numpy.where"),
        (converting, "'converting' branches on the state"),
    ],
)
def test_a_law_that_jax_cannot_trace_is_told_so(h, message):
    with pytest.raises(ConstraintError, match=message):
        get("jax").law(Conserved(h), U[None], Instant(np.zeros(1)))
    with pytest.raises(ConstraintError, match="'radius'" + message[message.index(" ") :]):
        dense(Conserved(radius, jacobian=h))


def test_jacobian_of_the_wrong_shape_is_told_so():
    with pytest.raises(ConstraintError, match=r"'radius' has shape \(4,\) instead of \(1, 4\)"):
        dense(Conserved(radius, jacobian=lambda u: 2 * u))


def test_inverse_metric():
    weights = np.array([1.0, 2.0, 4.0, 8.0])
    M = np.diag(weights) + 0.5
    u = jnp.asarray(U)
    assert inverse_metric(None, u) is None
    np.testing.assert_allclose(inverse_metric(weights, u), 1 / weights)
    np.testing.assert_allclose(inverse_metric(M, u), np.linalg.inv(M), atol=1e-14)
    varying = inverse_metric(lambda u: jnp.diag(1 + u**2), u)
    np.testing.assert_allclose(varying, np.diag(1 / (1 + U**2)), atol=1e-14)
    np.testing.assert_allclose(inverse_metric(lambda u: 1 + u**2, u), 1 / (1 + U**2), rtol=1e-14)


def test_a_constant_matrix_is_a_dense_jacobian():
    assert isinstance(jacobian(Linear(np.eye(4)), jnp.asarray(U), Instant(0.0)), DenseJacobian)
