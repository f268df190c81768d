"""Zarr stores, folders that hold a data set in chunks."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from pnde.errors import DataError, brief

from .._columns import Columns
from .._datasets import from_xarray
from .._limits import check_room
from .._streaming import store_kind


def read(path: Path, columns: Columns) -> xr.Dataset:
    """The data set in a Zarr store. **Raises:** `DataError` where it is damaged or does not fit."""
    store_kind(path)
    if not path.is_dir():
        raise DataError("there is no such store" if not path.exists() else "a store is a folder")
    try:
        with xr.open_zarr(path, decode_times=False, decode_timedelta=False, chunks=None) as opened:
            check_room(2 * sum(8 * v.size for v in opened.variables.values()), "the data set")
            ds = opened.load()
    except (DataError, MemoryError):
        raise
    except Exception as error:  # zarr and xarray each raise their own
        raise DataError(f"the store cannot be read ({brief(error, 120)})") from None
    return from_xarray(ds.drop_encoding(), columns)
