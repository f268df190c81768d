"""NetCDF files, classic (3) and HDF5 (4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xarray as xr

from pnde.errors import DataError, brief

from .._columns import Columns
from .._datasets import from_xarray
from .._limits import check_room
from .._seal import sealed
from .._trial import try_to_read


def read(path: Path, columns: Columns) -> xr.Dataset:
    """The data set in a NetCDF file. **Raises:** `DataError` where it is damaged or does not fit."""
    with path.open("rb") as file:
        magic = file.read(4)
    # The engine is chosen by content, so that the result does not hang on what else is installed.
    engine: dict[str, Any]
    if magic == b"\x89HDF":
        if not sealed(path):
            try_to_read(path, "hdf5")
        engine = {"engine": "h5netcdf", "phony_dims": "access"}
    elif magic in (b"CDF\x01", b"CDF\x02"):
        engine = {"engine": "scipy", "mmap": False}  # a damaged file could not be closed
    else:
        raise DataError("this is not a NetCDF file (or a damaged one)")
    try:
        # Times stay the numbers that the file holds, and so does a state in hours; `as_times`
        # reads both what a file holds and what xarray makes of it.
        with xr.open_dataset(path, decode_times=False, decode_timedelta=False, **engine) as opened:
            check_room(2 * sum(8 * v.size for v in opened.variables.values()), "the data set")
            ds = opened.load()
    except (DataError, MemoryError):
        raise
    except Exception as error:  # h5py, h5netcdf, SciPy and xarray each raise their own
        raise DataError(f"the file cannot be read as NetCDF ({brief(error, 120)})") from None
    return from_xarray(ds.drop_encoding(), columns)
