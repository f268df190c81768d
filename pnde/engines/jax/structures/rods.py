"""The Jacobian of a chain of rods (paper, Appendix I), and a factor of its Gram matrix, both in O(N).

The two rows of a link, its length and the rate of it, involve the bobs at its ends alone. So S = G W Gᵀ, with the two
rows of each link put together, is block tridiagonal with 2 × 2 blocks, for every diagonal W:

    S_ii = A_i,  S_i,i-1 = E_i,      L_ii L_iiᵀ = A_i - L_i,i-1 L_i,i-1ᵀ,  L_i,i-1 = E_i L_i-1,i-1⁻ᵀ.

The recursions are written out in numbers instead of 2 × 2 matrices: under `jax.vmap` each of them is then one operation
on a contiguous array over the batch.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pnde.engines.jax.laws import operator
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.jacobian import (
    AbstractFactor,
    AbstractJacobian,
    InverseMetric,
    ScannedFactor,
)
from pnde.laws import Constraint, Instant, RodsStructure
from pnde.laws.rods import links


class RodsJacobian(AbstractJacobian):
    """G = [[2 D_Δx, 2 D_Δy, 0, 0], [D_Δẋ, D_Δẏ, D_Δx, D_Δy]] with D_a = diag(a) D (paper, Appendix I).

    - `link`: Δx and Δy of each link; `rate`: Δẋ and Δẏ.

    A metric that is a full matrix couples all bobs, and the methods `"qr"` and `"truncated"` would fill the factor in:
    they work on the dense `(2N, 4N)` matrix, at its cost.
    """

    link: Float[Array, "2 N"]
    rate: Float[Array, "2 N"]

    @classmethod
    def at(cls, u: Float[Array, " n"], pivot: Instant | None = None) -> RodsJacobian:
        """The Jacobian at the state (x, y, ẋ, ẏ) of a chain that hangs on the origin, or on a pivot."""
        differences = links(u, pivot)
        return cls(link=differences[:2], rate=differences[2:])

    def apply(self, w):
        differences = difference(w.reshape(4, -1))
        position, velocity = differences[:2], differences[2:]
        return jnp.concatenate(
            [
                2 * jnp.sum(self.link * position, axis=0),
                jnp.sum(self.rate * position + self.link * velocity, axis=0),
            ]
        )

    def transpose_apply(self, y):
        length, rate = (row[None, :] for row in y.reshape(2, -1))
        on_links = jnp.concatenate([2 * self.link * length + self.rate * rate, self.link * rate])
        return (on_links - following(on_links)).reshape(-1)

    def factorise(self, W: InverseMetric, method: str) -> AbstractFactor:
        if method == "cholesky" and (W is None or W.ndim == 1):
            return RodsFactor.of(self, W)
        return DenseJacobian(self.dense()).factorise(W, method)

    def dense(self) -> Float[Array, "m n"]:
        """G as an array."""
        return jax.vmap(self.transpose_apply)(jnp.eye(self.link.size, dtype=self.link.dtype))


class RodsFactor(ScannedFactor):
    """The block Cholesky factor of S. Its error grows with κ(DG)² for the best row scaling D, as that of the dense one.

    (A Cholesky factorisation does not see the scaling of rows, so they are not scaled.)

    - `own`: 1/a, b and 1/c of the blocks L_ii = [[a, 0], [b, c]], each `(N,)`.
    - `before`: the entries of L_i,i-1, row by row, each `(N,)`; 0 for the first link.
    """

    own: tuple[Float[Array, " N"], ...]
    before: tuple[Float[Array, " N"], ...]
    rcond: Float[Array, ""]

    @classmethod
    def of(cls, G: RodsJacobian, W: Float[Array, " n"] | None) -> RodsFactor:
        here, behind = (G.link, G.rate), (previous(G.link), previous(G.rate))
        weights = jnp.ones((4, G.link.shape[1]), G.link.dtype) if W is None else W.reshape(4, -1)
        shared = previous(weights)
        # A link moves with the bobs at both its ends, but for the first, which hangs on a point at rest. It shares the
        # first of them with the link before.
        a, b, _, c = _block(here, here, weights + shared)
        coupling = _block(here, behind, -shared)

        def eliminate(previous, blocks):
            p, b, q = previous  # 1/a, b and 1/c
            a_ii, b_ii, c_ii, d, e, f, g = blocks
            d = d * p
            e = (e - d * b) * q
            f = f * p
            g = (g - f * b) * q
            p = jax.lax.rsqrt(a_ii - d * d - e * e)
            b = (b_ii - d * f - e * g) * p
            q = jax.lax.rsqrt(c_ii - f * f - g * g - b * b)
            return (p, b, q), (p, b, q, d, e, f, g)

        start = (jnp.zeros_like(a[0]),) * 3
        _, factor = jax.lax.scan(eliminate, start, (a, b, c, *coupling))
        # The pivots of S with its rows scaled to length one.
        pivots = 1 / jnp.stack([a * factor[0] ** 2, c * factor[2] ** 2])
        return cls(own=factor[:3], before=factor[3:], rcond=jnp.min(pivots) / jnp.max(pivots))

    def solve(self, b):
        blocks = self.own + self.before
        zero = jnp.zeros_like(b[0])

        def forward(before, row):
            x_before, y_before = before
            p, b, q, d, e, f, g, x, y = row
            x = (x - d * x_before - e * y_before) * p
            y = (y - f * x_before - g * y_before - b * x) * q
            return (x, y), (x, y)

        def backward(after, row):
            from_x, from_y = after  # what L_i+1,iᵀ carries back
            p, b, q, d, e, f, g, x, y = row
            y = (y - from_y) * q
            x = (x - from_x - b * y) * p
            return (d * x + f * y, e * x + g * y), (x, y)

        _, halfway = jax.lax.scan(forward, (zero, zero), (*blocks, *b.reshape(2, -1)))
        _, solution = jax.lax.scan(backward, (zero, zero), (*blocks, *halfway), reverse=True)
        return jnp.concatenate(solution)


@operator.register
def _rods(
    structure: RodsStructure, constraint: Constraint, u: Array, at: Instant
) -> AbstractJacobian:
    return RodsJacobian.at(u, at if structure.pivot else None)


def _block(
    row: tuple[Array, Array], column: tuple[Array, Array], weights: Array
) -> tuple[Array, ...]:
    """The four entries `(N,)`, row by row, of G W Gᵀ between links whose bobs share these weights `(4, N)`."""
    (link, rate), (link_, rate_) = row, column
    position, velocity = weights[:2], weights[2:]

    def product(weights, x, y):
        return jnp.sum(weights * x * y, axis=0)

    return (
        4 * product(position, link, link_),
        2 * product(position, link, rate_),
        2 * product(position, rate, link_),
        product(position, rate, rate_) + product(velocity, link, link_),
    )


def difference(x: Float[Array, "k N"]) -> Float[Array, "k N"]:
    """D x, from the link before (or the point at rest) to each."""
    return x - previous(x)


def previous(x: Float[Array, "k N"]) -> Float[Array, "k N"]:
    return jnp.pad(x[:, :-1], ((0, 0), (1, 0)))


def following(x: Float[Array, "k N"]) -> Float[Array, "k N"]:
    return jnp.pad(x[:, 1:], ((0, 0), (0, 1)))
