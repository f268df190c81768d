"""u̇ = A ∇h with A = -Aᵀ: every velocity along h = const, and none that leaves it.

Any field that conserves h is of this form where ∇h is not 0 (McLachlan, Quispel and Robidoux 1999, "Geometric
integration using discrete gradients", Sec. 2). Of two states a network has to learn no more than how fast orbits are
gone through, since their direction is known. What changes h from outside, its inputs or the time, is left to the
projection.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.engines.jax.laws import jacobian
from pnde.laws import Instant
from pnde.models import Model


def along_level_set(
    model: Model, a: Float[Array, " pairs"], at: Instant, u: Float[Array, " n"]
) -> Float[Array, " n"]:
    """A ∇h, with A_ij = a_ij d_i d_j of the pairs i < j, in their order, and d of `Model.speed`."""
    assert model.constraint is not None
    n = u.shape[0]
    d = jnp.ones(n) if model.speed is None else jnp.asarray(model.speed)
    d = d.astype(u.dtype)
    slopes = d * jacobian(model.constraint, u, at).transpose_apply(jnp.ones(1, u.dtype))
    upper = jnp.zeros((n, n), u.dtype).at[np.triu_indices(n, 1)].set(a)
    return d * ((upper - upper.T) @ slopes)
