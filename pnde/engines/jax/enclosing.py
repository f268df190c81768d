"""The retraction with bounds: the state is put back on the manifold and inside of the bounds, together."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pnde.engines.jax import bounds as rows
from pnde.engines.jax import laws
from pnde.engines.jax.bounded_projection import project_along, project_within
from pnde.engines.jax.retraction import retract
from pnde.laws import Bounds, Constraint, Instant

_ITERATIONS = 20


def put_back(
    law: Constraint | None,
    bounds: Bounds | None,
    metric: Any,
    method: str,
    u: Float[Array, " n"],
    at: Instant,
    c: Float[Array, " m"],
) -> Float[Array, " n"]:
    """The state on the manifold of the law and inside of the bounds, of which there is at least one."""
    if bounds is not None:
        return enclose(law, bounds, metric, method, u, at, c)
    assert law is not None
    return retract(law, metric, method, u, at, c)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3))
def enclose(
    law: Constraint | None,
    bounds: Bounds,
    metric: Any,
    method: str,
    u: Float[Array, " n"],
    at: Instant,
    c: Float[Array, " m"],
) -> Float[Array, " n"]:
    """The state on h = c and inside of the bounds, moved as little as possible in the metric.

    The law and the rows of the bounds are taken to first order, and the nearest state that obeys both is found, until
    it obeys them without that: Newton's method, as in `pnde.engines.jax.retraction.retract`, with the projection of
    `pnde.engines.jax.bounded_projection`. The last word belongs to the bounds: states that are bounded themselves are
    cut off there, so that a concentration is not even -1e-18, and the law is met by the others.

    The derivative is that of the state's projection on the rows that it was put back to.
    """
    return _enclose(law, bounds, metric, method, u, at, c)[0]


def _enclose(law, bounds, metric, method, u, at, c):
    """The state, and the rows that it was put back to."""
    eps = jnp.finfo(u.dtype).eps
    low, high = (jnp.asarray(end, u.dtype) for end in bounds.box(u.shape[0]))
    lower, upper = _aims(bounds, u, at)

    def miss(u):
        """How far outside, or off the law beyond rounding, relative to the sizes of both."""
        h = rows.value(bounds, u, at)
        ends = (jnp.asarray(end, u.dtype) for end in (bounds.lower, bounds.upper, bounds.scale))
        below, above, scale = ends
        outside = jnp.maximum(jnp.max(jnp.maximum(below - h, h - above) / scale), 0)
        if law is None:
            return outside
        size = jnp.max(jnp.abs(c)) + jnp.max(jnp.abs(laws.jacobian(law, u, at).apply(u)))
        off = jnp.max(jnp.abs(laws.value(law, u, at) - c))
        return outside + jnp.where(off <= 2 * eps * size, 0, off / size)

    def unfinished(carry):
        i, _, size, better, _ = carry
        return (size > 0) & better & (i < _ITERATIONS)

    def newton(carry):
        i, u, size, _, pushed = carry
        h = rows.value(bounds, u, at)
        G = g = None
        if law is not None:
            G, g = laws.jacobian(law, u, at), laws.value(law, u, at) - c
        A, W = rows.jacobian(bounds, u, at), laws.inverse_metric(metric, u)
        found = project_within(G, A, jnp.zeros_like(u), g, lower - h, upper - h, W, method)
        new = jnp.clip(u + found.p, low, high)
        size_new = miss(new)
        better = size_new < size  # false for NaN too
        keep = partial(jnp.where, better)
        pushed = jnp.where(better, pushed | found.active, pushed)
        return i + 1, keep(new, u), keep(size_new, size), better, pushed

    start = jnp.zeros((), jnp.int32)
    carry = (start, u, miss(u), jnp.ones((), bool), jnp.zeros(len(bounds.lower), bool))
    _, u, _, _, pushed = jax.lax.while_loop(unfinished, newton, carry)
    return jnp.where(u < low, low, jnp.where(u > high, high, u)), pushed


def is_inside(bounds: Bounds, u: Float[Array, " n"], at: Instant) -> Bool[Array, ""]:
    """Whether no row is outside of its bounds by more than 1e-9 of its size."""
    h, slack = rows.value(bounds, u, at), jnp.asarray(1e-9 * bounds.scale, u.dtype)
    lower, upper = (jnp.asarray(end, u.dtype) for end in (bounds.lower, bounds.upper))
    return jnp.all((h >= lower - slack) & (h <= upper + slack))


def _aims(bounds, u, at):
    """What the rows are put back to: the bounds of a state themselves; else a few roundings inside, so that h, computed
    again, is there."""
    h = rows.value(bounds, u, at)
    inset = 16 * jnp.finfo(u.dtype).eps * (jnp.abs(h) + jnp.asarray(bounds.scale, u.dtype))
    inset = jnp.where(bounds.columns >= 0, 0, inset)
    lower, upper = (jnp.asarray(end, u.dtype) for end in (bounds.lower, bounds.upper))
    room = 0.5 * (upper - lower)
    inset = jnp.minimum(inset, room)
    return lower + inset, upper - inset


@enclose.defjvp
def _enclose_jvp(law, bounds, metric, method, primals, tangents):
    u, at, c = primals
    u_dot, at_dot, c_dot = tangents
    out, pushed = _enclose(law, bounds, metric, method, u, at, c)

    def moved(value):
        return jax.jvp(value, (at,), (at_dot,))[1]

    G = offset = None
    if law is not None:
        G, offset = laws.jacobian(law, out, at), -c_dot
        if law.takes:
            offset = moved(lambda at: laws.value(law, out, at)) - c_dot
    rate = jnp.zeros(len(bounds.lower), out.dtype)
    if any(part.rows.takes for part in bounds.parts):
        rate = -moved(lambda at: rows.value(bounds, out, at))
    A, W = rows.jacobian(bounds, out, at), laws.inverse_metric(metric, out)
    return out, project_along(G, A, u_dot, offset, rate, pushed, W, method)
