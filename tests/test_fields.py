"""The vector fields of NDE, SNDE and PNDE."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.engines import get
from pnde.engines.jax import fields
from pnde.engines.jax.laws import drift, value
from pnde.engines.jax.numerics import numerics
from pnde.laws import Conserved, Constraint, Instant
from pnde.models import initial_weights

pytestmark = pytest.mark.usefixtures("strict")

N = 4
U = np.array([0.9, 0.4, -0.3, 0.8])
C = np.array([0.5, 0.9])


def moving(u, t):
    return [0.5 * (u[2] ** 2 + u[3] ** 2) + u[0] ** 4, u[0] * u[3] - u[1] * u[2] * jnp.cos(t)]


SYSTEM = SimpleNamespace(
    states=("x", "y", "vx", "vy"),
    order=1,
    constraint=Constraint(moving, time_dependent=True, target=C),
)
METRICS = {
    "none": None,
    "diagonal": np.array([1.0, 2.0, 4.0, 0.5]),
    "matrix": np.diag([1.0, 2, 4, 3]) + 0.5,
    "varying matrix": lambda u: jnp.diag(1 + u**2) + 0.3,
}


def weights_of(model):
    return fields.parameters(initial_weights(model, 3), float)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def perceptron(weights, x, activation, skip=False):
    for i in range(len(weights) // 2 - 1):
        y = activation(x @ weights[f"layers.{i}.weight"] + weights[f"layers.{i}.bias"])
        x = x + y if skip and i > 0 else y
    last = len(weights) // 2 - 1
    return x @ weights[f"layers.{last}.weight"] + weights[f"layers.{last}.bias"]


ACTIVATIONS = {
    "gelu": gelu,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "softplus": lambda x: np.log1p(np.exp(x)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("skip", [False, True])
def test_network_sees_normalised_states_and_gives_physical_velocities(make_model, activation, skip):
    settings = {"layers": 3, "activation": activation, "skip": skip}
    model = make_model(SYSTEM, "nde", network=settings)
    weights = initial_weights(model, 3)
    assert len(weights) == 8
    x = (U - model.mean) / model.std
    np.testing.assert_allclose(
        get("jax").velocity(model, weights, U[None], Instant(np.zeros(1)), C[None])[0],
        perceptron(weights, x, ACTIVATIONS[activation], skip),
        rtol=1e-13,
    )


def test_second_order_network_gives_accelerations(make_model):
    model = replace(make_model(SYSTEM, "nde"), order=2)
    weights = initial_weights(model, 3)
    x = (U - model.mean) / model.std
    expected = [*U[2:], *perceptron(weights, x, gelu)]
    velocity = jax.jit(partial(fields.velocity, model, fields.parameters(weights, float)))
    np.testing.assert_allclose(
        velocity(Instant(0.0), jnp.asarray(U), jnp.zeros(0)), expected, rtol=1e-13
    )


def test_angles_are_seen_as_sine_and_cosine(make_model):
    model = replace(make_model(SYSTEM, "nde"), order=2, features="angles")
    weights = initial_weights(model, 3)
    assert weights["layers.0.weight"].shape == (6, 4)
    x = [*np.sin(U[:2]), *np.cos(U[:2]), *((U - model.mean) / model.std)[2:]]
    expected = [*U[2:], *perceptron(weights, np.array(x), gelu)]
    velocity = jax.jit(
        partial(fields.velocity, model, fields.parameters(weights, float), Instant(0.0))
    )
    np.testing.assert_allclose(velocity(jnp.asarray(U), jnp.zeros(0)), expected, rtol=1e-13)
    turned = velocity(jnp.asarray([U[0] + 2 * np.pi, *U[1:]]), jnp.zeros(0))
    np.testing.assert_allclose(turned, expected, rtol=1e-12)


def test_known_physics_is_added(make_model):
    model = make_model(
        SYSTEM, "nde", physics=lambda u: jnp.stack([u[1], -u[0], u[3] ** 2, 0 * u[0]])
    )
    plain = replace(model, physics=None)
    arguments = (
        initial_weights(model, 3),
        np.stack([U, 2 * U]),
        Instant(np.zeros(2)),
        np.stack([C, C]),
    )
    difference = get("jax").velocity(model, *arguments) - get("jax").velocity(plain, *arguments)
    expected = [[u[1], -u[0], u[3] ** 2, 0] for u in (U, 2 * U)]
    np.testing.assert_allclose(difference, expected, atol=1e-14)


@pytest.mark.parametrize("method", ["nde", "snde", "pnde"])
def test_batch_and_single_states_agree(make_model, method):
    model = make_model(SYSTEM, method)
    velocity = jax.jit(partial(fields.velocity, model, weights_of(model)))
    t, u = jnp.asarray([0.0, 0.7]), jnp.asarray(np.stack([U, 1.3 * U]))
    c = jnp.asarray(np.stack([C, 2 * C]))
    alone = [velocity(Instant(s), v, d) for s, v, d in zip(t, u, c, strict=True)]
    np.testing.assert_allclose(velocity(Instant(t), u, c), np.stack(alone), rtol=1e-13)


def plain_projection(model, parameters, t, u):
    """P f̄(u) - W GᵀS⁻¹ ∂h/∂t by dense algebra, for JAX to differentiate."""
    h = lambda u, t: value(model.constraint, u, Instant(t))  # noqa: E731
    G, rate = jax.jacfwd(h)(u, t), jax.jvp(lambda t: h(u, t), (t,), (jnp.ones_like(t),))[1]
    M = model.metric(u) if callable(model.metric) else model.metric
    M = jnp.eye(N) if M is None else jnp.diag(jnp.asarray(M)) if M.ndim == 1 else jnp.asarray(M)
    W = jnp.linalg.inv(M)
    v = fields.ambient_velocity(model, parameters, Instant(t), u)
    return v - W @ G.T @ jnp.linalg.solve(G @ W @ G.T, G @ v + rate)


@pytest.mark.parametrize("metric", METRICS)
def test_projected_field_and_its_derivative_in_the_state(make_model, metric):
    model = make_model(SYSTEM, "pnde", metric=METRICS[metric])
    parameters, t, h = weights_of(model), jnp.asarray(0.4), 1e-5

    def field(u):
        return fields.velocity(model, parameters, Instant(t), u, jnp.asarray(C))

    @jax.jit
    def everything(u):
        return field(u), jax.jacrev(field)(u), jax.jacfwd(field)(u), jax.hessian(field)(u)

    @jax.jit
    def law(u):
        return jax.jacfwd(lambda u: value(model.constraint, u, Instant(t)))(u), drift(
            model.constraint, u, Instant(t)
        )

    u = jnp.asarray(U)
    p, reverse, forward, second = jax.device_get(everything(u))
    G, rate = jax.device_get(law(u))
    np.testing.assert_allclose(G @ p, -rate, atol=1e-13)
    steps = [
        jax.device_get(everything(jnp.asarray(U + s * h * e))) for e in np.eye(N) for s in (1, -1)
    ]
    for k, exact in ((0, forward), (1, second)):
        pairs = zip(steps[::2], steps[1::2], strict=True)
        differences = np.stack([(a[k] - b[k]) / (2 * h) for a, b in pairs], axis=-1)
        np.testing.assert_allclose(exact, differences, atol=1e-7)
    np.testing.assert_allclose(reverse, forward, atol=1e-12)
    plain = partial(plain_projection, model, parameters, t)
    expected, slope = jax.jit(lambda u: (plain(u), jax.jacfwd(plain)(u)))(u)
    np.testing.assert_allclose(p, expected, atol=1e-13)
    np.testing.assert_allclose(forward, slope, atol=1e-12)


def test_stabilised_field(make_model):
    """G (f - f̄) = -γ g, along the rows of G alone."""
    model = make_model(SYSTEM, "snde", gamma=7.0)
    parameters = weights_of(model)

    @jax.jit
    def everything(u, t, c):
        v = fields.velocity(model, parameters, Instant(t), u, c)
        h = lambda u, t: value(model.constraint, u, Instant(t))  # noqa: E731
        return (
            v - fields.ambient_velocity(model, parameters, Instant(t), u),
            jax.jacfwd(h)(u, t),
            h(u, t) - c,
        )

    added, G, g = jax.device_get(everything(*(jnp.asarray(x) for x in (U, 0.4, C))))
    np.testing.assert_allclose(G @ added, -7 * g, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(G)[2][2:] @ added, 0, atol=1e-13)


def test_stabilised_field_on_the_manifold_is_the_plain_one(make_model):
    model = make_model(SYSTEM, "snde", gamma=50.0)
    parameters = weights_of(model)

    @jax.jit
    def both(u, t):
        c = value(model.constraint, u, Instant(t))
        v = fields.velocity(model, parameters, Instant(t), u, c)
        return v, fields.ambient_velocity(model, parameters, Instant(t), u)

    np.testing.assert_array_equal(*both(jnp.asarray(U), jnp.asarray(0.4)))


def test_projection_leaves_a_field_that_obeys_the_law(make_model):
    """Rotation keeps the radius."""
    law = Conserved(lambda u: u[0] ** 2 + u[1] ** 2)
    rotation = make_model(
        SYSTEM, "pnde", constraint=law, physics=lambda u: jnp.stack([-u[1], u[0], u[2], u[3]])
    )
    still = [(0 * weight, 0 * bias) for weight, bias in weights_of(rotation)]
    velocity = jax.jit(partial(fields.velocity, rotation, still))
    v = velocity(Instant(0.0), jnp.asarray(U), jnp.zeros(1))
    np.testing.assert_allclose(v, [-U[1], U[0], U[2], U[3]], rtol=1e-15)


def test_only_the_networks_products_may_be_rounded(make_model):
    found = {}
    for precision in ("default", "highest"):
        model = make_model(SYSTEM, matmul_precision=precision)
        with numerics():
            field = partial(fields.velocity, model, weights_of(model), Instant(0.0))
            program = jax.jit(
                jax.grad(lambda u, field=field: field(u, jnp.asarray(C)).sum())
            ).lower(U)
        found[precision] = Counter(
            re.findall(r"dot_general.*precision = \[(\w+),", program.as_text())
        )
    # Two layers, forward and backward; everything else belongs to the law.
    assert found["default"]["DEFAULT"] == 4
    assert found["default"]["HIGHEST"] == found["highest"]["HIGHEST"] - 4 > 4


def test_engine_traces_laws_with_exact_products():
    seen = []

    def law(u):
        seen.append(jax.config.jax_default_matmul_precision)
        return [u @ u]

    get("jax").law(Constraint(law), np.ones((2, 3)), Instant(np.zeros(2)))
    assert seen and set(seen) == {"highest"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_to_the_engine_and_back(make_model, dtype):
    weights = initial_weights(make_model(SYSTEM), 3)
    back = fields.weights(fields.parameters(weights, dtype))
    assert back.keys() == weights.keys()
    for name, array in weights.items():
        assert back[name].dtype == dtype
        np.testing.assert_array_equal(back[name], array.astype(dtype))


def test_initial_weights(make_model):
    model = make_model(SYSTEM, width=200)
    weights = initial_weights(model, 3)
    shapes = {name: array.shape for name, array in weights.items()}
    assert shapes == {
        "layers.0.weight": (4, 200),
        "layers.0.bias": (200,),
        "layers.1.weight": (200, 4),
        "layers.1.bias": (4,),
    }
    np.testing.assert_allclose(weights["layers.1.weight"].var(), 1 / 200, rtol=0.15)
    assert np.abs(weights["layers.1.bias"]).max() <= 1 / np.sqrt(200)
    again, other = initial_weights(model, 3), initial_weights(model, 4)
    np.testing.assert_array_equal(weights["layers.0.weight"], again["layers.0.weight"])
    assert (weights["layers.0.weight"] != other["layers.0.weight"]).any()
