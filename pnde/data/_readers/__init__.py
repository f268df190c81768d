"""The kinds of files that hold data, by suffix: one reader each."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pnde.errors import DataError, listed, nearest, shown

if TYPE_CHECKING:
    import xarray as xr

    from .._columns import Columns

#: The module with the reader of each suffix; its function is ``read(path, columns)``.
READERS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
    ".txt.gz": "csv",
    ".mat": "matlab",
    ".nc": "netcdf",
    ".npz": "npz",
    ".parquet": "parquet",
    ".zarr": "zarr",
}
_GRIDS = (".m", ".raw", ".json", ".xlsx")


def suffix_of(path: Path) -> str:
    """What tells the kind of a file, such as ``.csv`` or ``.csv.gz``."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:])


def reader_of(path: Path) -> Callable[[Path, Columns], xr.Dataset]:
    """The function that reads a file of this suffix. **Raises:** `DataError` where there is none."""
    suffix = suffix_of(path)
    if suffix.lower() in _GRIDS:
        raise DataError(
            "this looks like a power grid, not trajectories; simulate some with "
            f"pnde.systems.power_grid({shown(path)}).simulate(…)"
        )
    name = READERS.get(suffix.lower())
    if name is None:
        raise DataError(
            f"unknown kind of file {shown(suffix)}{nearest(suffix, READERS)}; known are "
            f"{listed(READERS)}"
        )
    read: Callable[[Path, Columns], xr.Dataset] = importlib.import_module(f"{__name__}.{name}").read
    return read
