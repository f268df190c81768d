"""Tables that hold inputs and no states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ._layout import make_dataset, time_matrix


def as_inputs(
    ds: xr.Dataset,
    names: Sequence[str],
    interpolation: str | Sequence[str] | Mapping[str, str],
    jumps: Any = None,
) -> xr.Dataset:
    """The columns `names` of a data set as its inputs, checked as those of any data; its only state is 0 while they are
    known.

    **Raises:** `pnde.errors.DataError` for a missing sample, an unknown interpolation, or a jump outside.
    """
    w = ds["u"].transpose("trajectory", "time", "state").sel(state=list(names)).values
    ahead = np.logical_or.accumulate(np.isfinite(w).any(axis=-1)[:, ::-1], axis=1)[:, ::-1]
    known = ahead & np.isfinite(time_matrix(ds))
    return make_dataset(
        np.where(known, 0.0, np.nan)[..., None],
        time_matrix(ds),
        ["known"],
        trajectory=ds["trajectory"].values,
        w=w,
        inputs=list(names),
        interpolation=interpolation,
        jumps=jumps,
    )
