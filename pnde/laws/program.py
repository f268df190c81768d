"""Functions of a state as data: what one engine traced, the other evaluates.

A program is a list of steps on flat arrays. Arrays of more dimensions lie in them row by row (C order), and whatever
only moves numbers about (indexing, slicing, transposing, stacking) is the one operation `take`. No step has a loop or a
branch, so one evaluation treats a whole batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Step(NamedTuple):
    """One operation.

    - `operation`: a name of `OPERATIONS`.
    - `operands`: numbers of values: the program's inputs, then its constants, then the results of the steps before.
    - `integers`: positions or sizes, as the operation needs them.
    """

    operation: str
    operands: tuple[int, ...]
    integers: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Program:
    """A function of flat arrays.

    - `inputs`: their sizes.
    - `constants`: float64, flat.
    - `steps`: in an order in which they can be taken.
    - `result`: the number of the value that the function gives.
    - `clock`: which input is the time, which stays in double precision until it meets the state; `None` without one.
    """

    inputs: tuple[int, ...]
    constants: tuple[np.ndarray, ...]
    steps: tuple[Step, ...]
    result: int
    clock: int | None = None

    def __call__(self, *inputs: Any) -> Any:
        """The result for inputs `(size,)`, as an array of the kind and precision of the first."""
        xp, dtype = inputs[0].__array_namespace__(), inputs[0].dtype
        values = [*inputs, *(xp.asarray(constant, dtype=dtype) for constant in self.constants)]
        for step in self.steps:
            operands = [values[k] for k in step.operands]
            if step.operation == "affine":
                # The entries of a matrix stay NumPy's: JAX would trace them.
                operands[0] = self.constants[step.operands[0] - len(inputs)]
            values.append(OPERATIONS[step.operation](xp, step.integers, *operands))
        return values[self.result]


def _take(xp: Any, positions: tuple[int, ...], *operands: Any) -> Any:
    """The numbers at positions in the operands, put one behind the other."""
    joined = operands[0] if len(operands) == 1 else xp.concatenate(operands)
    return joined[np.asarray(positions)]


def _spread(xp: Any, integers: tuple[int, ...], operand: Any) -> Any:
    """The transpose of `take`: each number is added at its position, in an array as long as the last integer says."""
    *positions, size = integers
    rows = np.zeros((size, len(positions)))
    rows[positions, np.arange(len(positions))] = 1
    return xp.asarray(rows, dtype=operand.dtype) @ operand


def _dot(xp: Any, sizes: tuple[int, ...], x: Any, y: Any) -> Any:
    """Σ_k x[b, i, k] y[b, j, k] `(b, i, j)`, of sizes (b, i, j, k)."""
    b, i, j, k = sizes
    product = xp.reshape(x, (b, i, k)) @ xp.swapaxes(xp.reshape(y, (b, j, k)), 1, 2)
    return xp.reshape(product, (-1,))


def _affine(xp: Any, integers: tuple[int, ...], values: Any, constant: Any, *operands: Any) -> Any:
    """A x + constant, x the operands one behind the other; the integers are rows, then columns of A's entries."""
    joined = operands[0] if len(operands) == 1 else xp.concatenate(operands)
    count = len(integers) // 2
    matrix = np.zeros((constant.shape[0], joined.shape[0]))
    matrix[list(integers[:count]), list(integers[count:])] = values
    return xp.asarray(matrix, dtype=joined.dtype) @ joined + constant


def _solve(xp: Any, sizes: tuple[int, ...], matrix: Any, right: Any) -> Any:
    """X of A X = B, A `(n, n)` and B `(n, k)`, of sizes (n, k)."""
    n, k = sizes
    solution = xp.linalg.solve(xp.reshape(matrix, (n, n)), xp.reshape(right, (n, k)))
    return xp.reshape(solution, (-1,))


def _cholesky(xp: Any, sizes: tuple[int, ...], matrix: Any) -> Any:
    """The lower Cholesky factor of A `(n, n)`."""
    return xp.reshape(xp.linalg.cholesky(xp.reshape(matrix, (*sizes, *sizes))), (-1,))


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda xp, _, *operands: function(xp, *operands)


def _named(name: str) -> Callable[..., Any]:
    return lambda xp, _, *operands: getattr(xp, name)(*operands)


def _along_last(name: str) -> Callable[..., Any]:
    """A function of runs of so many numbers as the first integer says."""

    def apply(xp: Any, integers: tuple[int, ...], operand: Any) -> Any:
        runs = xp.reshape(operand, (-1, integers[0]))
        return xp.reshape(getattr(xp, name)(runs, axis=1), (-1,))

    return apply


def _truth(x: Any) -> Any:
    return x if x.dtype == bool else x != 0


_NAMED = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
    *("atanh", "exp", "exp2", "expm1", "log", "log1p", "sqrt", "cbrt", "abs", "sign", "floor"),
    *("ceil", "round", "trunc", "isfinite", "add", "subtract", "multiply", "divide", "negative"),
    *("maximum", "minimum", "atan2", "less", "less_equal", "greater", "greater_equal", "equal"),
    "not_equal",
)

#: What each operation does, as a function of the array library, the step's integers and its operands.
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: _named({"atan2": "arctan2"}.get(name, name)) for name in _NAMED},
    "power": _elementwise(lambda xp, x, y: x**y),
    "rsqrt": _elementwise(lambda xp, x: 1 / xp.sqrt(x)),
    "logistic": _elementwise(lambda xp, x: 1 / (1 + xp.exp(-x))),
    "remainder": _elementwise(lambda xp, x, y: xp.fmod(x, y)),
    "number": _elementwise(lambda xp, x: xp.asarray(x, dtype=float) if x.dtype == bool else x),
    "not": _elementwise(lambda xp, x: ~_truth(x)),
    "and": _elementwise(lambda xp, x, y: _truth(x) & _truth(y)),
    "or": _elementwise(lambda xp, x, y: _truth(x) | _truth(y)),
    "select": _elementwise(lambda xp, condition, x, y: xp.where(_truth(condition), x, y)),
    "sum": _along_last("sum"),
    "product": _along_last("prod"),
    "largest": _along_last("max"),
    "smallest": _along_last("min"),
    "all": _along_last("all"),
    "any": _along_last("any"),
    "argmax": _along_last("argmax"),
    "argmin": _along_last("argmin"),
    "sort": _along_last("sort"),
    "cumsum": _along_last("cumsum"),
    "cumprod": _along_last("cumprod"),
    "take": _take,
    "spread": _spread,
    "dot": _dot,
    "affine": _affine,
    "solve": _solve,
    "cholesky": _cholesky,
}
