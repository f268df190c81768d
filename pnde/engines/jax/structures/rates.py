"""The rates of a chain's rods as rows of accelerations, and a factor of their Gram matrix, both in O(N).

Rods hold accelerations by ∂h/∂q̇ alone (see `pnde.engines.jax.gauss`): one row for each link, which involves the bobs at
its ends, so that S = G W Gᵀ is tridiagonal for every diagonal W.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pnde.engines.jax import gauss
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.jacobian import (
    AbstractFactor,
    AbstractJacobian,
    InverseMetric,
    ScannedFactor,
)
from pnde.engines.jax.structures.rods import difference, following, previous
from pnde.laws import Constraint, Instant, RodsStructure
from pnde.laws.rods import links


class RatesJacobian(AbstractJacobian):
    """∂h/∂q̇ = [D_Δx, D_Δy] of the rates of the rods, for accelerations (ẍ, ÿ) `(2N,)`.

    - `link`: Δx and Δy of each link.
    """

    link: Float[Array, "2 N"]

    def apply(self, w):
        return jnp.sum(self.link * difference(w.reshape(2, -1)), axis=0)

    def transpose_apply(self, y):
        on_links = self.link * y[None, :]
        return (on_links - following(on_links)).reshape(-1)

    def factorise(self, W: InverseMetric, method: str) -> AbstractFactor:
        if method == "cholesky" and (W is None or W.ndim == 1):
            return RatesFactor.of(self, W)
        rows = jax.vmap(self.transpose_apply)(jnp.eye(self.link.shape[1], dtype=self.link.dtype))
        return DenseJacobian(rows).factorise(W, method)


class RatesFactor(ScannedFactor):
    """The Cholesky factor of the tridiagonal S = G W Gᵀ.

    - `inverse`: 1/L_ii; `before`: L_i,i-1, 0 for the first link; both `(N,)`.
    """

    inverse: Float[Array, " N"]
    before: Float[Array, " N"]
    rcond: Float[Array, ""]

    @classmethod
    def of(cls, G: RatesJacobian, W: Float[Array, " half"] | None) -> RatesFactor:
        weights = jnp.ones_like(G.link) if W is None else W.reshape(2, -1)
        shared = previous(weights)
        own = jnp.sum((weights + shared) * G.link**2, axis=0)
        coupling = -jnp.sum(shared * G.link * previous(G.link), axis=0)

        def eliminate(inverse, entries):
            own, coupling = entries
            before = coupling * inverse
            inverse = jax.lax.rsqrt(own - before * before)
            return inverse, (inverse, before)

        _, (inverse, before) = jax.lax.scan(
            eliminate, jnp.zeros_like(own[0]), (own, coupling), unroll=_unrolled(own)
        )
        pivots = 1 / (own * inverse**2)
        return cls(inverse=inverse, before=before, rcond=jnp.min(pivots) / jnp.max(pivots))

    def solve(self, b):
        def forward(y, row):
            inverse, before, b = row
            y = (b - before * y) * inverse
            return y, y

        def backward(carried, row):
            inverse, before, y = row
            x = (y - carried) * inverse
            return before * x, x

        zero, unroll = jnp.zeros_like(b[0]), _unrolled(b)
        _, y = jax.lax.scan(forward, zero, (self.inverse, self.before, b), unroll=unroll)
        rows = self.inverse, self.before, y
        return jax.lax.scan(backward, zero, rows, reverse=True, unroll=unroll)[1]


@gauss.operator.register
def _rates(structure: RodsStructure, law: Constraint, u: Array, at: Instant) -> AbstractJacobian:
    return RatesJacobian(links(u, at if structure.pivot else None)[:2])


def _unrolled(rows: Array) -> int:
    """A short chain is written out, which fuses into few operations."""
    return min(len(rows), 8)
