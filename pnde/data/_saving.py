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

from pnde.errors import DataError, nearest
from pnde.files import write_bytes

from ._layout import plain_attributes, time_label, time_matrix


def save_data(ds: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a data set in the standard layout; the suffix says how.

    ``.nc`` (NetCDF 4) keeps everything. ``.npz`` keeps the states, times, names, units, splits and
    attributes; ``.csv`` (long form) the states, times, names and splits; both leave out further
    variables. The numbers are kept to the last bit. The file appears whole or not at all.

    **Returns:** the path. **Raises:** `DataError` for an unknown suffix or a missing folder;
    `RunError` if the disk does not take the file.
    """
    path = Path(path)
    writers = {".nc": _netcdf, ".npz": _npz, ".csv": _csv}
    suffix = path.suffix.lower()
    if suffix not in writers:
        raise DataError(
            f"{path}: unknown kind of file {suffix!r}{nearest(suffix, writers)}; "
            f"known are {', '.join(writers)}"
        )
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}")
    write_bytes(path, writers[suffix](ds))
    return path


# Files are made in memory first: where a disk does not take a file, HDF5 ends the process.


def _netcdf(ds: xr.Dataset) -> bytes:
    ds = ds.drop_encoding()
    ds.attrs = plain_attributes(ds.attrs)
    return bytes(ds.to_netcdf(engine="h5netcdf"))


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
    columns: dict[str, Any] = {"trajectory": np.repeat(ds["trajectory"].values, length)}
    if "split" in ds.coords:
        columns["split"] = np.repeat(ds["split"].values, length)
    times = time_matrix(ds).reshape(-1)
    columns["time"] = times
    flat = u.reshape(count * length, n)
    columns.update({str(name): flat[:, i] for i, name in enumerate(ds["state"].values)})
    # Rows without a time are padding after the end of a shorter trajectory.
    return pd.DataFrame(columns)[np.isfinite(times)].to_csv(index=False).encode()


def _plain(labels: np.ndarray) -> np.ndarray:
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def _number(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
