"""Whether the rows of a law are independent enough to be projected with."""

from __future__ import annotations

import warnings

import numpy as np

from pnde.errors import ConstraintError, IllConditionedWarning


def check_rows(rcond: np.ndarray, method: str, law: str) -> None:
    """Whether `method` can project accurately, given the reciprocal condition `(S,)` of its factors.

    p has the relative error ε κ of the matrix that was factored: ε κ(G)² for the Cholesky factor of S, ε κ(G) for QR
    and SVD. More than √ε, half of all digits, is worth a warning.

    **Raises:** `pnde.errors.ConstraintError` if rows are dependent; warns `pnde.errors.IllConditionedWarning` if they
    nearly are.
    """
    eps, worst = float(np.finfo(rcond.dtype).eps), float(rcond.min())
    if not worst >= 16 * eps:
        raise ConstraintError(
            f"rows of {law} are dependent, so that {method!r} cannot project in {rcond.dtype}: remove a row that "
            'repeats others, or use projection.method = "truncated" ("qr" if they are only nearly dependent)'
        )
    error = eps / worst
    if error > eps**0.5:
        remedy = (
            'use projection.method = "qr"'
            if method == "cholesky"
            else "state the law in other rows"
        )
        if rcond.dtype == np.float32:
            remedy += ", or float64"
        warnings.warn(
            f"rows of {law} are nearly dependent: velocities projected by {method!r} in {rcond.dtype} have a relative "
            f"error of about {error:.0e}; {remedy}",
            IllConditionedWarning,
            stacklevel=3,
        )
