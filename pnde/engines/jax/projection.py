"""The projection p = v - W Gᵀλ with (G W Gᵀ) λ = G v + b (paper, Eq. 11-12 and Appendix A), and its derivative.

With v' = v̇ - (W Gᵀ)˙ λ, the derivative of the pair (p, λ) is the pair that belongs to v' and the offset
b' = ḃ + Ġ p:

    ṗ = v' - W Gᵀ λ̇,     S λ̇ = G v' + b',     S = G W Gᵀ.

Differentiating p + W Gᵀλ = v and G p = -b gives this at once. Its transpose is the paper's backward pass (Eq. 13-15),
extended by the metric and the offset:

    S μ = G W p̄,   v̄ = p̄ - Gᵀμ,   Ḡ = -μ pᵀ - λ (W v̄)ᵀ,   b̄ = -μ,   W̄ = -v̄ (Gᵀλ)ᵀ.

So one rule serves forward mode, reverse mode and every higher order, for each structure of G and each method, and the
factor of S is computed once. The same operation gives the pseudo-inverse, and the retraction.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.jacobian import (
    AbstractFactor,
    AbstractJacobian,
    InverseMetric,
    weigh,
)
from pnde.engines.rank import check_rows


def project(
    G: AbstractJacobian | Float[Array, "m n"],
    v: Float[Array, " n"],
    offset: Float[Array, " m"] | None = None,
    W: InverseMetric = None,
    method: str = "cholesky",
    factor: AbstractFactor | None = None,
) -> Float[Array, " n"]:
    """The velocity nearest to v, in the metric M = W⁻¹, with G p = -offset.

    **Arguments:**

    - `G`: the constraint Jacobian ∂h/∂u.
    - `v`: the ambient velocity.
    - `offset`: ∂h/∂t of a law that depends on time.
    - `W`: inverse metric.
    - `method`: `"cholesky"`, `"qr"` or `"truncated"`.
    - `factor`: of `G W Gᵀ`, if it is known already.

    **Returns:** p of shape `(n,)`. Use `jax.vmap` for batches. Under `jit` and `vmap` NaN where `method` cannot factor
    G: see `condition` and `pnde.engines.rank.check_rows`.

    **Raises:** `pnde.errors.ConstraintError` if rows are dependent, and warns `pnde.errors.IllConditionedWarning` if
    they nearly are; not under a transformation.
    """
    G = DenseJacobian(G) if not isinstance(G, AbstractJacobian) else G
    if offset is None:
        offset = jnp.zeros_like(jax.eval_shape(G.apply, v))
    if factor is None:
        factor = factorise(G, W, method)
        if not any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves((v, offset, factor))):
            check_rows(condition(factor), method)
    return decompose(G, W, v, offset, factor)[0]


def minimum_norm(
    G: AbstractJacobian, b: Float[Array, " m"], W: InverseMetric, method: str, dimension: int
) -> Float[Array, " n"]:
    """The smallest x, in the metric M = W⁻¹, with G x = b: x = W Gᵀ S⁻¹ b."""
    return -project(G, jnp.zeros((dimension,), b.dtype), b, W, method)


def factorise(G: AbstractJacobian, W: InverseMetric, method: str) -> AbstractFactor:
    """The factor of S = G W Gᵀ. Derivatives never pass through it."""
    if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((G, W))):
        with jax.ensure_compile_time_eval():
            return G.factorise(W, method)
    return jax.lax.stop_gradient(G).factorise(jax.lax.stop_gradient(W), method)


def condition(factor: AbstractFactor) -> Float[Array, ""]:
    """An estimate of 1/κ of the matrix that was factored; 0 where the factorisation failed."""
    rcond = factor.condition()
    return jnp.where(jnp.isfinite(rcond), rcond, 0)


def decompose(
    G: AbstractJacobian,
    W: InverseMetric,
    v: Float[Array, " n"],
    b: Float[Array, " m"],
    factor: AbstractFactor,
) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
    """(p, λ) as the solution of p + W Gᵀλ = v, G p = -b, whose derivative JAX takes of the system and not of `factor`.

    A `jax.custom_jvp` with the same rule would be right only once: reverse mode transposes the operations of the
    factor, and a second derivative would take them for constants.
    """

    # One array for the pair: custom_linear_solve does not take a right-hand side of which only a part is varied.
    n = v.shape[0]

    def system(x):
        p, lam = x[:n], x[n:]
        return jnp.concatenate([p + weigh(W, G.transpose_apply(lam)), G.apply(p)])

    def solve(_, right):
        return jnp.concatenate(factor.decompose(G, W, right[:n], -right[n:]))

    def transpose_solve(_, right):
        return jnp.concatenate(factor.transposed(G, W, right[:n], right[n:]))

    x = jax.lax.custom_linear_solve(system, jnp.concatenate([v, -b]), solve, transpose_solve)
    return x[:n], x[n:]
