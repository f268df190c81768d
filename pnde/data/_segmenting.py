"""Trajectories cut into the short segments that training solves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from pnde.errors import DataError

from ._interpolating import OntoManifold, completed
from ._layout import TIME_TOLERANCE, time_matrix


@dataclass(frozen=True, eq=False)
class Segments:
    """S segments of k steps (k + 1 points).

    **Attributes:**

    - `u`: states ``(S, k + 1, n)``, physical units; ``u[:, 0]`` are the initial states, complete. At the points after
      it, NaN marks an entry that was not measured.
    - `start_time`: time of the first point ``(S,)``, float64.
    - `grid`: times since the first point: ``(k + 1,)`` where all segments share them (to 1e-9 of their span), else
      ``(S, k + 1)``. Differences are taken in float64, before seconds of an epoch lose their digits.
    - `known`: which entries were measured ``(S, k + 1, n)``, or None where all were.
    - `trajectory`: position of the trajectory in the data set ``(S,)``.
    - `start`: sample at which the segment starts in its trajectory ``(S,)``.
    """

    u: np.ndarray
    start_time: np.ndarray
    grid: np.ndarray
    known: np.ndarray | None
    trajectory: np.ndarray
    start: np.ndarray

    def __len__(self) -> int:
        return len(self.u)

    @property
    def steps(self) -> int:
        """k, the number of steps of each segment."""
        return self.u.shape[1] - 1

    @property
    def t(self) -> np.ndarray:
        """Times of all points, ``(S, k + 1)``."""
        return self.start_time[:, None] + self.grid

    @property
    def rounding(self) -> float:
        """How far a sample may be off the times ``t``."""
        return _rounding(self.grid, self.t)


def segments(ds: xr.Dataset, steps: int = 4, onto_manifold: OntoManifold | None = None) -> Segments:
    """Cut the trajectories into consecutive segments of `steps` steps.

    A gap-free stretch of ``k L + 1`` points gives L segments; neighbours share an end point, and
    up to k − 1 points at the end of a stretch stay unused (as in the paper's reference code, where
    ``k = 4``). A sample of which nothing is known is a gap; no segment contains one.

    States that were sampled at different times are known in part at a sample. Segments then hold what is known, and
    start where the state is known or `pnde.data.complete` can tell it from the measurements around.

    **Arguments:**

    - `ds`: a data set in the standard layout; `pnde.data.select` picks a split.
    - `steps`: k.
    - `onto_manifold`: puts starts that had to be completed on the manifold of a law; see `pnde.data.complete`.

    **Raises:** `DataError` when no segment is left.
    """
    if steps < 1:
        raise DataError(f"a segment needs at least 1 step, not {steps}")
    u, t = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    full = completed(u, t, onto_manifold)
    trajectory: list[int] = []
    start: list[int] = []
    longest = 0
    startable = np.isfinite(full).all(axis=-1) & np.isfinite(t)
    for row, known in enumerate(np.isfinite(u).any(axis=-1) & np.isfinite(t)):
        # Edges of the stretches: +1 where one begins, −1 one past its end.
        edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(np.int8), [0]])))
        for begin, end in edges.reshape(-1, 2).tolist():
            sample = _next(startable[row], begin)
            longest = max(longest, end - sample)
            while sample + steps < end:
                start.append(sample)
                trajectory.append(row)
                sample = _next(startable[row], sample + steps)
    if not start:
        raise DataError(
            f"no segment of {steps} step(s) fits: it needs {steps + 1} points without a gap, the first of them "
            f"complete, and the longest stretch has {longest}"
        )
    rows = np.asarray(trajectory)[:, None]
    samples = np.asarray(start)[:, None] + np.arange(steps + 1)
    states, measured = u[rows, samples], np.isfinite(u[rows, samples])
    states[:, 0] = full[rows[:, 0], samples[:, 0]]
    times = t[rows, samples]
    return Segments(
        u=states,
        start_time=times[:, 0],
        grid=_grid(times),
        known=None if measured.all() else measured,
        trajectory=rows[:, 0],
        start=samples[:, 0],
    )


def _next(startable: np.ndarray, sample: int) -> int:
    """The first sample from `sample` on at which a segment may start; one past the end if there is none."""
    later = np.flatnonzero(startable[sample:])
    return sample + int(later[0]) if later.size else len(startable)


def _grid(times: np.ndarray) -> np.ndarray:
    """Times since the first point: ``(k + 1,)`` where the segments ``(S, k + 1)`` share them, else for each."""
    relative = times - times[:, :1]
    mean = relative.mean(axis=0)
    return mean if (np.abs(relative - mean) <= _rounding(mean, times)).all() else relative


def _rounding(grid: np.ndarray, times: np.ndarray) -> float:
    # Large absolute times (seconds of an epoch) lose digits in differences, which a mean gets back.
    eps = np.finfo(np.float64).eps
    return float(TIME_TOLERANCE * grid[..., -1].max() + 4 * eps * np.abs(times).max())
