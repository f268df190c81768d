"""Values of any kind as float64, or a sentence that says why not."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.errors import DataError, shown

_COMPLEX = (
    "is complex; stack its real and imaginary parts as two states (x_re and x_im, say) and write "
    "the law for them"
)


def as_numbers(values: Any, what: str) -> np.ndarray:
    """`values` as float64: whole numbers and true or false too; NaN where an array is masked.

    **Raises:** `DataError` where they are complex, text, dates, anything else, or rows of unequal
    length; `what` names them.
    """
    if np.ma.isMaskedArray(values):
        return np.where(np.ma.getmaskarray(values), np.nan, as_numbers(values.data, what))
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{what} is no array: its rows differ in length") from None
    if np.iscomplexobj(array):
        raise DataError(f"{what} {_COMPLEX}")
    if array.dtype.kind == "O":
        return _of_objects(array, what)
    if array.dtype.kind not in "biuf":
        kind = {"M": "dates", "m": "durations", "U": "text", "S": "text", "T": "text"}
        raise DataError(
            f"{what} holds {kind.get(array.dtype.kind, str(array.dtype))} where numbers are meant"
        )
    return array.astype(np.float64)


def _of_objects(array: np.ndarray, what: str) -> np.ndarray:
    """Numbers such as those of `decimal`, and None for a missing one."""
    out = np.full(array.shape, np.nan)
    for at, value in np.ndenumerate(array):
        if isinstance(value, complex | np.complexfloating):
            raise DataError(f"{what} {_COMPLEX}")
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            continue
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            out[at] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"{what} holds {shown(value)} of type {type(value).__name__} where a number is meant"
            ) from None
    return out
