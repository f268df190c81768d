"""Gauss's principle: the acceleration that a law allows, nearest to the free one in the metric of the masses.

A law of velocities, h(q, q̇, t, w) = c, holds along a motion with the acceleration a if

    ∂h/∂q̇ a + ∂h/∂q q̇ + ∂h/∂t + (∂h/∂w) ẇ = 0.

This is the projection of `pnde.engines.jax.projection` with G = ∂h/∂q̇ and that offset. The velocity q̇ is that of the
state and is not bent. Rows of positions alone need nothing: their rates are rows too (see `pnde.laws.Holonomic`).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pnde.engines.jax.laws import jacobian, value
from pnde.engines.jax.projection import project
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.jacobian import AbstractJacobian
from pnde.laws import Constraint, Instant


def project_acceleration(
    law: Constraint,
    at: Instant,
    u: Float[Array, " n"],
    a: Float[Array, " half"],
    W: Float[Array, " half"] | Float[Array, "half half"],
    method: str,
) -> Float[Array, " half"]:
    """The acceleration nearest to `a`, in the metric of the masses W⁻¹, with which the law is kept.

    **Arguments:**

    - `u`: the state (q, q̇), on the law's manifold.
    - `a`: the free acceleration.
    - `W`: the inverse of the masses, `(n/2,)` or `(n/2, n/2)`.
    - `method`: as that of `project`.
    """
    return project(rates(law, u, at), a, _offset(law, u, at), W, method)


def rates(law: Constraint, u: Float[Array, " n"], at: Instant) -> AbstractJacobian:
    """∂h/∂q̇ of the rows of velocities."""
    return operator(law.structure, law, u, at)


@singledispatch
def operator(structure: Any, law: Constraint, u: Array, at: Instant) -> AbstractJacobian:
    """The operator that belongs to a structure; register one for each that has a factor of its own."""
    G, half = jacobian(law, u, at), u.shape[0] // 2
    if isinstance(G, DenseJacobian):
        matrix = G.matrix
    else:
        rows = jax.eval_shape(G.apply, u).shape[0]
        matrix = jax.vmap(G.transpose_apply)(jnp.eye(rows, dtype=u.dtype))
    return DenseJacobian(matrix[law.velocity_rows(len(matrix)), half:])


def _offset(law: Constraint, u: Float[Array, " n"], at: Instant) -> Float[Array, " m"]:
    """∂h/∂q q̇ + ∂h/∂t + (∂h/∂w) ẇ of the rows of velocities."""
    half = u.shape[0] // 2
    along = jnp.concatenate([u[half:], jnp.zeros_like(u[half:])])
    if not law.moves:
        moved = jax.jvp(lambda u: value(law, u, at), (u,), (along,))[1]
    else:
        t = jnp.asarray(at.t, jnp.result_type(at.t, jnp.float32))

        def h(u: Array, t: Array, w: Any, rate: Any) -> Array:
            return value(law, u, at._replace(t=t, w=w, rate=rate))

        primals = u, t, at.w, at.rate
        moved = jax.jvp(h, primals, (along, jnp.ones_like(t), at.rate, at.curvature))[1]
    return moved[law.velocity_rows(len(moved))]
