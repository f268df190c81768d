"""The forces of what is known of a mechanical system, as functions that JAX can trace; see `pnde.models.Mechanics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pnde.laws import Instant
from pnde.laws.signature import Role, arguments_of
from pnde.models import Mechanics


def known_force(known: Mechanics, at: Instant, u: Float[Array, " n"]) -> Float[Array, " half"]:
    """-∇V - A q̇ + F of what is known of V, A and F; of masses that depend on positions the inertia too."""
    q, v = jnp.split(u, 2)
    force = jnp.zeros_like(q)
    if known.potential is not None:
        force = force - jax.grad(lambda q: evaluated(known.potential, "potential", q, at))(q)
    if known.dissipation is not None:
        force = force - weigh_by(evaluated(known.dissipation, "dissipation", q, at), v)
    if known.forces is not None:
        force = force + evaluated(known.forces, "forces", u, at, frozenset({"t", "w", "p"}))
    if callable(known.masses):
        force = force + inertia(lambda q: evaluated(known.masses, "masses", q, at), q, v)
    return force


def inertia(masses: Callable[[Array], Array], q: Array, v: Array) -> Array:
    """-Ṁ v + ∂/∂q of ½ vᵀM v: of the momentum M q̇ the change that is no acceleration, and the slope of the kinetic
    energy."""

    def momentum(q: Array) -> Array:
        return weigh_by(masses(q), v)

    return jax.grad(lambda q: 0.5 * v @ momentum(q))(q) - jax.jvp(momentum, (q,), (v,))[1]


def evaluated(
    part: Any, name: str, x: Array, at: Instant, allowed: frozenset[Role] = frozenset({"p"})
) -> Array:
    """A known part at positions, or at a state."""
    if callable(part):
        part = arguments_of(part, f"the known {name}", allowed).call(part, x, at)
        part = jnp.stack(part) if isinstance(part, tuple | list) else part
    return jnp.asarray(part, x.dtype)


def weigh_by(matrix: Array, x: Array) -> Array:
    """A matrix, or a diagonal, times x."""
    return matrix * x if matrix.ndim == 1 else matrix @ x
