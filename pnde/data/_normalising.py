"""The scale on which the network sees the states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from pnde.errors import DataError

from ._splitting import select

# A state that moves less than this, relative to its size, is left unscaled. The reference has this
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

    **Attributes:** `mean`, `std`: ``(n,)``, physical units, `std` never zero.
    """

    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def fit(cls, ds: xr.Dataset) -> Normaliser:
        """Mean and sample standard deviation (n − 1) over time and trajectories.

        Of a data set with splits, ``train`` and ``valid`` count, as in the paper's reference code;
        of one without, all trajectories. Missing samples are left out, state by state. A standard
        deviation below 1e-4 of the state's largest value, or below 1e-10 of that of all states, is
        replaced by 1, so that a state that stands still does not turn into magnified noise. Of
        states with the same unit, none is scaled by less than 1e-3 of the largest deviation.
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
        largest = np.where(known, np.abs(u), 0.0).max(axis=0)
        still = (std <= SMALLEST * largest) | (std <= NOISE * largest.max())
        units = ds["units"].values if "units" in ds.coords else np.full(n, "")
        for unit in set(units.tolist()) - {""}:
            same = units == unit
            std[same] = np.maximum(std[same], QUIET * std[same].max())
        return cls(mean, np.where(still, 1.0, std))

    def normalise(self, u: np.ndarray) -> np.ndarray:
        """States ``(..., n)`` as the network sees them."""
        return (u - self.mean) / self.std

    def restore(self, z: np.ndarray) -> np.ndarray:
        """The inverse of `normalise`: states ``(..., n)`` in physical units."""
        return self.mean + self.std * z
