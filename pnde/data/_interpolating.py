"""States that are known in part: channels that were sampled at different times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

OntoManifold = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""A function of states `(trajectory, time, n)`, times `(trajectory, time)` and a mask `(trajectory, time)`. It gives
the states back, those of the mask on the manifold of a law."""

# A cubic needs four points.
FEWEST = 4
# A stretch between known entries that is so many times longer than both of its neighbours is a gap, not a sampling
# interval: a spline says nothing about what happened there. Neighbours, since steps may grow, as in log-spaced data.
LONGEST = 3.0


def interpolated(u: np.ndarray, t: np.ndarray) -> np.ndarray:
    """States `(time, n)` whose unknown entries come from a cubic spline through the state's known ones.

    Nothing is extrapolated: an entry stays NaN before the first and after the last known entry of its state, in a gap
    (three times as long as the intervals beside it), and where a state has fewer than four known entries.

    **Arguments:**

    - `u`: states of one trajectory `(time, n)`, NaN where unknown.
    - `t`: its times `(time,)`, NaN behind its end.
    """
    out = u.copy()
    timed = np.isfinite(t)
    for column in out.T:
        known = np.isfinite(column) & timed
        wanted = timed & ~known
        if known.sum() < FEWEST or not wanted.any():
            continue
        own = t[known]
        wanted &= (t > own[0]) & (t < own[-1])
        interval = np.searchsorted(own, t[wanted]) - 1
        values = CubicSpline(own, column[known])(t[wanted])
        column[wanted] = np.where(_is_gap(np.diff(own))[interval], np.nan, values)
    return out


def completed(
    u: np.ndarray, t: np.ndarray, onto_manifold: OntoManifold | None = None
) -> np.ndarray:
    """States `(trajectory, time, n)` whose samples that are known in part are `interpolated`."""
    known = np.isfinite(u)
    partly = known.any(axis=-1) & ~known.all(axis=-1)
    rows = np.flatnonzero(partly.any(axis=1))
    if not rows.size:
        return u
    out = u.copy()
    for row in rows:
        out[row, partly[row]] = interpolated(u[row], t[row])[partly[row]]
    if onto_manifold is not None:
        wanted = partly[rows] & np.isfinite(out[rows]).all(axis=-1)
        out[rows] = onto_manifold(out[rows], t[rows], wanted)
    return out


def _is_gap(intervals: np.ndarray) -> np.ndarray:
    """Which intervals `(k,)` are out of all proportion to the ones before and after."""
    padded = np.concatenate([[0.0], intervals, [0.0]])
    return intervals > LONGEST * np.maximum(padded[:-2], padded[2:])
