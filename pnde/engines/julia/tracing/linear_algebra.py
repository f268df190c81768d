"""Rules for systems of linear equations: each is one step, which solves with a dense matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.engines.julia.tracing.rules import Rule, opened, shapes
from pnde.engines.julia.tracing.steps import Missing, places, shape_of


def _triangular_solve(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    """The matrix with its other half made zero, and a plain solve."""
    (matrix, right), params, (shape,) = operands, equation.params, shapes(equation)
    _no_batches(tracer, equation, shape)
    n = shape_of(matrix)[0]
    row, column = np.indices((n, n))
    inside = row >= column if params["lower"] else row <= column
    moved = np.where(inside, places((n, n)), n * n)
    if params["unit_diagonal"]:
        moved = np.where(row == column, n * n + 1, moved)
    # X A = B is AᵀXᵀ = Bᵀ.
    left = params["left_side"]
    if params["transpose_a"] == left:
        moved = moved.T
    matrix = tracer.take([matrix, 0.0, 1.0], moved)
    if not left:
        right = tracer.take([right], places(shape).T)
    count = shape[1] if left else shape[0]
    solution = tracer.emit("solve", [matrix, right], (n, count), [n, count])
    return [solution if left else tracer.take([solution], places((n, count)).T)]


def _cholesky(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    (matrix,), (shape,) = operands, shapes(equation)
    _no_batches(tracer, equation, shape)
    if equation.params.get("symmetrize_input"):
        both = tracer.emit("add", [matrix, tracer.take([matrix], places(shape).T)], shape)
        matrix = tracer.emit("multiply", [0.5, both], shape)
    return [tracer.emit("cholesky", [matrix], shape, [shape[0]])]


def _lu(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    # Its results are needed where its matrix is not solved with, and a solve has a step of its own.
    return [Missing(-1, shape, "lu", tracer.where) for shape in shapes(equation)]


def _custom_linear_solve(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    """The matrix, column by column, from the product with it that the solve is defined by; then a plain solve."""
    params, (shape,) = equation.params, shapes(equation)
    constants = operands[: params["const_lengths"].matvec]
    (right,) = operands[sum(params["const_lengths"]) :]
    n = int(np.prod(shape))
    product, units = opened(params["jaxprs"].matvec), np.eye(n)
    columns = [tracer.inline(*product, [*constants, unit.reshape(shape)])[0] for unit in units]
    matrix = tracer.take(columns, places((n, n)).T)
    return [tracer.emit("solve", [matrix, right], shape, [n, 1])]


def _no_batches(tracer: Any, equation: Any, shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise tracer.missing(f"{equation.primitive.name} of several matrices at once")


RULES: dict[str, Rule] = {
    "triangular_solve": _triangular_solve,
    "cholesky": _cholesky,
    "lu": _lu,
    "custom_linear_solve": _custom_linear_solve,
}
