"""The vector fields of NDE, SNDE and PNDE (paper, Eq. 1, 8 and 16)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.engines.jax.laws import drift, inverse_metric, jacobian, value
from pnde.engines.jax.order import after
from pnde.engines.jax.projection import condition, factorise, minimum_norm, project
from pnde.laws import Constraint, Instant
from pnde.laws.signature import arguments_of
from pnde.models import Model, Weights

Parameters = list[tuple[Array, Array]]
"""Weight `(inputs, outputs)` and bias `(outputs,)` of each layer."""


@jax.custom_jvp
def _gelu(z: Array) -> Array:
    """x Φ(x) in the tanh form, as NNlib's."""
    return jax.nn.gelu(z)


@_gelu.defjvp
def _gelu_jvp(primals, tangents):
    # Only the slope is kept for the way back; JAX would keep each factor that it is made of.
    (z,), (z_dot,) = primals, tangents
    a, b = math.sqrt(2 / math.pi), 0.044715
    tanh = jnp.tanh(a * (z + b * z**3))
    slope = 0.5 * (1 + tanh) + 0.5 * a * z * (1 - tanh**2) * (1 + 3 * b * z**2)
    return 0.5 * z * (1 + tanh), slope * z_dot


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": _gelu,
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
}


def parameters(weights: Weights, dtype: Any) -> Parameters:
    """Weights as the engine holds them."""
    count = len(weights) // 2
    return [
        (
            jnp.asarray(weights[f"layers.{i}.weight"], dtype),
            jnp.asarray(weights[f"layers.{i}.bias"], dtype),
        )
        for i in range(count)
    ]


def weights(parameters: Parameters) -> Weights:
    """The inverse of `parameters`, on the host and in the parameters' precision."""
    out: Weights = {}
    for i, (weight, bias) in enumerate(jax.device_get(parameters)):
        out[f"layers.{i}.weight"], out[f"layers.{i}.bias"] = np.asarray(weight), np.asarray(bias)
    return out


def network(
    model: Model, parameters: Parameters, x: Float[Array, " inputs"]
) -> Float[Array, " outputs"]:
    """The multilayer perceptron."""
    settings = model.config.network
    activation = _ACTIVATIONS[settings.activation]

    def layer(x, weight, bias):
        return jnp.matmul(x, weight, precision=settings.matmul_precision) + bias

    for i, (weight, bias) in enumerate(parameters[:-1]):
        y = activation(layer(x, weight, bias))
        x = x + y if settings.skip and i > 0 else y
    return layer(x, *parameters[-1])


def ambient_velocity(
    model: Model, parameters: Parameters, at: Instant, u: Float[Array, " n"]
) -> Float[Array, " n"]:
    """The unconstrained f̄(u, w, p): the network sees normalised states, inputs and parameters, and gives physical
    velocities (Appendix F.3)."""
    x = (u - model.mean.astype(u.dtype)) / model.std.astype(u.dtype)
    half = u.shape[0] // 2
    if model.features == "angles":
        x = jnp.concatenate([jnp.sin(u[:half]), jnp.cos(u[:half]), x[half:]])
    if model.condition_mean is not None and model.condition_std is not None:
        conditions = jnp.concatenate([part for part in (at.w, at.p) if part is not None])
        conditions = conditions - model.condition_mean.astype(u.dtype)
        x = jnp.concatenate([x, conditions / model.condition_std.astype(u.dtype)])
    v = network(model, parameters, x)
    if model.speed is not None:
        v = v * model.speed.astype(u.dtype)
    if model.order == 2:
        v = jnp.concatenate([u[half:], v])
    if model.physics is None:
        return v
    known = arguments_of(model.physics, "the physics").call(model.physics, u, at)
    return v + (jnp.stack(known) if isinstance(known, tuple | list) else known)


def velocity(
    model: Model,
    parameters: Parameters,
    at: Instant,
    u: Float[Array, "*batch n"],
    c: Float[Array, "*batch m"],
) -> Float[Array, "*batch n"]:
    """u̇ of one state `(n,)` at an instant, or of a batch `(B, n)` at as many."""
    if u.ndim == 2:
        return jax.vmap(partial(velocity, model, parameters))(at, u, c)
    v = ambient_velocity(model, parameters, at, u)
    if model.config.method == "nde":
        return v
    constrain = _projected if model.config.method == "pnde" else _stabilised
    return constrain(model, at, after(v, u), v, c)


def condition_of(
    model: Model, at: Instant, u: Float[Array, " n"], method: str | None = None
) -> Float[Array, ""]:
    """The `projection.condition` of the factor with which the velocity at u is projected, or of another method's."""
    assert model.constraint is not None
    G, W = jacobian(model.constraint, u, at), inverse_metric(model.metric, u)
    return condition(factorise(G, W, method or model.config.projection.method))


def error_as(constraint: Constraint, metric: Any, method: str) -> str:
    """The method whose rounding errors a projection has: elimination along branches is like QR."""
    along_branches = getattr(constraint.structure, "saddle_point", None) is not None
    return "qr" if method == "cholesky" and along_branches and np.ndim(metric) < 2 else method


def _projected(model, at, u, v, c):
    """P f̄ - W GᵀS⁻¹ (∂h/∂t + (∂h/∂w) ẇ)"""
    G = jacobian(model.constraint, u, at)
    W = inverse_metric(model.metric, u)
    return project(G, v, drift(model.constraint, u, at), W, model.config.projection.method)


def _stabilised(model, at, u, v, c):
    """f̄ - γ G† (h - c), the stabilisation matrix of White et al. 2023"""
    G = jacobian(model.constraint, u, at)
    g = value(model.constraint, u, at) - c
    W = inverse_metric(model.metric, u)
    return v - model.config.gamma * minimum_norm(
        G, g, W, model.config.projection.method, u.shape[0]
    )
