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
from ._exogenous import Exogenous
from ._layout import check_layout, time_label, time_matrix
from ._seal import seal


def save_data(ds: xr.Dataset, path: str | os.PathLike[str]) -> Path:
    """Write a data set in the standard layout; the suffix says how.

    ``.nc`` (NetCDF 4) keeps everything. ``.npz`` keeps the states, inputs, jumps, parameters, times,
    names, units, splits and attributes; ``.csv`` (long form) the states, inputs, parameters, times,
    names and splits; both leave out further variables. A CSV file does not tell inputs and parameters
    from states: a comment in its first line holds the keywords of `open_data` that do. The numbers are
    kept to the last bit, in ``.nc`` and ``.npz`` with checksums, so that what a disk has changed is
    noticed. The file appears whole or not at all: it is written under another name beside `path` and
    then renamed.

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
    own = Exogenous.of(ds)
    if own.inputs:
        arrays |= {"w": own.w, "inputs": np.array(own.inputs)}
        arrays |= {"input_units": np.array(own.input_units)}
        arrays |= {"interpolation": np.array(own.interpolation)}
    if own.jumps.size:
        arrays["jumps"] = own.jumps
    if own.parameters:
        arrays |= {"parameters": own.p, "parameter": np.array(own.parameters)}
        arrays |= {"parameter_units": np.array(own.parameter_units)}
    if time_label(ds):
        arrays["time_units"] = time_label(ds)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _csv(ds: xr.Dataset) -> bytes:
    own = Exogenous.of(ds)
    u = ds["u"].transpose("trajectory", "time", "state").values
    count, length, _ = u.shape
    names = [str(name) for name in ds["state"].values] + [*own.inputs, *own.parameters]
    _check_names(names)
    p = np.broadcast_to(own.p[:, None], (count, length, own.p.shape[-1]))
    columns: dict[str, Any] = {"trajectory": np.repeat(ds["trajectory"].values, length)}
    if "split" in ds.coords:
        columns["split"] = np.repeat(ds["split"].values, length)
    times = time_matrix(ds).reshape(-1)
    columns["time"] = times
    flat = np.concatenate([u, own.w, p], axis=-1).reshape(count * length, -1)
    columns.update({name: flat[:, i] for i, name in enumerate(names)})
    # Rows without a time are padding after the end of a shorter trajectory.
    table = pd.DataFrame(columns)[np.isfinite(times)].to_csv(index=False)
    return (_roles(ds, own) + table).encode()


def _roles(ds: xr.Dataset, own: Exogenous) -> str:
    """A comment with the keywords of `open_data` that tell inputs and parameters from states."""
    keywords: dict[str, Any] = {}
    if own.inputs:
        keywords["inputs"] = list(own.inputs)
        keywords["interpolation"] = dict(zip(own.inputs, own.interpolation, strict=True))
    if own.parameters:
        keywords["parameters"] = list(own.parameters)
    jumps = [row[np.isfinite(row)].tolist() for row in own.jumps]
    if any(jumps):
        labels = map(str, ds["trajectory"].values)
        alike = all(row == jumps[0] for row in jumps)
        keywords["jumps"] = jumps[0] if alike else dict(zip(labels, jumps, strict=True))
    text = ", ".join(f"{name}={value}" for name, value in keywords.items())
    return f"# pnde.open_data(…, {text})\n" if text else ""


def _check_names(names: list[str]) -> None:
    """Refuse names that a CSV file would not give back."""
    for name in names:
        taken = name.casefold() in ("trajectory", "split", "time", "index", "") or name == "t"
        if (
            taken
            or name != name.strip()
            or any(mark in name for mark in '\r\n"')
            or name[0] in "#%"
        ):
            raise DataError(
                f"a CSV file cannot hold a state called {shown(name)} beside its own columns; rename "
                "it, or save as .nc"
            )


def _plain(labels: np.ndarray) -> np.ndarray:
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def _number(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
