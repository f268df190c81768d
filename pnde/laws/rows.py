"""What a law's function returns, as an array."""

from __future__ import annotations

from typing import Any

from pnde.errors import ConstraintError


def as_row(value: Any, u: Any, label: str) -> Any:
    """A number, a sequence of numbers or an array `(m,)`, as an array `(m,)` of the kind of `u`.

    **Raises:** `pnde.errors.ConstraintError` saying what the law `label` returns instead.
    """
    xp = u.__array_namespace__()
    wanted = "it has to return a number, or a number for each row"
    if isinstance(value, tuple | list):
        entries = [_array(entry, xp, label, wanted) for entry in value]
        for i, entry in enumerate(entries):
            if entry.shape != ():
                raise ConstraintError(
                    f"row {i} of the law {label!r} is an array of shape {entry.shape}; {wanted}"
                )
        if not entries:
            raise ConstraintError(
                f"the law {label!r} returns nothing: an empty {type(value).__name__}"
            )
        return xp.stack([xp.asarray(entry, dtype=u.dtype) for entry in entries])
    array = _array(value, xp, label, wanted)
    if array.ndim > 1 or array.size == 0:
        raise ConstraintError(
            f"the law {label!r} returns an array of shape {array.shape}; {wanted}"
        )
    return xp.reshape(xp.asarray(array, dtype=u.dtype), (-1,))


def _array(value: Any, xp: Any, label: str, wanted: str) -> Any:
    if value is None:
        raise ConstraintError(f"the law {label!r} returns None (is a return missing?); {wanted}")
    if isinstance(value, str | bytes | dict | set):
        raise ConstraintError(f"the law {label!r} returns {type(value).__name__}; {wanted}")
    array = value if hasattr(value, "dtype") and hasattr(value, "shape") else xp.asarray(value)
    if array.dtype.kind in "bc":
        kind = "a truth value" if array.dtype.kind == "b" else "complex numbers"
        remedy = (
            "; return real and imaginary parts as two rows" if kind[0] == "c" else f"; {wanted}"
        )
        raise ConstraintError(f"the law {label!r} returns {kind}{remedy}")
    return array
