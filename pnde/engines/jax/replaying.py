"""A solve over steps that are known already."""

from __future__ import annotations

from typing import Any

import diffrax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Replay(diffrax.AbstractStepSizeController[Any, Any]):
    """Takes the steps that end at the given times, and rejects none.

    An implicit solver's derivative goes through the equations of each step. Those of a rejected step may have no
    solution, and then no derivative: reverse mode needs a solve without rejected steps.

    **Attributes:**

    - `ends`: `(steps,)`, infinite after the last, as `diffrax.SaveAt(steps=True)` gives them.
    """

    ends: Float[Array, " steps"]

    def wrap(self, direction):
        return self  # time goes on in all solves here

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        return jnp.minimum(self.ends[0], t1), jnp.asarray(1)

    def adapt_step_size(
        self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state
    ):
        # diffrax cuts the time off at the end of the solve.
        following = self.ends[jnp.minimum(controller_state, len(self.ends) - 1)]
        return (
            jnp.asarray(True),
            t1,
            following,
            jnp.asarray(False),
            controller_state + 1,
            diffrax.RESULTS.successful,
        )
