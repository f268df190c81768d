"""The retraction: the state is put back on the manifold h = c."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pnde.engines.jax.laws import inverse_metric, jacobian, value
from pnde.engines.jax.projection import minimum_norm, project
from pnde.laws import Constraint
from pnde.laws.instant import Instant

_ITERATIONS = 20


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def retract(
    constraint: Constraint,
    metric: Any,
    method: str,
    u: Float[Array, " n"],
    at: Instant,
    c: Float[Array, " m"],
) -> Float[Array, " n"]:
    """Newton's method u ← u - W Gᵀ S⁻¹ (h - c), until the residual is at rounding level or stops falling.

    Velocity projection keeps ġ = 0, but an integrator still drifts by its own error; this removes the drift
    (Hairer, "Solving differential equations on manifolds", 2011, Sec. 2).

    The derivative is that of the limit, which moves along the manifold: du = P du₀ + W GᵀS⁻¹(dc - dh), with dh the
    change of h by time, inputs and parameters. It is exact where u was on the manifold and off by the size of the
    residual elsewhere.
    """
    eps = jnp.finfo(u.dtype).eps

    def residual(u):
        g = value(constraint, u, at) - c
        return g, jnp.max(jnp.abs(g))

    g0, size0 = residual(u)
    # Rounding of h itself: a few ulp of its size, and of the products it is made of, which scale like G u.
    G0 = jacobian(constraint, u, at)
    enough = 2 * eps * (jnp.max(jnp.abs(c)) + jnp.max(jnp.abs(G0.apply(u))))

    def unfinished(carry):
        i, _, _, size, falling = carry
        return falling & (size > enough) & (i < _ITERATIONS)

    def newton(carry):
        i, u, g, size, _ = carry
        step = minimum_norm(
            jacobian(constraint, u, at), g, inverse_metric(metric, u), method, u.shape[0]
        )
        new = u - step
        g_new, size_new = residual(new)
        better = size_new < size  # false for NaN too
        keep = partial(jnp.where, better)
        return i + 1, keep(new, u), keep(g_new, g), keep(size_new, size), better

    carry = (jnp.zeros((), jnp.int32), u, g0, size0, jnp.ones((), bool))
    return jax.lax.while_loop(unfinished, newton, carry)[1]


def is_on_manifold(
    constraint: Constraint, u: Float[Array, " n"], at: Instant, c: Float[Array, " m"]
) -> Bool[Array, ""]:
    """Whether h = c, to far more than Newton's method leaves where it converges: 1e-9 of the size of c and of the
    products that h is made of."""
    scale = jnp.max(jnp.abs(c)) + jnp.max(jnp.abs(jacobian(constraint, u, at).apply(u)))
    return jnp.max(jnp.abs(value(constraint, u, at) - c)) <= 1e-9 * scale


@retract.defjvp
def _retract_jvp(constraint, metric, method, primals, tangents):
    u, at, c = primals
    u_dot, at_dot, c_dot = tangents
    out = retract(constraint, metric, method, u, at, c)
    offset = -c_dot
    if constraint.takes:
        offset = jax.jvp(lambda at: value(constraint, out, at), (at,), (at_dot,))[1] - c_dot
    W = inverse_metric(metric, out)
    return out, project(jacobian(constraint, out, at), u_dot, offset, W, method)
