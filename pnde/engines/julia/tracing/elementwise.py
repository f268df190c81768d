"""Rules for what is done element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pnde.engines.julia.tracing.rules import Rule, shapes
from pnde.engines.julia.tracing.steps import places, shape_of, size_of


def _rule(of: Callable[[Any, list[Any], Any, Any], Any]) -> Rule:
    """The rule of a function of (tracer, operands, params, shape of the output)."""

    def rule(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
        (shape,) = shapes(equation)
        return [of(tracer, [_as_large(tracer, x, shape) for x in operands], equation.params, shape)]

    return rule


def _as_large(tracer: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """x in a shape that its own stretches to; one number alone is left as it is."""
    own = shape_of(x)
    if size_of(x) == 1 or own == shape:
        return x
    return tracer.take([x], np.broadcast_to(places(own), shape))


def _same(operation: str) -> Rule:
    return _rule(lambda tracer, operands, params, shape: tracer.emit(operation, operands, shape))


def _unchanged(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    return list(operands)


def _integer_pow(tracer: Any, operands: list[Any], params: Any, shape: Any) -> Any:
    (x,), exponent = operands, params["y"]
    if exponent == 2:
        return tracer.emit("multiply", [x, x], shape)
    return tracer.emit("power", [x, float(exponent)], shape)


def _square(tracer: Any, operands: list[Any], params: Any, shape: Any) -> Any:
    return tracer.emit("multiply", [operands[0], operands[0]], shape)


def _convert(tracer: Any, operands: list[Any], params: Any, shape: Any) -> Any:
    kind = np.dtype(params["new_dtype"]).kind
    if kind == "b":
        return tracer.emit("not_equal", [operands[0], 0.0], shape)
    number = tracer.emit("number", operands, shape)
    return tracer.emit("trunc", [number], shape) if kind in "iu" else number


def _select(tracer: Any, operands: list[Any], params: Any, shape: Any) -> Any:
    which, chosen, *others = operands
    if len(others) == 1:
        return tracer.emit("select", [which, others[0], chosen], shape)
    for k, other in enumerate(others, start=1):
        later = tracer.emit("greater_equal", [which, float(k)], shape)
        chosen = tracer.emit("select", [later, other, chosen], shape)
    return chosen


def _round(tracer: Any, operands: list[Any], params: Any, shape: Any) -> Any:
    if int(params["rounding_method"]) == 1:  # half to even
        return tracer.emit("round", operands, shape)
    size = tracer.emit(
        "floor", [tracer.emit("add", [tracer.emit("abs", operands, shape), 0.5], shape)], shape
    )
    return tracer.emit("multiply", [tracer.emit("sign", operands, shape), size], shape)


def _clamp(tracer: Any, operands: list[Any], params: Any, shape: Any) -> Any:
    low, x, high = operands
    return tracer.emit("minimum", [tracer.emit("maximum", [low, x], shape), high], shape)


RULES: dict[str, Rule] = {
    **{name: _same(name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "abs")},
    **{name: _same(name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt")},
    **{name: _same(name) for name in ("exp", "exp2", "expm1", "log", "log1p", "cbrt", "rsqrt")},
    **{name: _same(name) for name in ("sign", "floor", "ceil", "logistic", "not", "and", "or")},
    **dict.fromkeys(("copy", "copy_p", "stop_gradient", "optimization_barrier"), _unchanged),
    "reduce_precision": _unchanged,
    "add": _same("add"),
    "add_any": _same("add"),
    "sub": _same("subtract"),
    "mul": _same("multiply"),
    "div": _same("divide"),
    "neg": _same("negative"),
    "max": _same("maximum"),
    "min": _same("minimum"),
    "pow": _same("power"),
    "rem": _same("remainder"),
    "lt": _same("less"),
    "le": _same("less_equal"),
    "gt": _same("greater"),
    "ge": _same("greater_equal"),
    "eq": _same("equal"),
    "ne": _same("not_equal"),
    "is_finite": _same("isfinite"),
    "integer_pow": _rule(_integer_pow),
    "square": _rule(_square),
    "convert_element_type": _rule(_convert),
    "select_n": _rule(_select),
    "clamp": _rule(_clamp),
    "round": _rule(_round),
}
