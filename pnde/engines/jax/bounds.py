"""Inequalities on JAX arrays: their rows, and what they ask of a velocity."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pnde.engines.jax import laws
from pnde.engines.jax.bounded_projection import project_within
from pnde.engines.jax.structures.bounded import Below, Selection
from pnde.engines.jax.structures.jacobian import AbstractJacobian
from pnde.laws import Bounds, Constraint, Instant


def value(bounds: Bounds, u: Float[Array, " n"], at: Instant) -> Float[Array, " m"]:
    """h of all rows."""
    return jnp.concatenate(
        [
            laws.value(part.rows, u, at) if part.columns is None else u[part.columns]
            for part in bounds.parts
        ]
    )


def jacobian(bounds: Bounds, u: Float[Array, " n"], at: Instant) -> AbstractJacobian:
    """A = ∂h/∂u of all rows."""
    parts = tuple(
        laws.jacobian(part.rows, u, at)
        if part.columns is None
        else Selection(tuple(part.columns.tolist()), u.shape[0])
        for part in bounds.parts
    )
    if len(parts) == 1:
        return parts[0]
    return Below(parts, tuple(jax.eval_shape(part.apply, u).shape[0] for part in parts))


def limits(
    bounds: Bounds, u: Float[Array, " n"], at: Instant
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """lo and hi of A p: ∂h/∂u p + ∂h/∂t + (∂h/∂w) ẇ ≥ -α (h - lower), and likewise from above.

    Nagumo's theorem asks for ḣ ≥ 0 at h = lower alone. With a rate α the bound is felt before, and the field is
    continuous: such an h is a control barrier function (Ames et al. 2019, "Control barrier functions: theory and
    applications").
    """
    h, rates = value(bounds, u, at), jnp.asarray(bounds.rates, u.dtype)
    lower, upper = (jnp.asarray(end, u.dtype) for end in (bounds.lower, bounds.upper))
    if not any(part.rows.moves for part in bounds.parts):
        return -rates * (h - lower), rates * (upper - h)
    moved = [
        jnp.zeros_like(laws.value(part.rows, u, at))
        if (own := laws.drift(part.rows, u, at)) is None
        else own
        for part in bounds.parts
    ]
    b = jnp.concatenate(moved)
    return -rates * (h - lower) - b, rates * (upper - h) - b


def bounded_velocity(
    law: Constraint | None,
    bounds: Bounds,
    metric: Any,
    method: str,
    u: Float[Array, " n"],
    at: Instant,
    v: Float[Array, " n"],
) -> Float[Array, " n"]:
    """The velocity nearest to v, in the metric, that keeps the law and the bounds."""
    return _project(law, bounds, metric, method, u, at, v).p


def can_be_kept(
    law: Constraint | None,
    bounds: Bounds,
    metric: Any,
    method: str,
    u: Float[Array, " n"],
    at: Instant,
) -> Bool[Array, ""]:
    """Whether there is a velocity that keeps the law and the bounds."""
    return _project(law, bounds, metric, method, u, at, jnp.zeros_like(u)).feasible


def _project(law, bounds, metric, method, u, at, v):
    G = offset = None
    if law is not None:
        G, offset = laws.jacobian(law, u, at), laws.drift(law, u, at)
    A, (lo, hi) = jacobian(bounds, u, at), limits(bounds, u, at)
    return project_within(G, A, v, offset, lo, hi, laws.inverse_metric(metric, u), method)
