"""Whether the rows of a law are independent enough to be projected with; for every engine."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, IllConditionedWarning


def rank_margin(rcond: Any) -> Any:
    """How many times better than singular to rounding a reciprocal condition is; below 1 the rows of G are dependent.

    The last pivot of a repeated row is zero up to a few roundings, so its 1/κ is 0 or some ε. Arrays may be
    NumPy's or JAX's, traced ones too.
    """
    return rcond / (16 * np.finfo(rcond.dtype).eps)


def check_rows(
    rcond: Any,
    method: str,
    law: str = "the law",
    best: Callable[[int], float] | None = None,
) -> None:
    """Whether `method` can project accurately, given the reciprocal condition `(S,)` of the factors that it made.

    p has the relative error ε κ of the matrix that was factored: ε κ(G)² for the Cholesky factor of S, ε κ(G) for QR
    and SVD. More than √ε, half of all digits, is worth a warning.

    **Arguments:**

    - `rcond`: an estimate of 1/κ of the factors, 0 where the factorisation failed.
    - `method`: with which they were made.
    - `law`: what messages call it.
    - `best`: gives 1/κ(G) by QR in float64 at the state of that number, the worst one, which tells rows that repeat
        others from ones that a better method or precision tells apart.

    **Raises:** `pnde.errors.ConstraintError` if rows are dependent; warns `pnde.errors.IllConditionedWarning` if they
    nearly are.
    """
    rcond = np.asarray(rcond)
    dtype, at = rcond.dtype, int(np.argmin(rcond))
    worst = rcond.ravel()[at]
    if not rank_margin(worst) >= 1:
        seen = 0.0 if best is None else best(at)
        if dtype == np.float32 and rank_margin(_rcond(seen, method, dtype)) >= 1:
            # Not the rows: the squares of the gradient are too large or too small for float32, 1e-38 to 3e38.
            raise ConstraintError(
                f"the gradient of {law}, squared, is beyond the range of float32: give states or law in other units, "
                'or use solver.precision = "float64"'
            )
        remedy = _remedy(seen, method, dtype)
        if remedy:
            raise ConstraintError(
                f"rows of {law} are so nearly dependent (κ(G) = {1 / seen:.0e}) that {method!r} cannot project in "
                f"{dtype}: use {remedy}"
            )
        nearly = best is None and method == "cholesky"
        hint = ' ("qr" if they are only nearly dependent)' if nearly else ""
        raise ConstraintError(
            f"rows of {law} are dependent, so that {method!r} cannot project in {dtype}: remove a row that repeats "
            f'others, or use projection.method = "truncated"{hint}'
        )
    eps = float(np.finfo(dtype).eps)
    error = eps / float(worst)
    if error > eps**0.5:
        remedy = "state the law in other rows"
        if method == "cholesky":
            remedy = 'use projection.method = "qr"'
        if dtype == np.float32:
            remedy += ", or float64"
        warnings.warn(
            f"rows of {law} are nearly dependent: velocities projected by {method!r} in {dtype} have a relative error "
            f"of about {error:.0e}; {remedy}",
            IllConditionedWarning,
            stacklevel=3,
        )


def _remedy(best: float, method: str, dtype: Any) -> str:
    """The least change of settings with which rows of this 1/κ(G) are told apart; empty if there is none."""
    qr, double = 'projection.method = "qr"', 'solver.precision = "float64"'
    changes = [
        ("qr", dtype, qr),
        (method, np.dtype("float64"), double),
        ("qr", np.dtype("float64"), f"{qr} and {double}"),
    ]
    for way, precision, change in changes:
        margin = rank_margin(_rcond(best, way, precision))
        if (way, precision) != (method, dtype) and margin >= 1:
            return change
    return ""


def _rcond(best: float, method: str, dtype: Any) -> np.ndarray:
    """1/κ of what a method factors, of rows of this 1/κ(G)."""
    return np.asarray(best**2 if method == "cholesky" else best, dtype)
