"""Data sets whose states were sampled at different times."""

from __future__ import annotations

import xarray as xr

from ._interpolating import OntoManifold, completed
from ._layout import time_matrix


def complete(ds: xr.Dataset, onto_manifold: OntoManifold | None = None) -> xr.Dataset:
    """`ds` with the samples that are known in part completed, for starts of trajectories and segments.

    A state that is unknown at a sample at which others are known comes from a cubic spline through its own known
    entries of the trajectory. It stays unknown before the first and after the last of them, in a gap (three times as
    long as the intervals around it), and where there are fewer than four. Samples at which nothing is known stay gaps.

    **Arguments:**

    - `ds`: a data set in the standard layout.
    - `onto_manifold`: puts the completed samples on a law's manifold; `pnde.laws.projecting.onto_manifold` makes one.
    """
    states = ds["u"].transpose("trajectory", "time", "state")
    filled = completed(states.values, time_matrix(ds), onto_manifold)
    return ds.assign(u=(states.dims, filled, states.attrs))
