"""States that are known in part: channels that were sampled at different times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy  # of which only what is used is loaded: scipy.interpolate takes a quarter of a second

OntoManifold = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""A function of states `(trajectory, time, n)`, times `(trajectory, time)` and a mask `(trajectory, time)`. It gives
the states back, those of the mask on the manifold of a law."""

# A cubic needs four points.
FEWEST = 4
# An interval between known entries so many times longer than those around it is a gap: a spline says nothing about it.
LONGEST = 3.0


def interpolated(u: np.ndarray, t: np.ndarray) -> np.ndarray:
    """States `(time, n)` whose unknown entries come from a cubic spline through the state's known ones.

    Nothing is extrapolated: an entry stays NaN before the first and after the last known entry of its state, in a gap
    (three times as long as the intervals around it), and where a state has fewer than four known entries.

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
        values = scipy.interpolate.CubicSpline(own, column[known])(t[wanted])
        column[wanted] = np.where(is_gap(np.diff(own), LONGEST)[interval], np.nan, values)
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


def is_gap(intervals: np.ndarray, ratio: float) -> np.ndarray:
    """Which intervals `(k,)` are more than `ratio` times as long as the median of the three before and three after.

    Of those around it and not of all: steps may grow, as in log-spaced data.
    """
    if len(intervals) < 2:
        return np.zeros(len(intervals), bool)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(intervals, 3, "reflect"), 7)
    return intervals > ratio * np.median(np.delete(around, 3, axis=1), axis=1)
