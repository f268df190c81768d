"""Constraint Jacobians as linear operators, and factorisations of their Gram matrices.

The projection needs of G only G w, Gᵀ y and a factor of S = G W Gᵀ. A Jacobian with structure (rods in a chain,
a network) is a subclass of `AbstractJacobian` that gives these at less than the dense cost. Its array fields are what
derivatives are taken with respect to, so `apply` has to be linear in them.
"""

from abc import abstractmethod

import equinox as eqx
import jax
from jaxtyping import Array, Float

InverseMetric = Float[Array, " n"] | Float[Array, "n n"] | None
"""W = M⁻¹: identity, a diagonal, or a matrix."""


class AbstractJacobian(eqx.Module):
    """G = ∂h/∂u at one state."""

    @abstractmethod
    def apply(self, w: Float[Array, " n"]) -> Float[Array, " m"]:
        """G w"""

    @abstractmethod
    def transpose_apply(self, y: Float[Array, " m"]) -> Float[Array, " n"]:
        """Gᵀ y"""

    @abstractmethod
    def factorise(self, W: InverseMetric, method: str) -> "AbstractFactor":
        """A factor of S = G W Gᵀ."""


class AbstractFactor(eqx.Module):
    """A factor of S = G W Gᵀ, kept from the forward pass for every derivative."""

    @abstractmethod
    def condition(self) -> Float[Array, ""]:
        """The reciprocal condition number, as LAPACK calls it: an estimate of 1 / κ of what was factored.

        1 is the best there is, the rounding unit ε the worst that can be solved with, and 0 or NaN says that the
        factorisation failed. What was factored is S for Cholesky, and its square root GᵀD for QR, SVD and elimination
        along branches, both with the rows of G scaled to length one. (It is a result, unlike the cut-off `rcond` that
        `jnp.linalg.lstsq` and `pinv` take.)
        """

    @abstractmethod
    def solve(self, b: Float[Array, " m"]) -> Float[Array, " m"]:
        """S⁻¹ b, or the pseudo-inverse's."""

    def decompose(
        self, G: AbstractJacobian, W: InverseMetric, v: Float[Array, " n"], b: Float[Array, " m"]
    ) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
        """The p and λ with v = p + W Gᵀ λ and G p = -b. Linear in v and b."""
        lam = self.solve(G.apply(v) + b)
        return v - weigh(W, G.transpose_apply(lam)), lam

    def transposed(
        self, G: AbstractJacobian, W: InverseMetric, x: Float[Array, " n"], y: Float[Array, " m"]
    ) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
        """The transpose of (v, -b) ↦ (p, λ), which derivatives solve with."""

        def solve(v, right):
            return self.decompose(G, W, v, -right)

        return jax.linear_transpose(solve, x, y)((x, y))


class MeasuredFactor(AbstractFactor):
    """A factor whose pivots or singular values, as they were found, tell its `condition`."""

    rcond: eqx.AbstractVar[Float[Array, ""]]

    def condition(self):
        return self.rcond


def weigh(W: InverseMetric, x: Float[Array, " n"]) -> Float[Array, " n"]:
    """W x"""
    if W is None:
        return x
    return W * x if W.ndim == 1 else W @ x


class ScannedFactor(MeasuredFactor):
    """A factor whose `solve` goes along a chain, row after row."""

    def decompose(self, G, W, v, b):
        def gram(lam):
            return G.apply(weigh(W, G.transpose_apply(lam)))

        # S is symmetric, and solving again is cheaper than the transpose that JAX would make of the scans.
        lam = jax.lax.custom_linear_solve(
            gram, G.apply(v) + b, lambda _, right: self.solve(right), symmetric=True
        )
        return v - weigh(W, G.transpose_apply(lam)), lam
