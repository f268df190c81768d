"""The functions that arithmetic in case files calls: of numbers, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pnde.grids.matlab.values import Cells, MatlabError, check_size, matrix

CONSTANTS = {
    "pi": np.pi,
    "Inf": np.inf,
    "inf": np.inf,
    "NaN": np.nan,
    "nan": np.nan,
    "eps": np.finfo(float).eps,
    "true": True,
    "false": False,
}

_Function = Callable[[list[Any]], Any]


def _of_each(function: Callable[[np.ndarray], np.ndarray]) -> _Function:
    """A function of each element; where a number has no real value, MATLAB's would be complex."""

    def call(given: list[Any]) -> np.ndarray:
        value = matrix(_one(given))
        result = function(value.astype(float))
        if (np.isnan(result) & ~np.isnan(value)).any():
            raise MatlabError("its result is not real")
        return result

    return call


def _along(function: Callable[..., np.ndarray]) -> _Function:
    """A function of each column, or of the row that a matrix is."""

    def call(given: list[Any]) -> np.ndarray:
        value = matrix(given[0]) if given else matrix(_one(given))
        axis = int(len(value) == 1)
        if len(given) == 2:
            axis = int(matrix(given[1]).item()) - 1
            if axis not in (0, 1):
                raise MatlabError("a matrix has two dimensions")
        elif len(given) > 2:
            raise MatlabError("it has too many arguments")
        if value.size == 0:
            return function(np.zeros((0, 1)), axis=0, keepdims=True)
        return function(value, axis=axis, keepdims=True)

    return call


def _extreme(pair: Callable[[Any, Any], np.ndarray], reduce: Any) -> _Function:
    def call(given: list[Any]) -> np.ndarray:
        if len(given) == 2:
            return pair(matrix(given[0]), matrix(given[1]))
        value = matrix(_one(given))
        if value.size == 0:
            return value
        return np.asarray(reduce(value, axis=int(len(value) == 1), keepdims=True))

    return call


def _one(given: list[Any]) -> Any:
    if len(given) != 1:
        raise MatlabError(f"it takes one argument, not {len(given)}")
    return given[0]


def _filled(number: float) -> _Function:
    def call(given: list[Any]) -> np.ndarray:
        sizes = [float(x) for part in given for x in matrix(part).ravel()]
        rows, columns = {0: (1.0, 1.0), 1: (sizes * 2)}.get(len(sizes), sizes)[:2]
        check_size(rows, columns)
        return np.full((max(0, int(rows)), max(0, int(columns))), number)

    return call


def _eye(given: list[Any]) -> np.ndarray:
    shape = _filled(0.0)(given).shape
    return np.eye(*shape)


def _size(given: list[Any]) -> np.ndarray:
    held = given[0] if given else _one(given)
    if isinstance(held, str):
        shape: tuple[int, ...] = (1, len(held))
    else:
        shape = (held.values if isinstance(held, Cells) else matrix(held)).shape
    if len(given) == 2:
        axis = int(matrix(given[1]).item())
        return matrix(float(shape[axis - 1] if axis in (1, 2) else 1))
    return np.array([shape], float)


def _find(given: list[Any]) -> np.ndarray:
    value = matrix(_one(given))
    at = np.flatnonzero(value.ravel(order="F")) + 1.0
    return at[None] if len(value) == 1 and value.size > 1 else at[:, None]


def _repmat(given: list[Any]) -> np.ndarray:
    value = matrix(given[0]) if given else matrix(_one(given))
    rows, columns = _filled(0.0)(given[1:]).shape
    check_size(rows * len(value), columns * value.shape[1])
    return np.tile(value, (rows, columns))


def _strcmp(given: list[Any]) -> np.ndarray:
    if len(given) != 2:
        raise MatlabError("it takes two arguments")
    one, two = given
    return matrix(isinstance(one, str) and isinstance(two, str) and one == two)


def _isfield(given: list[Any]) -> np.ndarray:
    if len(given) != 2 or not isinstance(given[1], str):
        raise MatlabError("it takes a structure and a name")
    return matrix(isinstance(given[0], dict) and given[1] in given[0])


def _struct(given: list[Any]) -> dict[str, Any]:
    names, values = given[::2], given[1::2]
    if len(names) != len(values) or not all(isinstance(x, str) for x in names):
        raise MatlabError("it takes names and values in turn")
    return dict(zip(names, values, strict=True))


def _logical(function: Callable[[np.ndarray], np.ndarray]) -> _Function:
    return lambda given: function(matrix(_one(given)))


_REAL: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "sind": lambda x: np.sin(np.deg2rad(x)), "cosd": lambda x: np.cos(np.deg2rad(x)),
    "tand": lambda x: np.tan(np.deg2rad(x)),
    "asind": lambda x: np.rad2deg(np.arcsin(x)),
    "acosd": lambda x: np.rad2deg(np.arccos(x)),
    "atand": lambda x: np.rad2deg(np.arctan(x)),
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log10": np.log10, "log2": np.log2,
    "abs": np.abs, "sign": np.sign, "round": lambda x: np.sign(x) * np.floor(abs(x) + 0.5),
    "floor": np.floor, "ceil": np.ceil, "fix": np.trunc, "real": np.real, "double": np.array,
    "deg2rad": np.deg2rad, "rad2deg": np.rad2deg,
}  # fmt: skip

FUNCTIONS: dict[str, _Function] = {
    **{name: _of_each(function) for name, function in _REAL.items()},
    "isnan": _logical(np.isnan), "isinf": _logical(np.isinf), "isfinite": _logical(np.isfinite),
    "sum": _along(np.sum), "prod": _along(np.prod), "any": _along(np.any), "all": _along(np.all),
    "mean": _along(np.mean),
    "max": _extreme(np.fmax, np.nanmax), "min": _extreme(np.fmin, np.nanmin),
    "zeros": _filled(0.0), "ones": _filled(1.0), "eye": _eye,
    "size": _size, "repmat": _repmat, "find": _find,
    "numel": lambda given: matrix(float(np.prod(_size(given[:1])))),
    "length": lambda given: matrix(float(_size(given[:1]).max() * bool(_size(given[:1]).all()))),
    "isempty": lambda given: matrix(not _size(given[:1]).all()),
    "strcmp": _strcmp, "isfield": _isfield, "struct": _struct,
}  # fmt: skip
