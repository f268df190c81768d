"""Cells of a table as numbers, each kind of failure with its line, column and remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pnde.errors import DataError, shown

# D is Fortran's mark of a double precision exponent.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d{1,4})?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d*,\d+([eEdD][+-]?\d{1,4})?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,.' ]\d{3})+([.,]\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_MISSING = frozenset(("", "nan", "-nan", "na", "n/a", "#n/a", "<na>", "null", "none", "nat"))
_TRUTH = {"true": 1.0, "false": 0.0}


def numbers_of(column: pd.Series, where: Callable[[int], str], decimal: str = ".") -> np.ndarray:
    """A column as float64 ``(rows,)``, NaN where a cell is empty or says that it is missing.

    **Arguments:** `where` tells the line and column of a row; `decimal` is the decimal mark of texts.

    **Raises:** `DataError` where a cell is no number, infinite or complex.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return numbers_of(column.astype(dtype.categories.dtype), where, decimal)
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        if pd.api.types.is_complex_dtype(dtype):
            raise DataError(f"{where(0)}: {_COMPLEX}")
        values = column.to_numpy(np.float64, na_value=np.nan)
    elif isinstance(dtype, pd.DatetimeTZDtype) or dtype.kind in "mM":
        raise DataError(f"{where(0)} holds dates or durations where a number is meant")
    else:
        values = _of_cells(column, where, decimal)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise DataError(
            f"{where(int(infinite[0]))}: the value is infinite; leave the cell of a missing sample "
            "empty"
        )
    return values


_COMPLEX = "the values are complex; stack real and imaginary parts as two columns"


def _of_cells(column: pd.Series, where: Callable[[int], str], decimal: str) -> np.ndarray:
    cells = column.tolist()
    values = np.empty(len(cells))
    truths = 0
    for row, cell in enumerate(cells):
        number = _number(cell, decimal)
        if number is None:
            raise DataError(f"{where(row)}: {_why_not(cell, decimal)}")
        values[row] = number
        truths += isinstance(cell, bool) or str(cell).strip().casefold() in _TRUTH
    # One true among numbers is a slip, a column of them is a switch.
    if 0 < truths < np.count_nonzero(~np.isnan(values)):
        row = next(i for i, c in enumerate(cells) if str(c).strip().casefold() in _TRUTH)
        raise DataError(f"{where(row)}: {shown(cells[row])} stands among numbers")
    return values


def _number(cell: Any, decimal: str) -> float | None:
    """A cell's number, NaN for a missing one, `None` for anything else."""
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return np.nan
    if not isinstance(cell, str):
        try:
            return None if isinstance(cell, bytes | complex) else float(cell)
        except (TypeError, ValueError, OverflowError):
            return None
    text = cell.strip()
    folded = text.casefold()
    if folded in _MISSING:
        return np.nan
    if folded in _TRUTH:
        return _TRUTH[folded]
    if _INFINITE.fullmatch(text):
        return np.inf
    if decimal == ",":
        if "." in text:
            return None
        text = text.replace(",", ".")
    if not _NUMBER.fullmatch(text):
        return None
    return float(text.translate(_EXPONENT))


_EXPONENT = str.maketrans("dD", "ee")


def looks_like_number(cell: str) -> bool:
    """Whether a cell of text is a number, with a decimal point or comma, or says that one is missing."""
    return _number(cell, ".") is not None or _number(cell, ",") is not None


def has_decimal_comma(column: pd.Series) -> bool:
    """Whether any cell of a column is a number with a decimal comma."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    return any(isinstance(cell, str) and _COMMA.fullmatch(cell.strip()) for cell in column)


def _why_not(cell: Any, decimal: str) -> str:
    text = str(cell).strip()
    if isinstance(cell, complex) or _is_complex(text):
        return f"{shown(text)} is not a number; stack real and imaginary parts as two columns"
    if decimal == "," and _number(text, ".") is not None:
        return (
            f"{shown(text)} has a decimal point, but other cells have a decimal comma; write all "
            "numbers alike, without thousands separators"
        )
    if decimal == "." and _COMMA.fullmatch(text):
        return (
            f"{shown(text)} has a decimal comma in a file separated by commas; write decimal "
            "points, or separate the columns by semicolons"
        )
    if _THOUSANDS.fullmatch(text):
        return f"{shown(text)} has thousands separators; write the number without them"
    return f"{shown(text)} is not a number; leave the cell of a missing sample empty"


def _is_complex(text: str) -> bool:
    if not text.endswith(("i", "j", "I", "J")) or len(text) > 100:
        return False
    try:
        complex(text[:-1].replace(" ", "").replace("*", "") + "j")
    except ValueError:
        return False
    return True
