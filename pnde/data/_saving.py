"""Writing data sets."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde.errors import DataError, brief, nearest, shown
from pnde.files import write_bytes

from ._attributes import plain_attributes
from ._layout import check_layout, time_label, time_matrix
from ._seal import seal


def save_data(ds: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a data set in the standard layout; the suffix says how.

    ``.nc`` (NetCDF 4) keeps everything. ``.npz`` keeps the states, times, names, units, splits and
    attributes; ``.csv`` (long form) the states, times, names and splits; both leave out further
    variables. The numbers are kept to the last bit, in ``.nc`` and ``.npz`` with checksums, so that
    what a disk has changed is noticed. The file appears whole or not at all: it is written under
    another name beside `path` and then renamed.

    **Returns:** the path.

    **Raises:** `DataError` for an unknown suffix, a missing folder, or names that a CSV file would
    not give back; `pnde.errors.RunError` where the disk is full or may not be written.
    """
    check_layout(ds)
    path = Path(path)
    writers = {".nc": _netcdf, ".npz": _npz, ".csv": _csv}
    suffix = path.suffix.lower()
    if suffix not in writers:
        raise DataError(
            f"{brief(path, 100)}: unknown kind of file {shown(suffix)}{nearest(suffix, writers)}; "
            f"known are {', '.join(writers)}"
        )
    if not path.parent.is_dir():
        raise DataError(f"{brief(path, 100)}: there is no folder {brief(path.parent, 100)}")
    write_bytes(path, writers[suffix](ds))
    return path


# Files are made in memory first: where a disk does not take a file, HDF5 ends the process.


def _netcdf(ds: xr.Dataset) -> bytes:
    ds = ds.drop_encoding()
    ds.attrs = plain_attributes(ds.attrs)
    numbers = [name for name, variable in ds.variables.items() if variable.dtype.kind in "iuf"]
    # HDF5 checks these sums whenever a block is read; only whole blocks have them.
    encoding = {name: {"fletcher32": True} for name in numbers if ds[name].size and ds[name].ndim}
    return seal(bytes(ds.to_netcdf(engine="h5netcdf", encoding=encoding)))


def _npz(ds: xr.Dataset) -> bytes:
    arrays: dict[str, Any] = {
        "u": ds["u"].transpose("trajectory", "time", "state").values,
        "t": time_matrix(ds) if "t" in ds else ds["time"].values,
        "state": ds["state"].values.astype(str),
        "trajectory": _plain(ds["trajectory"].values),
        "attributes": json.dumps(plain_attributes(ds.attrs), default=_number),
    }
    for name in ("units", "split"):
        if name in ds.coords:
            arrays[name] = ds[name].values.astype(str)
    if time_label(ds):
        arrays["time_units"] = time_label(ds)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _csv(ds: xr.Dataset) -> bytes:
    u = ds["u"].transpose("trajectory", "time", "state").values
    count, length, n = u.shape
    _check_names(ds)
    columns: dict[str, Any] = {"trajectory": np.repeat(ds["trajectory"].values, length)}
    if "split" in ds.coords:
        columns["split"] = np.repeat(ds["split"].values, length)
    times = time_matrix(ds).reshape(-1)
    columns["time"] = times
    flat = u.reshape(count * length, n)
    columns.update({str(name): flat[:, i] for i, name in enumerate(ds["state"].values)})
    # Rows without a time are padding after the end of a shorter trajectory.
    return pd.DataFrame(columns)[np.isfinite(times)].to_csv(index=False).encode()


def _check_names(ds: xr.Dataset) -> None:
    """Refuse state names that a CSV file would not give back."""
    for name in ds["state"].values.astype(str):
        taken = name.casefold() in ("trajectory", "split", "time", "index", "") or name == "t"
        if (
            taken
            or name != name.strip()
            or any(mark in name for mark in '\r\n"')
            or name[0] in "#%"
        ):
            raise DataError(
                f"a CSV file cannot hold a state called {shown(name)} beside its own columns; rename "
                "the state, or save as .nc"
            )


def _plain(labels: np.ndarray) -> np.ndarray:
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def _number(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
