"""Which inequalities act on a velocity: a dual active-set method on arrays of one shape.

With the velocity p₀ that keeps the equalities and y₀ = A p₀, rows of inequalities lo ≤ A p ≤ hi add multipliers λ,
and the rows become y = y₀ + K λ with K = A P W Aᵀ. The nearest velocity has λᵢ > 0 only where yᵢ = loᵢ, and λᵢ < 0
only where yᵢ = hiᵢ. This is the method of Goldfarb and Idnani ("A numerically stable dual method for solving strictly
convex quadratic programs", 1983) in these m numbers alone: the row that is farthest outside is taken in; a row whose
multiplier changes its sign on the way is let go. Each change is one principal pivot, m² operations without a
factorisation, so that a batch does them side by side. Rows that depend on others are taken in only in their place.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

# Rows that are outside by so many roundings contradict one another.
_SLACK = 1e4


class Active(NamedTuple):
    """The rows that act.

    - `rows`: which they are; `upper`: which of them are at their upper bound.
    - `inverse`: that of K among them, 0 elsewhere.
    - `feasible`: whether all rows can be kept at once.
    """

    rows: Bool[Array, " m"]
    upper: Bool[Array, " m"]
    inverse: Float[Array, "m m"]
    feasible: Bool[Array, ""]


class _Carry(NamedTuple):
    """The exchange between (y, λ) so far: z = q + M x, where x holds λ of rows that do not act, and y less the bound of
    those that do; z the other one of each pair."""

    steps: Int[Array, ""]
    M: Float[Array, "m m"]
    q: Float[Array, " m"]
    rows: Bool[Array, " m"]
    upper: Bool[Array, " m"]
    given_up: Bool[Array, " m"]
    entering: Int[Array, ""]
    t: Float[Array, ""]


def active_rows(
    K: Float[Array, "m m"],
    y: Float[Array, " m"],
    lo: Float[Array, " m"],
    hi: Float[Array, " m"],
    norms: Float[Array, " m"],
    rounding: Float[Array, " m"],
) -> Active:
    """The rows that act, for y₀ = `y` with lo ≤ hi.

    **Arguments:**

    - `norms`: the diagonal of A W Aᵀ, before the equalities are taken out: what is small beside it is rounding.
    - `rounding`: how far a row may be outside, by rounding.
    """
    m = len(y)
    smallest = 100 * m * jnp.finfo(K.dtype).eps * norms
    if m == 1:
        beyond = jnp.maximum(lo - y, y - hi) > rounding
        free = K[:, 0] > smallest
        rows = beyond & free
        inverse = jnp.where(rows, 1 / jnp.where(free, K[:, 0], 1), 0)[None]
        return Active(rows, y > hi, inverse, ~jnp.any(beyond & ~free))
    equal = hi <= lo

    def outside(carry):
        beyond = jnp.maximum(lo - carry.q, carry.q - hi)
        candidate = ~carry.rows & ~carry.given_up & (beyond > rounding)
        # In units of the row's own length, so that no row counts for more by its unit.
        return jnp.where(candidate, beyond * jax.lax.rsqrt(jnp.where(norms > 0, norms, 1)), -1)

    def unfinished(carry):
        return (carry.steps < 4 * m + 10) & ((carry.entering >= 0) | jnp.any(outside(carry) > 0))

    def step(carry):
        steps, M, q, rows, upper, given_up, entering, t = carry
        fresh = entering < 0
        i = jnp.where(fresh, jnp.argmax(outside(carry)), entering)
        at_i = jnp.arange(m) == i
        above = jnp.where(fresh, q[i] > hi[i], upper[i])
        upper = jnp.where(at_i, above, upper)
        t = jnp.where(fresh, 0, t)
        sign = jnp.where(upper, -1, 1).astype(q.dtype)
        column = M[:, i] * sign[i]
        # The multiplier of i grows: rows that act lose theirs, until one of them has none left.
        towards = sign * column
        left = jnp.maximum(sign * (q + column * t), 0)
        falls = rows & ~equal & (towards < 0)
        until = jnp.where(falls, t + left / jnp.where(falls, -towards, 1), jnp.inf)
        j = jnp.argmin(until)
        bound = jnp.where(above, hi[i], lo[i])
        moves = M[i, i] > smallest[i]
        enough = jnp.where(moves, sign[i] * (bound - q[i]) / jnp.where(moves, M[i, i], 1), jnp.inf)
        enter = jnp.isfinite(enough) & (enough <= until[j])
        stuck = ~enter & ~jnp.isfinite(until[j])
        k = jnp.where(enter, i, j)
        at_k = jnp.arange(m) == k
        q_before = q - jnp.where(at_k & enter, bound, 0)
        new_M, new_q = _exchange(M, q_before, k)
        bound_k = jnp.where(upper[k], hi[k], lo[k])
        new_q = new_q + jnp.where(at_k & ~enter, bound_k, 0)
        return _Carry(
            steps + 1,
            jnp.where(stuck, M, new_M),
            jnp.where(stuck, q, new_q),
            jnp.where(at_k & ~stuck, enter, rows),
            upper,
            given_up | (at_i & stuck),
            jnp.where(enter | stuck, -1, i).astype(entering.dtype),
            until[j],
        )

    nothing, start = jnp.zeros(m, bool), jnp.zeros((), jnp.int32)
    first = _Carry(start, K, y, nothing, nothing, nothing, start - 1, jnp.zeros((), y.dtype))
    last = jax.lax.while_loop(unfinished, step, first)
    among = last.rows[:, None] & last.rows[None, :]
    # Rows that meet in one point may miss each other by rounding, times how flat they meet.
    beyond = jnp.where(last.rows, -1, jnp.maximum(lo - last.q, last.q - hi))
    feasible = ~unfinished(last) & jnp.all(beyond <= _SLACK * rounding)
    return Active(last.rows, last.upper, jnp.where(among, last.M, 0), feasible)


def inverse_among(
    K: Float[Array, "m m"], rows: Bool[Array, " m"], norms: Float[Array, " m"]
) -> tuple[Bool[Array, " m"], Float[Array, "m m"]]:
    """The inverse of K among some rows, and which of these it is of: rows that depend on earlier ones are left out."""
    m = len(norms)
    smallest = 100 * m * jnp.finfo(K.dtype).eps * norms

    def step(k, carry):
        M, taken = carry
        take = rows[k] & (M[k, k] > smallest[k])
        new, _ = _exchange(M, jnp.zeros(m, M.dtype), k)
        return jnp.where(take, new, M), taken.at[k].set(take)

    M, taken = jax.lax.fori_loop(0, m, step, (K, jnp.zeros(m, bool)))
    return taken, jnp.where(taken[:, None] & taken[None, :], M, 0)


def _exchange(M: Array, q: Array, k: Array) -> tuple[Array, Array]:
    """z = q + M x with z_k and x_k exchanged (a principal pivot)."""
    m = len(q)
    at_k = jnp.arange(m) == k
    pivot = M[k, k]
    inverse = 1 / jnp.where(pivot == 0, 1, pivot)
    row, column = M[k], M[:, k]
    across = jnp.where(at_k, inverse, -row * inverse)
    down = jnp.where(at_k, 0, column)
    new_M = jnp.where(at_k[:, None], across[None, :], jnp.where(at_k[None, :], 0, M))
    new_M = new_M + down[:, None] * across[None, :]
    new_q = jnp.where(at_k, 0, q) + jnp.where(at_k, -1, -down) * (q[k] * inverse)
    return new_M, new_q
