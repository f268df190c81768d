"""Rules for what moves numbers, and for what runs over axes, which are moved behind the others first."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from pnde.engines.julia.tracing.rules import Rule, evaluated, shapes
from pnde.engines.julia.tracing.steps import Value, places, shape_of, size_of


def _move(count: int | None, indices_between: bool = False) -> Rule:
    """Whatever moves numbers, done with their positions in place of them.

    **Arguments:**

    - `count`: how many of the operands are numbers; the others, which follow, say where to. `None`: all are numbers.
    - `indices_between`: whether those that say where to are in the second place instead.
    """

    def rule(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
        data = operands[:count]
        indices = operands[len(data) :]
        if indices_between:
            data, indices = [operands[0], *operands[2:]], operands[1:2]
        if any(isinstance(x, Value) for x in indices):
            raise tracer.missing(f"{equation.primitive.name} at an index that depends on the state")
        ends = np.cumsum([0, *map(size_of, data)])
        moved = [places(shape_of(x), end) for x, end in zip(data, ends[:-1], strict=True)]
        order = [moved[0], *indices, *moved[1:]] if indices_between else [*moved, *indices]
        outputs = evaluated(equation, order)
        if any((out < 0).any() for out in outputs):
            # An index out of bounds, where JAX puts NaN.
            data, outputs = [*data, np.nan], [np.where(out < 0, ends[-1], out) for out in outputs]
        return [tracer.take(data, out) for out in outputs]

    return rule


def _scatter_add(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    """operand + Σ updates at their places, which are the cotangents of the updates for the places themselves."""
    operand, indices, updates = operands
    if isinstance(indices, Value):
        raise tracer.missing("scatter-add at an index that depends on the state")
    (shape,) = shapes(equation)

    def scattered(x: Any) -> Any:
        return equation.primitive.bind(np.zeros(shape), indices, x, **equation.params)

    pull = jax.vjp(scattered, np.zeros(shape_of(updates)))[1]
    (landing,) = pull(jax.numpy.asarray(1.0 + places(shape)))
    landed = np.ravel(np.asarray(landing)).astype(int) - 1
    kept = np.flatnonzero(landed >= 0)
    if len(kept) < len(landed):
        updates = tracer.take([updates], kept)
    spread = tracer.emit("spread", [updates], shape, [*landed[kept], int(np.prod(shape))])
    return [tracer.emit("add", [operand, spread], shape)]


def _over(operation: str) -> Rule:
    """A reduction over axes."""

    def rule(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
        (x,), axes = operands, tuple(int(axis) for axis in equation.params["axes"])
        if not axes:
            return [x]
        order = [axis for axis in range(len(x.shape)) if axis not in axes]
        last = tracer.take([x], places(x.shape).transpose(*order, *axes))
        count = int(np.prod([x.shape[axis] for axis in axes]))
        return [tracer.emit(operation, [last], shapes(equation)[0], [count])]

    return rule


def _along(operation: str) -> Rule:
    """A function along one axis that keeps the shape."""

    def rule(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
        if len(operands) > 1:
            raise tracer.missing("sort of several arrays")
        (shape,), params = shapes(equation)[:1], equation.params
        axis = int(params["axis"] if "axis" in params else params["dimension"])
        moved = np.moveaxis(places(shape), axis, -1)
        if params.get("reverse"):
            moved = moved[..., ::-1]
        done = tracer.emit(operation, [tracer.take(operands, moved)], moved.shape, [shape[axis]])
        return [tracer.take([done], np.argsort(moved.ravel()).reshape(shape))]

    return rule


def _dot_general(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    """Both sides with the axes (shared, own, summed over), in this order."""
    contracted, batched = equation.params["dimension_numbers"][:2]
    sides, free, batch, inner = [], [], 1, 1
    for x, over, along in zip(operands, contracted, batched, strict=True):
        shape = shape_of(x)
        own = [axis for axis in range(len(shape)) if axis not in (*over, *along)]
        moved = places(shape).transpose(*along, *own, *over)
        sides.append(tracer.take([x], moved) if isinstance(x, Value) else np.ravel(x)[moved])
        batch, count, inner = (
            int(np.prod([shape[axis] for axis in axes])) for axes in (along, own, over)
        )
        free.append(count)
    return [tracer.emit("dot", sides, shapes(equation)[0], [batch, *free, inner])]


RULES: dict[str, Rule] = {
    **dict.fromkeys(("reshape", "squeeze", "transpose", "broadcast_in_dim", "slice"), _move(None)),
    **dict.fromkeys(("rev", "concatenate", "pad", "stack", "unstack", "split"), _move(None)),
    **dict.fromkeys(("expand_dims", "tile"), _move(None)),
    **dict.fromkeys(("dynamic_slice", "gather"), _move(1)),
    "dynamic_update_slice": _move(2),
    "scatter": _move(None, indices_between=True),
    "scatter-add": _scatter_add,
    "reduce_sum": _over("sum"),
    "reduce_prod": _over("product"),
    "reduce_max": _over("largest"),
    "reduce_min": _over("smallest"),
    "reduce_and": _over("all"),
    "reduce_or": _over("any"),
    "argmax": _over("argmax"),
    "argmin": _over("argmin"),
    "cumsum": _along("cumsum"),
    "cumprod": _along("cumprod"),
    "sort": _along("sort"),
    "dot_general": _dot_general,
}
