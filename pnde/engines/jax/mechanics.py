"""A mechanical system M q̈ = -∇V - A q̇ + F - c, of which a network gives V (Lutter et al. 2019; Finzi et al. 2020).

Masses M are positive constants, a constant matrix, or a function of q, which brings the Coriolis and centrifugal forces
c = Ṁ q̇ - ∂T/∂q. Dissipation is A = B (L Lᵀ + K - Kᵀ) Bᵀ, with B = 1 or a function of q: Bᵀq̇ are the rates, such as
those of hinges, against which constant elements work. Its symmetric part is positive semidefinite, so the energy T + V
never rises without forces. Forces are F = f(q) w, linear in the inputs w.

Networks see normalised positions, and parameters. What they give is in units in which forces of a usual size are 1,
see `pnde.models.scales`.

Beside its layers each network has a linear map from its inputs to its outputs, so that what is linear in the positions
(the weight of a chain, the rates of its hinges) need not be put together of curved units.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from pnde.engines.jax.networks import layers_of, network
from pnde.engines.jax.structures.jacobian import weigh
from pnde.engines.known_forces import evaluated, inertia, known_force
from pnde.laws import Instant
from pnde.models import Mechanics, Model, scales

Arrays = dict[str, Array]
Matrix = Float[Array, " half"] | Float[Array, "half half"]
"""A diagonal, or a matrix."""


def acting(
    model: Model, arrays: Arrays, at: Instant, u: Float[Array, " n"]
) -> tuple[Float[Array, " half"], Matrix]:
    """The sum of all forces, those of inertia included, and W = M⁻¹ `(n/2,)` or `(n/2, n/2)`.

    The free acceleration is W times the force.
    """
    half = u.shape[0] // 2
    q, v = u[:half], u[half:]
    force = -jax.grad(lambda q: _learned_potential(model, arrays, at, q))(q)
    if model.config.network.dissipation != "none":
        force = force - _dissipate(model, arrays, at, q, v)
    if model.inputs:
        force = force + _driving(model, arrays, at, q)
    if isinstance(model.physics, Mechanics):
        force = force + known_force(model.physics, at, u)
    if _known(model, "masses") is None and model.config.network.masses == "state":
        force = force + inertia(lambda q: masses(model, arrays, at, q), q, v)
    return force, _inverse_masses(model, arrays, at, q)


def potential(
    model: Model, arrays: Arrays, at: Instant, q: Float[Array, " half"]
) -> Float[Array, ""]:
    """V of the positions: what is learned, and what is known."""
    learned = _learned_potential(model, arrays, at, q)
    known = _known(model, "potential")
    return learned if known is None else learned + evaluated(known, "potential", q, at)


def masses(model: Model, arrays: Arrays, at: Instant, q: Float[Array, " half"]) -> Matrix:
    """M"""
    known = _known(model, "masses")
    if known is not None:
        return evaluated(known, "masses", q, at)
    factor = _mass_factor(model, arrays, at, q)
    return factor**2 if factor.ndim == 1 else factor @ factor.T


def dissipation(
    model: Model, arrays: Arrays, at: Instant, q: Float[Array, " half"]
) -> Float[Array, "half half"]:
    """A as a matrix: what is learned, and what is known."""
    A = jnp.zeros((q.shape[0], q.shape[0]), q.dtype)
    if model.config.network.dissipation != "none":
        columns = jax.vmap(lambda v: _dissipate(model, arrays, at, q, v))
        A = A + columns(jnp.eye(q.shape[0], dtype=q.dtype)).T
    known = _known(model, "dissipation")
    if known is not None:
        known = evaluated(known, "dissipation", q, at)
        A = A + (jnp.diag(known) if known.ndim == 1 else known)
    return A


def energy(
    model: Model, arrays: Arrays, at: Instant, u: Float[Array, " n"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Kinetic and potential energy of a state."""
    q, v = jnp.split(u, 2)
    momentum = weigh(masses(model, arrays, at, q), v)
    return 0.5 * v @ momentum, potential(model, arrays, at, q)


def _learned_potential(model: Model, arrays: Arrays, at: Instant, q: Array) -> Array:
    _, kappa, omega = scales(model)
    return kappa * omega**2 * _network(model, arrays, "potential", at, q)[0]


def _dissipate(model: Model, arrays: Arrays, at: Instant, q: Array, v: Array) -> Array:
    """A v"""
    spread, kappa, omega = scales(model)
    rate = v / spread.astype(v.dtype)
    frame = None
    if model.config.network.dissipation == "state":
        shape = (q.shape[0], q.shape[0])
        eye = jnp.eye(*shape, dtype=q.dtype)
        frame = eye + _network(model, arrays, "dissipation", at, q).reshape(shape)
        rate = frame.T @ rate
    L, K = arrays["dissipation.factor"], arrays["dissipation.skew"]
    force = L @ (L.T @ rate) + K @ rate - K.T @ rate
    force = force if frame is None else frame @ force
    return kappa * omega / len(spread) * force / spread.astype(v.dtype)


def _driving(model: Model, arrays: Arrays, at: Instant, q: Array) -> Array:
    spread, kappa, omega = scales(model)
    assert model.condition_std is not None
    w = at.w / model.condition_std[: len(model.inputs)].astype(q.dtype)
    per_input = _network(model, arrays, "forces", at, q).reshape(q.shape[0], -1)
    return kappa * omega**2 * (per_input @ w) / spread.astype(q.dtype)


def _mass_factor(model: Model, arrays: Arrays, at: Instant, q: Array) -> Array:
    """The lower triangle whose product with its transpose is M, or the root of its diagonal."""
    spread, kappa, _ = scales(model)
    units = np.sqrt(kappa) / spread
    if model.config.network.masses == "state":
        raw = _network(model, arrays, "masses", at, q).reshape(q.shape[0], -1)
    else:
        raw = arrays["masses"]
    logarithms = raw if raw.ndim == 1 else jnp.diagonal(raw)
    if model.config.network.masses != "state" and model.physics is None:
        # All masses and forces may be multiplied by one number, which no motion shows: their mean is settled here.
        logarithms = logarithms - jnp.mean(logarithms)
    roots = units.astype(q.dtype) * jnp.exp(0.5 * logarithms)
    if raw.ndim == 1:
        return roots
    return jnp.diag(roots) + units.astype(q.dtype)[:, None] * jnp.tril(raw, -1)


def _inverse_masses(model: Model, arrays: Arrays, at: Instant, q: Array) -> Array:
    known = _known(model, "masses")
    if known is not None:
        M = evaluated(known, "masses", q, at)
        return 1 / M if M.ndim == 1 else jnp.linalg.inv(M)
    factor = _mass_factor(model, arrays, at, q)
    if factor.ndim == 1:
        return 1 / factor**2
    root = solve_triangular(factor, jnp.eye(q.shape[0], dtype=q.dtype), lower=True)
    return root.T @ root


def _network(model: Model, arrays: Arrays, name: str, at: Instant, q: Array) -> Array:
    """What a network of the positions gives: its layers, and its linear map."""
    half = q.shape[0]
    x = (q - model.mean[:half].astype(q.dtype)) / model.std[:half].astype(q.dtype)
    if model.features == "angles":
        x = jnp.concatenate([jnp.sin(q), jnp.cos(q)])
    if at.p is not None and model.condition_mean is not None and model.condition_std is not None:
        k = len(model.inputs)
        p = at.p - model.condition_mean[k:].astype(q.dtype)
        x = jnp.concatenate([x, p / model.condition_std[k:].astype(q.dtype)])
    linear = jnp.matmul(
        x, arrays[f"{name}.linear"], precision=model.config.network.matmul_precision
    )
    return network(model, layers_of(arrays, name), x) + linear


def _known(model: Model, part: str) -> Any:
    """A known part, or `None`."""
    return getattr(model.physics, part) if isinstance(model.physics, Mechanics) else None
