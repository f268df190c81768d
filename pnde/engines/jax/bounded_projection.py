"""The velocity nearest to a given one that keeps a law and stays within bounds.

    minimise ‖p - v‖_M   with   G p = -b   and   lo ≤ A p ≤ hi.

At the solution some rows of A are at a bound. With these joined to G it is the projection of
`pnde.engines.jax.projection`, and so is its derivative: the same one linear system, where no row is about to act or to
let go.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pnde.engines.jax.active_set import Active, active_rows, inverse_among
from pnde.engines.jax.order import after
from pnde.engines.jax.projection import decompose, factorise
from pnde.engines.jax.structures.bounded import Below, JointFactor, Masked, Moves, Selection
from pnde.engines.jax.structures.jacobian import AbstractJacobian, InverseMetric


class Bounded(NamedTuple):
    """A velocity within bounds, which rows of A act on it, and whether all of them can be kept."""

    p: Float[Array, " n"]
    active: Bool[Array, " m"]
    feasible: Bool[Array, ""]


def project_within(
    G: AbstractJacobian | None,
    A: AbstractJacobian,
    v: Float[Array, " n"],
    offset: Float[Array, " r"] | None,
    lo: Float[Array, " m"],
    hi: Float[Array, " m"],
    W: InverseMetric = None,
    method: str = "cholesky",
) -> Bounded:
    """The velocity nearest to v, in the metric M = W⁻¹, with G p = -offset and lo ≤ A p ≤ hi.

    **Arguments:**

    - `G`, `offset`, `W`, `method`: as those of `pnde.engines.jax.projection.project`; no G for no law.
    - `A`: the rows of inequalities; `lo` ≤ `hi`: infinite where there is no bound.

    **Returns:** p; of rows that contradict one another, or the law, as many as can be kept, and `feasible` is false.
    """
    if G is None and isinstance(A, Selection) and (W is None or W.ndim == 1):
        return _clipped(A, v, lo, hi)
    still = jax.lax.stop_gradient
    G0, A0, W0, v0, lo0, hi0 = still((G, A, W, v, lo, hi))
    b = _offset(G, v, offset)
    factor = None if G is None else factorise(G, W, method)
    p0 = v0 if G0 is None or factor is None else factor.decompose(G0, W0, v0, still(b))[0]
    y0, m = A0.apply(p0), len(lo)
    scale = jnp.max(_lengths(v0, W0)) + jnp.max(_lengths(p0, W0))

    def find():
        moves = Moves.of(G0, A0, W0, factor, m, p0)
        rounding = 8 * jnp.finfo(y0.dtype).eps * (jnp.abs(y0) + jnp.sqrt(moves.norms) * scale)
        return moves, active_rows(moves.gram, y0, lo0, hi0, moves.norms, rounding)

    def none():
        shapes = jax.eval_shape(find)
        moves, active = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        return moves, active._replace(feasible=jnp.ones((), bool))

    # Most batches have no state at a bound: what it takes to find the rows that act is spared then.
    outside = jnp.any((y0 < lo0) | (y0 > hi0))
    moves, active = jax.lax.cond(eqxi.unvmap_any(outside), find, none)
    joint, whole = _joined(G, A, factor, moves, active)
    target = jnp.where(active.rows, jnp.where(active.upper, hi, lo), 0)
    p, _ = decompose(joint, W, after(active.inverse, v), jnp.concatenate([b, -target]), whole)
    return Bounded(p, active.rows, active.feasible)


def project_along(
    G: AbstractJacobian | None,
    A: AbstractJacobian,
    v: Float[Array, " n"],
    offset: Float[Array, " r"] | None,
    rate: Float[Array, " m"],
    rows: Bool[Array, " m"],
    W: InverseMetric = None,
    method: str = "cholesky",
) -> Float[Array, " n"]:
    """The velocity nearest to v with G p = -offset and, of the `rows` alone, A p = `rate`: linear in these three."""
    b, m = _offset(G, v, offset), len(rate)
    factor = None if G is None else factorise(G, W, method)
    still = jax.lax.stop_gradient
    moves = Moves.of(*still((G, A, W)), factor, m, jnp.zeros_like(v))
    taken, inverse = inverse_among(moves.gram, rows, moves.norms)
    active = Active(taken, jnp.zeros_like(taken), inverse, jnp.ones((), bool))
    joint, whole = _joined(G, A, factor, moves, active)
    return decompose(joint, W, v, jnp.concatenate([b, -jnp.where(taken, rate, 0)]), whole)[0]


def _joined(G, A, factor, moves, active):
    """G with the rows that act, and its factor."""
    acting = Masked(A, active.rows)
    r = 0 if G is None else moves.lam.shape[1]
    joint = acting if G is None else Below((G, acting), (r, len(active.rows)))
    return joint, JointFactor(factor, moves, active.inverse, r)


def _clipped(A, v, lo, hi):
    """Bounds of states by themselves: nothing couples them."""
    low, high = (jnp.full(v.shape, end, v.dtype) for end in (-jnp.inf, jnp.inf))
    # A state may be named several times.
    columns = np.array(A.columns)
    for first in _layers(columns):
        at = columns[first]
        low = low.at[at].set(jnp.maximum(low[at], lo[first]))
        high = high.at[at].set(jnp.minimum(high[at], hi[first]))
    p = jnp.where(v < low, low, jnp.where(v > high, high, v))
    rows = (v[columns] < lo) | (v[columns] > hi)
    return Bounded(p, rows, jnp.ones((), bool))


def _layers(columns: np.ndarray) -> list[np.ndarray]:
    """Rows in groups, of which each has a state once."""
    counts = [int(np.sum(columns[:k] == column)) for k, column in enumerate(columns)]
    return [np.flatnonzero(np.equal(counts, layer)) for layer in range(max(counts) + 1)]


def _offset(G, v, offset):
    if G is None:
        return jnp.zeros(0, v.dtype)
    return jnp.zeros_like(jax.eval_shape(G.apply, v)) if offset is None else offset


def _lengths(v, W):
    """What each entry of a velocity is long in the metric, at most."""
    if W is None:
        return jnp.abs(v)
    return jnp.abs(v) * jax.lax.rsqrt(W if W.ndim == 1 else jnp.diagonal(W))
