"""Whether a law and its twin in Julia are the same law: both are there, so they are compared on the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.engines import get
from pnde.errors import ConstraintError
from pnde.laws import Constraint, Instant

_STATES = 256  # of the data, spread evenly
_TOLERANCE = 1e-8  # relative to the size of the row
_NEARBY = 1e-2  # distance of the states that tell how large a row is, in units of the states' size


def check_twin(constraint: Constraint, u: np.ndarray, at: Instant, values: np.ndarray) -> None:
    """Whether the values `(B, m)` that the twin gave at states `(B, n)` and as many instants are the law's own.

    **Raises:** `pnde.errors.ConstraintError` naming the row, both values and the state.
    """
    chosen = np.unique(np.linspace(0, len(u) - 1, min(_STATES, len(u))).astype(int))
    if not len(chosen):
        return
    # Filled up, so that the law is compiled once.
    chosen = np.concatenate([chosen, np.repeat(chosen[-1:], _STATES - len(chosen))])
    there = at.pick(chosen)
    expected = _own_values(constraint, u[chosen], there)
    found = values[chosen]
    if expected.shape != found.shape:
        raise ConstraintError(
            f"the twin of the law {constraint.label!r} has {found.shape[1]} rows in Julia, but the law itself has "
            f"{expected.shape[1]} in Python; correct julia="
        )
    # Data on the manifold of h = 0 have nothing but rounding in h itself, so its size is that of states nearby too.
    largest = np.abs(u[chosen]).max(axis=0)
    step = _NEARBY * np.where(largest > 0, largest, largest.max() or 1.0)
    waves = np.sin(1.0 + np.arange(u[chosen].size)).reshape(u[chosen].shape)
    nearby = _own_values(constraint, u[chosen] + step * waves, there)
    size = np.nanmax(np.abs([*expected, *nearby]), axis=0, initial=np.finfo(float).tiny)
    apart = np.abs(found - expected) / size
    apart = np.where(np.isfinite(expected) != np.isfinite(found), np.inf, np.nan_to_num(apart))
    if apart.max() > _TOLERANCE:
        k, row = np.unravel_index(np.argmax(apart), apart.shape)
        state = ", ".join(f"{x:.4g}" for x in u[chosen[k]][:4])
        more = ", …" if u.shape[1] > 4 else ""
        raise ConstraintError(
            f"the twin of the law {constraint.label!r} is another law: row "
            f"{constraint.row_names(expected.shape[1])[row]!r} is {found[k, row]:.6g} in Julia but "
            f"{expected[k, row]:.6g} in Python at the state ({state}{more}); correct julia=, or leave it away"
        )


def _own_values(constraint: Constraint, u: np.ndarray, at: Instant) -> np.ndarray:
    try:
        return get("jax").law(constraint, u, at)
    except ConstraintError as error:
        # One that is written with NumPy can only be asked state by state.
        own: Any = constraint
        try:
            rows = [own.value(state, at.pick(k)) for k, state in enumerate(u)]
            return np.array(rows, dtype=float)
        except Exception:
            raise error from None
