"""MATLAB's values on NumPy: real matrices, cell arrays, and how they are indexed and combined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Most elements that a matrix may have: a hundred times the largest table of a public grid.
LARGEST = 30_000_000


class MatlabError(Exception):
    """Why a statement cannot be worked out.

    **Arguments:**

    - `reason`: without the place, which is added where it is known.
    - `line`: where it is not that of the expression at hand.
    """

    def __init__(self, reason: str, line: int | None = None):
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True)
class Cells:
    """A cell array: values of any kind in an array of objects ``(rows, columns)``."""

    values: np.ndarray

    @classmethod
    def empty(cls) -> Cells:
        """A cell array without cells."""
        return cls(np.empty((0, 0), object))

    @classmethod
    def of_rows(cls, rows: list[list[Any]]) -> Cells:
        """``{a, b; c, d}``; a cell array among them is spread."""
        spread = [
            [y for x in row for y in (x.values.ravel() if isinstance(x, Cells) else [x])]
            for row in rows
        ]
        if len({len(row) for row in spread}) > 1:
            raise MatlabError("the rows of the cell array have different lengths")
        values = np.empty((len(spread), len(spread[0]) if spread else 0), object)
        for k, row in enumerate(spread):
            for j, value in enumerate(row):
                values[k, j] = value
        return cls(values)

    def copy(self) -> Cells:
        """A cell array of its own with the same values."""
        return Cells(self.values.copy())


@dataclass(frozen=True)
class Handle:
    """A function handle: it can be stored, never called."""


def kind_of(value: Any) -> str:
    """What messages call a value."""
    return {
        str: "a string",
        dict: "a structure",
        Cells: "a cell array",
        Handle: "a function handle",
    }.get(type(value), "a matrix of numbers")


def matrix(value: Any) -> np.ndarray:
    """A real or logical matrix of two dimensions."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, str | dict | Cells | Handle):
        raise MatlabError(f"{kind_of(value)} stands where a number is meant")
    return np.array([[value]], bool if isinstance(value, bool) else float)


def check_size(rows: float, columns: float = 1) -> None:
    """Refuse a matrix that no grid needs, before it fills the memory."""
    if not rows * columns <= LARGEST:  # also NaN
        raise MatlabError(f"a matrix of {rows:g} x {columns:g} numbers is more than any grid has")


def range_of(begin: Any, step: Any, end: Any) -> np.ndarray:
    """``begin:step:end`` as a row."""
    numbers = [matrix(x).ravel() for x in (begin, step, end)]
    if any(len(x) == 0 for x in numbers):
        return np.zeros((1, 0))
    a, b, c = (float(x[0]) for x in numbers)
    if b == 0 or not np.isfinite([a, b, c]).all() or (c - a) * b < 0:
        return np.zeros((1, 0))
    count = np.floor((c - a) / b * (1 + 1e-15) + 1e-10) + 1
    check_size(count)
    return (a + b * np.arange(int(count)))[None]


def joined(rows: list[list[Any]], lines: list[int]) -> Any:
    """``[a, b; c, d]``."""
    if any(isinstance(x, Cells | dict | Handle) for row in rows for x in row):
        raise MatlabError("cell arrays, structures or handles in a matrix are more than pnde reads")
    if any(isinstance(x, str) for row in rows for x in row):
        if len(rows) == 1 and all(isinstance(x, str) for x in rows[0]):
            return "".join(rows[0])
        raise MatlabError("strings in a matrix are more than pnde reads")
    parts = []
    for k, row in enumerate(rows):
        blocks = [matrix(x) for x in row if matrix(x).size]
        if len({len(x) for x in blocks}) > 1:
            raise MatlabError(f"the parts of row {k + 1} differ in height", lines[k])
        if blocks:
            parts.append((k, np.concatenate(blocks, axis=1)))
    if not parts:
        return np.zeros((0, 0))
    width = parts[0][1].shape[1]
    for k, part in parts:
        if part.shape[1] != width:
            raise MatlabError(
                f"row {k + 1} has {part.shape[1]} columns, the first row has {width}; complete "
                "the row",
                lines[k],
            )
    return np.concatenate([part for _, part in parts], axis=0)


def ruled(index: np.ndarray | None, size: int) -> list[int]:
    """Positions from 0 on that an index means; a logical index is a mask."""
    if index is None:
        return list(range(size))
    flat = index.ravel(order="F")
    if index.dtype == bool:
        return np.flatnonzero(flat).tolist()
    if not ((flat == np.round(flat)) & (flat >= 1)).all():
        raise MatlabError("an index is no whole number from 1 on")
    check_size(float(flat.max(initial=0)))
    return (flat.astype(int) - 1).tolist()


def indexed(array: np.ndarray, indices: list[np.ndarray | None]) -> np.ndarray:
    """``array(i)`` or ``array(i, j)``."""
    if len(indices) > 2:
        if any(x is not None and not (x == 1).all() for x in indices[2:]):
            raise MatlabError("an index is beyond the matrix")
        indices = indices[:2]
    if len(indices) == 1:
        at = ruled(indices[0], array.size)
        if at and max(at) >= array.size:
            raise MatlabError(f"index {max(at) + 1} is beyond the {array.size} elements")
        flat = array.ravel(order="F")[at]
        if indices[0] is None:
            return flat[:, None]
        shape = indices[0].shape
        if indices[0].dtype == bool:
            return flat[None] if len(array) == 1 else flat[:, None]
        if min(array.shape) == 1 and min(shape) == 1:  # a vector keeps its direction
            return flat[None] if len(array) == 1 and array.size > 1 else flat[:, None]
        return flat.reshape(shape, order="F")
    rows, columns = (ruled(x, n) for x, n in zip(indices, array.shape, strict=True))
    check_size(len(rows), len(columns))
    for at, size, what in ((rows, len(array), "row"), (columns, array.shape[1], "column")):
        if at and max(at) >= size:
            raise MatlabError(f"{what} {max(at) + 1} is beyond the {size} of the matrix")
    return array[np.ix_(rows, columns)]


def assigned_at(array: np.ndarray, indices: list[np.ndarray | None], value: Any) -> np.ndarray:
    """`array` with ``array(i, j) = value`` carried out; it grows where an index is beyond it."""
    if len(indices) == 1:
        column = array.shape[1] == 1 and len(array) != 1
        whole = indices[0] is None or indices[0].dtype == bool
        if not (1 in array.shape or array.size == 0 or whole):
            raise MatlabError("one index into a matrix is ambiguous; give row and column")
        if whole and 1 not in array.shape and array.size:
            flat = array.ravel(order="F").copy()
            flat[ruled(indices[0], array.size)] = _fitting(value, (len(flat), 1)).ravel()
            return flat.reshape(array.shape, order="F")
        one = np.ones((1, 1))
        indices = [indices[0], one] if column else [one, indices[0]]
    if len(indices) != 2:
        raise MatlabError("a matrix has rows and columns only")
    shape = array.shape
    if array.size == 0 and isinstance(value, np.ndarray):  # a(:, 1) = column of a new matrix
        shape = tuple(
            n if x is not None else max(n, m)
            for x, n, m in zip(indices, shape, value.shape, strict=True)
        )
    rows, columns = (ruled(x, n) for x, n in zip(indices, shape, strict=True))
    height = max(shape[0], max(rows, default=-1) + 1)
    width = max(shape[1], max(columns, default=-1) + 1)
    check_size(height, width)
    if (height, width) != array.shape:
        grown = np.zeros((height, width), array.dtype)
        grown[: array.shape[0], : array.shape[1]] = array
        array = grown
    if array.dtype == bool:
        array = array.astype(float)
    if array.dtype == object:
        for row in rows:
            for column_at in columns:
                array[row, column_at] = value
        return array
    array[np.ix_(rows, columns)] = _fitting(value, (len(rows), len(columns)))
    return array


def _fitting(value: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    if value.size == 1:
        return value.reshape(1, 1)
    if value.shape != shape:
        if value.size == shape[0] * shape[1] and 1 in shape and 1 in value.shape:
            return value.reshape(shape)
        raise MatlabError(
            f"{value.shape[0]} x {value.shape[1]} numbers do not fit {shape[0]} x {shape[1]} places"
        )
    return value


def without(array: np.ndarray, indices: list[np.ndarray | None]) -> np.ndarray:
    """``array(i, :) = []``: rows or columns removed."""
    if len(indices) == 1:
        at, axis = ruled(indices[0], array.size), int(array.shape[0] == 1)
        if 1 not in array.shape:
            raise MatlabError("only whole rows or columns can be removed")
    elif indices[1] is None:
        at, axis = ruled(indices[0], array.shape[0]), 0
    elif indices[0] is None:
        at, axis = ruled(indices[1], array.shape[1]), 1
    else:
        raise MatlabError("only whole rows or columns can be removed")
    if at and max(at) >= array.shape[axis]:
        raise MatlabError(f"index {max(at) + 1} is beyond the matrix")
    return np.delete(array, at, axis=axis)


_ELEMENTWISE: dict[str, Callable[[Any, Any], np.ndarray]] = {
    "+": np.add, "-": np.subtract, ".*": np.multiply, "./": np.divide,
    ".\\": lambda a, b: np.divide(b, a),
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "~=": np.not_equal,
    "&": np.logical_and, "|": np.logical_or,
}  # fmt: skip


def operated(operator: str, left: Any, right: Any) -> np.ndarray:
    """``left operator right``.

    **Raises:** [`pnde.grids.matlab.values.MatlabError`][] where sizes do not fit, the result is not
    real, or it takes linear algebra.
    """
    if operator in ("==", "~=") and (isinstance(left, str) and isinstance(right, str)):
        if len(left) != len(right):
            raise MatlabError("strings of different lengths are compared; use strcmp")
        same = np.array([[a == b for a, b in zip(left, right, strict=True)]])
        return same if operator == "==" else ~same
    a, b = matrix(left), matrix(right)
    if operator not in ("<", "<=", ">", ">=", "==", "~=", "&", "|"):
        a, b = a.astype(float), b.astype(float)
    one = a.size == 1 or b.size == 1
    if operator in ("*", "/", "\\", "^") and one:
        if not (operator == "/" and b.size != 1) and not (operator == "\\" and a.size != 1):
            operator = "." + operator
    if operator == "*":
        if a.shape[1] != b.shape[0]:
            raise MatlabError(
                f"{a.shape[0]} x {a.shape[1]} and {b.shape[0]} x {b.shape[1]} numbers cannot be "
                "multiplied"
            )
        check_size(len(a), b.shape[1])
        return a @ b
    if operator == ".^":
        with_root = (a < 0) & (b != np.round(b)) if _fit(a, b) else np.zeros(1, bool)
        if with_root.any():
            raise MatlabError("a root of a negative number is not real")
        return np.power(a, b)
    if operator not in _ELEMENTWISE:
        raise MatlabError(f"{operator!r} of matrices is linear algebra that pnde does not do")
    _fit(a, b)
    return _ELEMENTWISE[operator](a, b)


def _fit(a: np.ndarray, b: np.ndarray) -> bool:
    for n, m in zip(a.shape, b.shape, strict=True):
        if n != m and n != 1 and m != 1:
            raise MatlabError(
                f"{a.shape[0]} x {a.shape[1]} and {b.shape[0]} x {b.shape[1]} numbers do not fit "
                "together"
            )
    check_size(max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1]))
    return True
