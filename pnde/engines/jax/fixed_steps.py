"""Steps of one size, from wherever the last one ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
from jaxtyping import Array


class FixedSteps(diffrax.AbstractAdaptiveStepSizeController[Array, Any]):
    """Steps of the size of the first, also behind one that is cut short to end at a jump.

    diffrax's `ConstantStepSize` counts them from the start: the next one would be longer. Only what is called adaptive
    can be cut short in diffrax, and it has tolerances, which nothing asks for here.
    """

    rtol: float = 0.0
    atol: float = 0.0
    norm: Callable[[Any], Any] = diffrax.PIDController.norm

    def wrap(self, direction):
        return self  # time goes on in all solves here

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        return t0 + dt0, dt0

    def adapt_step_size(
        self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state
    ):
        following = t1 + controller_state
        return True, t1, following, False, controller_state, diffrax.RESULTS.successful
