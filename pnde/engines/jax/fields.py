"""The vector fields of NDE, SNDE and PNDE (paper, Eq. 1, 8 and 16)."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.engines.jax import mechanics
from pnde.engines.jax.bounds import bounded_velocity
from pnde.engines.jax.gauss import project_acceleration, rates
from pnde.engines.jax.laws import drift, inverse_metric, jacobian, value
from pnde.engines.jax.networks import Parameters, network
from pnde.engines.jax.networks import parameters as parameters
from pnde.engines.jax.networks import weights as weights
from pnde.engines.jax.order import after
from pnde.engines.jax.projection import condition, factorise, minimum_norm, project
from pnde.engines.jax.skew_gradient import along_level_set
from pnde.engines.jax.structures.jacobian import weigh
from pnde.laws import Constraint, Instant
from pnde.laws.signature import arguments_of
from pnde.models import Mechanics, Model


def ambient_velocity(
    model: Model, parameters: Parameters, at: Instant, u: Float[Array, " n"]
) -> Float[Array, " n"]:
    """The unconstrained f̄(u, w, p): the network sees normalised states, inputs and parameters, and gives physical
    velocities (Appendix F.3)."""
    if isinstance(parameters, dict):
        force, inverse_masses = mechanics.acting(model, parameters, at, u)
        return jnp.concatenate([u[u.shape[0] // 2 :], weigh(inverse_masses, force)])
    x = (u - model.mean.astype(u.dtype)) / model.std.astype(u.dtype)
    half = u.shape[0] // 2
    if model.features == "angles":
        x = jnp.concatenate([jnp.sin(u[:half]), jnp.cos(u[:half]), x[half:]])
    if model.condition_mean is not None and model.condition_std is not None:
        conditions = jnp.concatenate([part for part in (at.w, at.p) if part is not None])
        conditions = conditions - model.condition_mean.astype(u.dtype)
        x = jnp.concatenate([x, conditions / model.condition_std.astype(u.dtype)])
    v = network(model, parameters, x)
    if model.config.network.form == "skew-gradient":
        v = along_level_set(model, v, at, u)
    elif model.speed is not None:
        v = v * model.speed.astype(u.dtype)
    if model.order == 2:
        v = jnp.concatenate([u[half:], v])
    if model.physics is None or isinstance(model.physics, Mechanics):
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
    if isinstance(parameters, dict) and model.config.method == "pnde":
        return _held(model, parameters, at, u)
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
    if model.mechanical and model.config.method == "pnde":
        G, W = rates(model.constraint, u, at), None
    else:
        G, W = jacobian(model.constraint, u, at), inverse_metric(model.metric, u)
    return condition(factorise(G, W, method or model.config.projection.method))


def error_as(constraint: Constraint, metric: Any, method: str) -> str:
    """The method whose rounding errors a projection has: elimination along branches is like QR."""
    along_branches = getattr(constraint.structure, "saddle_point", None) is not None
    return "qr" if method == "cholesky" and along_branches and np.ndim(metric) < 2 else method


def _held(model, parameters, at, u):
    """Accelerations by Gauss's principle, in the metric of the masses; velocities are those of the state."""
    force, inverse_masses = mechanics.acting(model, parameters, at, u)
    a = weigh(inverse_masses, force)
    u, method = after(a, u), model.config.projection.method
    a = project_acceleration(model.constraint, at, u, a, inverse_masses, method)
    return jnp.concatenate([u[u.shape[0] // 2 :], a])


def _projected(model, at, u, v, c):
    """P f̄ - W GᵀS⁻¹ (∂h/∂t + (∂h/∂w) ẇ), or what is nearest to it within bounds"""
    if model.bounds is not None:
        law, method = model.constraint, model.config.projection.method
        return bounded_velocity(law, model.bounds, model.metric, method, u, at, v)
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
