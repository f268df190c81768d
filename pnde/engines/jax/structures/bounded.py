"""G of a law with rows of inequalities that act below it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pnde.engines.jax.order import after
from pnde.engines.jax.structures.jacobian import (
    AbstractFactor,
    AbstractJacobian,
    InverseMetric,
    weigh,
)


class Rows(AbstractJacobian):
    """What is not factored by itself: it gives products alone."""

    def factorise(self, W, method):
        raise NotImplementedError("rows of inequalities are factored with those of the law")


class Selection(Rows):
    """Rows that are states: unit vectors."""

    columns: tuple[int, ...] = eqx.field(static=True)
    n: int = eqx.field(static=True)

    def apply(self, w):
        return w[np.array(self.columns)]

    def transpose_apply(self, y):
        return jnp.zeros(self.n, y.dtype).at[np.array(self.columns)].add(y)


class Below(Rows):
    """The rows of several Jacobians, one below the other; `sizes` are how many each has."""

    parts: tuple[AbstractJacobian, ...]
    sizes: tuple[int, ...] = eqx.field(static=True)

    def apply(self, w):
        return jnp.concatenate([part.apply(w) for part in self.parts])

    def transpose_apply(self, y):
        ends = np.cumsum(self.sizes)[:-1]
        pieces = jnp.split(y, ends)
        return sum(part.transpose_apply(own) for part, own in zip(self.parts, pieces, strict=True))


class Masked(Rows):
    """Some rows of a Jacobian; the others are 0."""

    all_rows: AbstractJacobian
    kept: Bool[Array, " m"]

    def apply(self, w):
        return jnp.where(self.kept, self.all_rows.apply(w), 0)

    def transpose_apply(self, y):
        return self.all_rows.transpose_apply(jnp.where(self.kept, y, 0))


class Moves(eqx.Module):
    """What a multiplier 1 of each row changes: the velocity by `velocity` `(m, n)`, the multipliers of the law by
    `lam`, and the rows by `gram` K `(m, m)`; `norms` is the diagonal of A W Aᵀ."""

    velocity: Float[Array, "m n"]
    lam: Array | None
    gram: Float[Array, "m m"]
    norms: Float[Array, " m"]

    @classmethod
    def of(
        cls,
        G: AbstractJacobian | None,
        A: AbstractJacobian,
        W: InverseMetric,
        factor: AbstractFactor | None,
        m: int,
        before: Array,
    ) -> Moves:
        """`before` has to be there first; see `pnde.engines.jax.order`."""
        units = jnp.eye(m, dtype=before.dtype)
        pushed = jax.vmap(lambda y: weigh(W, A.transpose_apply(y)))(after(before, units))
        norms = jnp.diagonal(jax.vmap(A.apply)(pushed))
        if G is None or factor is None:
            velocity, lam = pushed, None
        else:
            nothing = jnp.zeros_like(jax.eval_shape(G.apply, before))
            velocity, lam = jax.vmap(lambda v: factor.decompose(G, W, v, nothing))(pushed)
        gram = jax.vmap(A.apply)(velocity)
        return cls(velocity, lam, 0.5 * (gram + gram.T), norms)


class JointFactor(AbstractFactor):
    """The factor of a law's S, with the rows of inequalities that act eliminated behind it."""

    factor: AbstractFactor | None
    moves: Moves
    inverse: Float[Array, "m m"]
    rows: int = eqx.field(static=True)

    def condition(self):
        return jnp.ones(()) if self.factor is None else self.factor.condition()

    def solve(self, b):
        raise NotImplementedError("it decomposes velocities")

    def decompose(self, G: Any, W, v, b):
        A = G if self.factor is None else G.parts[1]
        own, below = b[: self.rows], b[self.rows :]
        p, lam = (v, own) if self.factor is None else self.factor.decompose(G.parts[0], W, v, own)
        miss = A.apply(p) + below
        mu = self.inverse @ miss
        mu = mu + self.inverse @ (miss - self.moves.gram @ mu)  # what rounding left
        p = p - mu @ self.moves.velocity
        if self.moves.lam is not None:
            lam = lam - mu @ self.moves.lam
        return p, jnp.concatenate([lam, mu])
