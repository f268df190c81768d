"""What the rules share. A rule gives the outputs of one equation of a jaxpr, some of whose operands are not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

#: Of (tracer, equation, operands).
Rule = Callable[[Any, Any, list[Any]], list[Any]]


def shapes(equation: Any) -> list[tuple[int, ...]]:
    """The shapes of an equation's outputs."""
    return [tuple(out.aval.shape) for out in equation.outvars]


def opened(jaxpr: Any) -> tuple[Any, list[Any]]:
    """A jaxpr and its constants."""
    return (jaxpr.jaxpr, list(jaxpr.consts)) if hasattr(jaxpr, "consts") else (jaxpr, [])


def evaluated(equation: Any, operands: list[Any]) -> list[np.ndarray]:
    """The outputs of an equation for known operands."""
    bound = equation.primitive.bind(*(jax.numpy.asarray(x) for x in operands), **equation.params)
    return [np.asarray(x) for x in (bound if equation.primitive.multiple_results else [bound])]
