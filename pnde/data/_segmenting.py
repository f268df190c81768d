"""Trajectories cut into the short segments that training solves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from pnde.errors import DataError

from ._layout import TIME_TOLERANCE, time_matrix


@dataclass(frozen=True, eq=False)
class Segments:
    """S segments of k steps (k + 1 points), without gaps.

    **Attributes:**

    - `u`: states ``(S, k + 1, n)``, physical units; ``u[:, 0]`` are the initial states.
    - `t`: times ``(S, k + 1)``.
    - `trajectory`: position of the trajectory in the data set ``(S,)``.
    - `start`: sample at which the segment starts in its trajectory ``(S,)``.
    """

    u: np.ndarray
    t: np.ndarray
    trajectory: np.ndarray
    start: np.ndarray

    def __len__(self) -> int:
        return len(self.u)

    @property
    def steps(self) -> int:
        """k, the number of steps of each segment."""
        return self.u.shape[1] - 1

    @cached_property
    def relative_times(self) -> np.ndarray:
        """Times since the start of each segment, ``(S, k + 1)``."""
        return self.t - self.t[:, :1]

    @cached_property
    def uniform(self) -> bool:
        """Whether all segments share one relative time grid, to 1e-9 of its span."""
        times = self.relative_times
        # Large absolute times (seconds of an epoch) lose digits in the difference.
        rounding = 4 * np.finfo(np.float64).eps * np.abs(self.t).max()
        tolerance = TIME_TOLERANCE * times[0, -1] + rounding
        return bool((np.abs(times - times[0]) <= tolerance).all())


def segments(ds: xr.Dataset, steps: int = 4) -> Segments:
    """Cut the trajectories into consecutive segments of `steps` steps.

    A gap-free stretch of ``k L + 1`` points gives L segments; neighbours share an end point, and
    up to k − 1 points at the end of a stretch stay unused (as in the paper's reference code, where
    ``k = 4``). A sample in which any state is NaN is a gap; no segment contains one.

    **Arguments:**

    - `ds`: a data set in the standard layout; `pnde.data.select` picks a split.
    - `steps`: k.

    **Raises:** `DataError` when no segment is left.
    """
    if steps < 1:
        raise DataError(f"a segment needs at least 1 step, not {steps}")
    u = ds["u"].transpose("trajectory", "time", "state").values
    t = time_matrix(ds)
    trajectory: list[int] = []
    start: list[int] = []
    longest = 0
    for row, known in enumerate(np.isfinite(u).all(axis=-1) & np.isfinite(t)):
        # Edges of the stretches: +1 where one begins, −1 one past its end.
        edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(np.int8), [0]])))
        for begin, end in edges.reshape(-1, 2).tolist():
            longest = max(longest, end - begin)
            starts = range(begin, end - steps, steps)
            start.extend(starts)
            trajectory.extend([row] * len(starts))
    if not start:
        raise DataError(
            f"no segment of {steps} step(s) fits: it needs {steps + 1} points without a gap, and "
            f"the longest stretch without one has {longest}"
        )
    rows = np.asarray(trajectory)[:, None]
    samples = np.asarray(start)[:, None] + np.arange(steps + 1)
    return Segments(u[rows, samples], t[rows, samples], rows[:, 0], samples[:, 0])
