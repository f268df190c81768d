"""What becomes of a state, and of its targets, where an input jumps and the manifold with it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pnde.engines.jax.laws import jacobian, restricted, value
from pnde.engines.jax.projection import minimum_norm
from pnde.laws import Constraint, Instant
from pnde.laws.selected import Selected

_ITERATIONS = 12


def jump(
    law: Constraint,
    metric: Any,
    method: str,
    u: Float[Array, " n"],
    at: Instant,
    c: Float[Array, " m"],
) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
    """The state and targets just after a jump, `at` which the inputs are what they are then.

    Rows with a fixed target are met by the states that may jump, by Newton's method; the targets of all others become
    what h is then. Unlike a retraction, which starts at rounding from the manifold, this moves far, so its derivative
    is that of all its steps.
    """
    fixed = law.fixed_rows(len(c))
    if fixed.any():
        rows = law if fixed.all() else Selected(law, fixed)
        free = law.may_jump()

        def newton(u, _):
            g = value(rows, u, at) - c[fixed]
            W = restricted(metric, u, free)
            return u - minimum_norm(jacobian(rows, u, at), g, W, method, u.shape[0]), None

        u, _ = jax.lax.scan(newton, u, length=_ITERATIONS)
    return u, jnp.where(fixed, c, value(law, u, at))


def meets_jumps(law: Constraint | None) -> bool:
    """Whether a law is another one after a jump of the inputs."""
    return law is not None and "w" in law.takes
