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

import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

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
    those that do; z the other one of each pair. M is symmetric, but for a sign between the two kinds of rows.

    - `steps`: of all problems together.
    - `sign`: of the multipliers of the rows that act, and of that which enters: -1 for the upper bound.
    - `entering`: the row that is taken in, whose multiplier is `t` so far; `fresh` if it has only been chosen.
    - `going`: whether there is such a row.
    """

    steps: Array
    M: Float[Array, "m m"]
    q: Float[Array, " m"]
    rows: Bool[Array, " m"]
    sign: Float[Array, " m"]
    given_up: Bool[Array, " m"]
    entering: Bool[Array, " m"]
    t: Float[Array, ""]
    fresh: Bool[Array, ""]
    going: Bool[Array, ""]


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
    equal, index = hi <= lo, jnp.arange(m, dtype=jnp.int32)
    # In units of the row's own length, so that no row counts for more by its unit.
    per_length = jax.lax.rsqrt(jnp.where(norms > 0, norms, 1))

    def choose(q, rows, given_up):
        """The row that is farthest outside, and whether there is one."""
        beyond = (jnp.maximum(lo - q, q - hi) - rounding) * per_length
        beyond = jnp.where(rows | given_up, -1, beyond)
        return index == jnp.argmax(beyond).astype(jnp.int32), jnp.max(beyond) > 0

    def step(carry):
        # A problem that is solved waits for the others of its batch: no row is exchanged then.
        steps, M, q, rows, sign, given_up, at_i, t, fresh, going = carry
        taken_up = at_i & fresh & going
        sign = jnp.where(taken_up, jnp.where(q > hi, -1, 1).astype(q.dtype), sign)
        bound = jnp.where(sign < 0, hi, lo)
        own = _entry(jnp.column_stack([M, q, bound, sign, smallest, jnp.diagonal(M)]), at_i)
        row, (q_i, bound_i, sign_i, smallest_i, pivot) = own[:m], own[m:]
        # The multiplier of i grows: rows that act lose theirs, until one of them has none left.
        towards = sign * row * jnp.where(rows, -sign_i, sign_i)
        falls = rows & ~equal & (towards < 0)
        left = jnp.maximum(sign * q + towards * t, 0)
        until = jnp.where(falls, t + left / jnp.where(falls, -towards, 1), jnp.inf)
        first = jnp.min(until)
        moves = pivot > smallest_i
        enough = jnp.where(moves, sign_i * (bound_i - q_i) / jnp.where(moves, pivot, 1), jnp.inf)
        enter = moves & (enough <= first)
        stuck = ~enter & ~jnp.isfinite(first)
        leaving = index == jnp.argmin(until).astype(jnp.int32)
        at_k = jnp.where(enter, at_i, leaving) & ~stuck & going
        M, q = _exchange(M, q - jnp.where(at_k & enter, bound, 0), rows, at_k)
        q = q + jnp.where(at_k & ~enter, bound, 0)
        rows = jnp.where(at_k, enter, rows)
        given_up = given_up | (at_i & stuck & going)
        fresh = enter | stuck
        chosen, outside = choose(q, rows, given_up)
        at_i, t = jnp.where(fresh, chosen, at_i), jnp.where(fresh, 0, first)
        going = going & (~fresh | outside)
        return _Carry(steps + 1, M, q, rows, sign, given_up, at_i, t, fresh, going)

    def unfinished(carry):
        return eqxi.unvmap_any(carry.going) & (carry.steps < 4 * m + 10)

    nothing, zero = jnp.zeros(m, bool), jnp.zeros((), y.dtype)
    at_i, outside = choose(y, nothing, nothing)
    steps, fresh = jnp.zeros((), jnp.int32), jnp.ones((), bool)
    start = _Carry(steps, K, y, nothing, jnp.ones_like(y), nothing, at_i, zero, fresh, outside)
    last = jax.lax.while_loop(unfinished, step, start)
    among = last.rows[:, None] & last.rows[None, :]
    # Rows that meet in one point may miss each other by rounding, times how flat they meet.
    beyond = jnp.where(last.rows, -1, jnp.maximum(lo - last.q, last.q - hi))
    feasible = ~last.going & jnp.all(beyond <= _SLACK * rounding)
    return Active(last.rows, last.sign < 0, jnp.where(among, last.M, 0), feasible)


def inverse_among(
    K: Float[Array, "m m"], rows: Bool[Array, " m"], norms: Float[Array, " m"]
) -> tuple[Bool[Array, " m"], Float[Array, "m m"]]:
    """The inverse of K among some rows, and which of these it is of: rows that depend on earlier ones are left out."""
    m = len(norms)
    smallest = 100 * m * jnp.finfo(K.dtype).eps * norms

    def step(k, carry):
        M, taken = carry
        at_k = jnp.arange(m, dtype=jnp.int32) == k
        take = at_k & rows & (jnp.diagonal(M) > smallest)
        new, _ = _exchange(M, jnp.zeros(m, M.dtype), taken, take)
        return new, taken | take

    M, taken = jax.lax.fori_loop(jnp.int32(0), jnp.int32(m), step, (K, jnp.zeros(m, bool)))
    return taken, jnp.where(taken[:, None] & taken[None, :], M, 0)


def _exchange(M: Array, q: Array, rows: Array, at_k: Array) -> tuple[Array, Array]:
    """z = q + M x with z_k and x_k exchanged (a principal pivot), for the one k, if any, at which `at_k` is true."""
    picked = _entry(jnp.column_stack([M, q, rows.astype(q.dtype)]), at_k)
    row, q_k, acts = picked[:-2], picked[-2], picked[-1] > 0
    pivot = _entry(row, at_k)
    inverse = 1 / jnp.where(pivot == 0, 1, pivot)
    across = jnp.where(at_k, inverse, -row * inverse)
    down = jnp.where(at_k, 0, jnp.where(rows == acts, row, -row))
    of_k = at_k[:, None] | at_k[None, :]
    new_M = jnp.where(at_k[:, None], across[None, :], jnp.where(of_k, 0, M))
    new_q = jnp.where(at_k, -1, -down) * (q_k * inverse) + jnp.where(at_k, 0, q)
    return new_M + down[:, None] * across[None, :], new_q


def _entry(x: Array, at: Array) -> Array:
    """The entry of x along its first axis where `at` is true; by a sum, which is quicker in a batch than a look-up."""
    return jnp.sum(jnp.where(at.reshape(-1, *[1] * (x.ndim - 1)), x, 0), axis=0)
