"""The scales on which the network sees the states, and gives their velocities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pnde.errors import DataError

from ._layout import time_matrix
from ._splitting import select

# A state that moves less than this, relative to its size, is scaled by its size. The reference has this
# rule for its grid only, where the states are of size one, as an absolute bound.
SMALLEST = 1e-4
# Rounding noise: nothing, beside the largest state of the data set.
NOISE = 1e-10
# Beside the largest standard deviation in the same unit: the far end of a chain or grid that a disturbance has not
# reached yet. Scaled by its own, the network would be a million times steeper there, and its field as stiff.
QUIET = 1e-3


@dataclass(frozen=True, eq=False)
class Normaliser:
    """z = (u − mean) / std, for each state.

    **Attributes:**

    - `mean`, `std`: ``(n,)``, physical units, `std` never zero.
    - `speed`: root mean square of the states' velocities, ``(n,)``, physical units; 0 for a state that stands still.
    """

    mean: np.ndarray
    std: np.ndarray
    speed: np.ndarray

    @classmethod
    def fit(cls, ds: xr.Dataset) -> Normaliser:
        """The scales of a data set: of its splits `train` and `valid`, or of all of it if it has none.

        `mean` and `std` (n − 1 degrees of freedom) are over time and trajectories, as in the paper's reference code;
        `speed` is that of the steps between successive samples. Entries that were not measured are left out.

        Three floors keep what hardly moves from being magnified into noise:

        - a state that moves by less than 1e-4 of its largest value is scaled by that value;
        - one that moves by less than 1e-10 of the largest value of any state, by that one;
        - beside states in the same unit, no `std` is less than 1e-3 of the largest, and no `speed`.

        **Raises:** `pnde.errors.DataError` if neither split is there, or a state is known at fewer than two samples.
        """
        if "split" in ds.coords:
            present = set(ds["split"].values.astype(str).tolist())
            fitted = [name for name in ("train", "valid") if name in present]
            if not fitted:
                raise DataError("no trajectory is in the split 'train' or 'valid'")
            ds = select(ds, *fitted)
        n = ds.sizes["state"]
        u = ds["u"].transpose("trajectory", "time", "state").values.reshape(-1, n)
        known = np.isfinite(u)
        counts = known.sum(axis=0)
        if (counts < 2).any():
            name = str(ds["state"].values[int(np.argmax(counts < 2))])
            raise DataError(f"state {name!r} is known at fewer than 2 training samples")
        mean = np.where(known, u, 0.0).sum(axis=0) / counts
        variance = (np.where(known, u - mean, 0.0) ** 2).sum(axis=0) / (counts - 1)
        std = np.sqrt(variance)
        size = np.where(known, np.abs(u), 0.0).max(axis=0)
        std = np.where(std <= SMALLEST * size, size, std)
        units = ds["units"].values if "units" in ds.coords else np.full(n, "")
        std = np.where(std <= NOISE * size.max(), size.max() or 1.0, std)
        return cls(mean, _not_quiet(std, units), _speeds(ds, units))

    @property
    def metric(self) -> np.ndarray:
        """Weights `(n,)` that measure each state in units of its spread, 1 in their geometric mean."""
        relative = self.std / np.exp(np.mean(np.log(self.std)))
        return relative**-2.0

    def normalise(self, u: np.ndarray) -> np.ndarray:
        """States ``(..., n)`` as the network sees them."""
        return (u - self.mean) / self.std

    def restore(self, z: np.ndarray) -> np.ndarray:
        """The inverse of `normalise`: states ``(..., n)`` in physical units."""
        return self.mean + self.std * z


def condition_scale(ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray] | None:
    """Mean and spread `(k + r,)` of the inputs over time and trajectories, and of the parameters over trajectories.

    Of the splits `train` and `valid`. One that is the same everywhere is scaled by its size. `None` without any.
    """
    if "split" in ds.coords:
        present = [name for name in ("train", "valid") if name in ds["split"].values.astype(str)]
        ds = select(ds, *present)
    columns = [ds["w"].transpose(..., "input").values] if "w" in ds else []
    columns += [ds["parameters"].transpose(..., "parameter").values] if "parameters" in ds else []
    if not columns:
        return None
    values = [x for array in columns for x in array.reshape(-1, array.shape[-1]).T]
    mean = np.array([np.nanmean(x) for x in values])
    std = np.array([np.nanstd(x) for x in values])
    size = np.array([np.nanmax(np.abs(x)) for x in values])
    return mean, np.where(std <= SMALLEST * size, np.where(size > 0, size, 1.0), std)


def mean_velocity(ds: xr.Dataset) -> np.ndarray:
    """The way of all trajectories over their time, state by state, ``(n,)``; 0 where there are no two samples."""
    return np.array([sum(way) / (sum(span) or 1.0) for way, span in _ways(ds)])


def _ways(ds: xr.Dataset) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each state the differences between successive known samples, and those of their times."""
    u, times = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    for i in range(u.shape[-1]):
        known = [np.isfinite(row) & np.isfinite(t) for row, t in zip(u[..., i], times, strict=True)]
        way, span = (
            np.concatenate([np.diff(row[k]) for row, k in zip(rows, known, strict=True)])
            for rows in (u[..., i], times)
        )
        yield way, span


def _speeds(ds: xr.Dataset, units: np.ndarray) -> np.ndarray:
    """Root mean square of the differences of successive known samples over their times, ``(n,)``."""
    ways = [(way / span) ** 2 for way, span in _ways(ds)]
    out = np.array([np.sqrt(squares.mean()) if squares.size else 0.0 for squares in ways])
    moving = out > NOISE * out.max()
    return np.where(moving, _not_quiet(out, units), 0.0)


def _not_quiet(scale: np.ndarray, units: np.ndarray) -> np.ndarray:
    """The scales `(n,)`, each at least 1e-3 of the largest among those in the same unit."""
    out = scale.copy()
    for unit in set(units.tolist()) - {""}:
        same = units == unit
        out[same] = np.maximum(out[same], QUIET * out[same].max())
    return out
