"""G as an array, and the factorisations of its Gram matrix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from pnde.engines.jax.order import after
from pnde.engines.jax.structures import triangle
from pnde.engines.jax.structures.jacobian import (
    AbstractJacobian,
    InverseMetric,
    MeasuredFactor,
    weigh,
)


class DenseJacobian(AbstractJacobian):
    """G as an array `(m, n)`."""

    matrix: Float[Array, "m n"]

    def apply(self, w):
        return self.matrix @ w

    def transpose_apply(self, y):
        return y @ self.matrix

    def factorise(self, W, method):
        if method == "truncated":
            return Truncated.of(self.matrix, W)
        if self.matrix.shape[0] == 1:
            return Division.of(self.matrix, W)
        return QR.of(self.matrix, W) if method == "qr" else Cholesky.of(self.matrix, W)


class Division(MeasuredFactor):
    """S of a law with one row is a number."""

    s: Float[Array, ""]
    rcond: Float[Array, ""]

    @classmethod
    def of(cls, G, W):
        row = G[0]
        s = row @ weigh(W, row)
        return cls(s=s, rcond=jnp.where((s > 0) & jnp.isfinite(s), 1.0, 0.0).astype(s.dtype))

    def solve(self, b):
        return b / self.s


class Cholesky(MeasuredFactor):
    """S = D⁻¹ L Lᵀ D⁻¹, with D scaling the rows of G to length one, which is exact and costs nothing.

    Its error grows with κ(DG)².
    """

    lower: Float[Array, "m m"]
    scale: Float[Array, " m"]
    rcond: Float[Array, ""]

    @classmethod
    def of(cls, G, W):
        return cls.of_gram(
            G @ (G.T if W is None else (W[:, None] * G.T if W.ndim == 1 else W @ G.T))
        )

    @classmethod
    def of_gram(cls, gram):
        """From S itself, for a Jacobian that can build it without a dense G."""
        scale = inverse_norm(jnp.diagonal(gram))
        lower = triangle.cholesky(gram * jnp.outer(scale, scale))
        pivots = jnp.diagonal(lower)
        return cls(lower=lower, scale=scale, rcond=(jnp.min(pivots) / jnp.max(pivots)) ** 2)

    def solve(self, b):
        return self.scale * triangle.solve(self.lower, self.scale * b)


class QR(MeasuredFactor):
    """C ᵀGᵀD = Q R with W = C Cᵀ. Applies Q, so the error of p grows with κ(G) and not with its square.

    (The paper's Appendix C uses R alone, the semi-normal equations, whose error can still grow with κ².)
    """

    q: Float[Array, "n m"]
    r: Float[Array, "m m"]
    scale: Float[Array, " m"]
    root: InverseMetric
    rcond: Float[Array, ""]

    @classmethod
    def of(cls, G, W):
        root = square_root(W)
        rows = _times_root(G, root)
        scale = inverse_norm(jnp.sum(rows * rows, axis=1))
        q, r = jnp.linalg.qr((scale[:, None] * rows).T)
        r = after(q, r)
        pivots = jnp.abs(jnp.diagonal(r))
        rcond = jnp.min(pivots) / jnp.max(pivots)
        return cls(q=q, r=r, scale=scale, root=root, rcond=rcond)

    def solve(self, b):
        y = solve_triangular(self.r, self.scale * b, trans=1)
        return self.scale * solve_triangular(self.r, y)

    def decompose(self, G, W, v, b):
        # In z = C⁻¹ v the projection is Euclidean.
        z = _root_solve(self.root, after(self.q, v))
        y = self.q.T @ z + solve_triangular(self.r, after(z, self.scale * b), trans=1)
        p = v - _root_apply(self.root, self.q @ y)
        return p, self.scale * solve_triangular(self.r, y)


class Truncated(MeasuredFactor):
    """S⁺ for a G whose rows are dependent: CᵀGᵀD = U Σ Vᵀ, singular values below rounding left out.

    With S⁺ in the place of S⁻¹ the rule of `projection` is the closed-form derivative of the pseudo-inverse
    (Golub and Pereyra 1973) at constant rank, for targets that the laws can meet; no derivative of U, Σ, V is taken.
    """

    basis: Float[Array, "n m"]
    right: Float[Array, "m m"]
    inverse: Float[Array, " m"]
    scale: Float[Array, " m"]
    root: InverseMetric
    rcond: Float[Array, ""]

    @classmethod
    def of(cls, G, W):
        root = square_root(W)
        rows = _times_root(G, root)
        scale = inverse_norm(jnp.sum(rows * rows, axis=1))
        left, sigma, right = jnp.linalg.svd((scale[:, None] * rows).T, full_matrices=False)
        smallest = max(G.shape) * jnp.finfo(G.dtype).eps * sigma[0]
        kept = sigma > smallest
        inverse = jnp.where(kept, 1 / jnp.where(kept, sigma, 1), 0)
        # What is left after truncation is what the solves see.
        rcond = jnp.min(jnp.where(kept, sigma, sigma[0])) / jnp.where(sigma[0] > 0, sigma[0], 1)
        rcond = jnp.where(sigma[0] > 0, rcond, 1)
        return cls(
            basis=jnp.where(kept[None, :], left, 0),
            right=right,
            inverse=inverse,
            scale=scale,
            root=root,
            rcond=rcond,
        )

    def solve(self, b):
        return self.scale * (self.right.T @ (self.inverse**2 * (self.right @ (self.scale * b))))

    def decompose(self, G, W, v, b):
        z = _root_solve(self.root, after(self.basis, v))
        y = self.basis.T @ z + self.inverse * (self.right @ (self.scale * b))
        p = v - _root_apply(self.root, self.basis @ y)
        return p, self.scale * (self.right.T @ (self.inverse * y))


def inverse_norm(squares: Array) -> Array:
    """1/√squares, and 1 where it is zero: the scale of rows with these squared lengths."""
    return jnp.where(squares > 0, jax.lax.rsqrt(jnp.where(squares > 0, squares, 1)), 1)


def square_root(W: InverseMetric) -> InverseMetric:
    """C with W = C Cᵀ: a diagonal or a lower triangle."""
    if W is None:
        return None
    return jnp.sqrt(W) if W.ndim == 1 else jnp.linalg.cholesky(W)


def _times_root(G: Array, root: InverseMetric) -> Array:
    if root is None:
        return G
    return G * root[None, :] if root.ndim == 1 else G @ root


def _root_apply(root: InverseMetric, x: Array) -> Array:
    return weigh(root, x)


def _root_solve(root: InverseMetric, x: Array) -> Array:
    if root is None:
        return x
    return x / root if root.ndim == 1 else solve_triangular(root, x, lower=True)
