"""Reading data sets, whatever they come in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import xarray as xr

from pnde.errors import DataError, nearest

from ._layout import as_numbers, check_not_empty, make_dataset
from ._tables import read_csv

SUFFIXES = (".nc", ".csv", ".npz")
_GRIDS = (".m", ".raw", ".json")


def open_data(source: xr.Dataset | xr.DataArray | str | os.PathLike[str]) -> xr.Dataset:
    """A data set in the standard layout (see `make_dataset`), read whole into memory.

    **Arguments:**

    - `source`: one of

        - an ``xarray.Dataset`` with one variable over ``(trajectory, time, state)`` in any order,
            or with one variable for each state over ``(trajectory, time)``; without the dim
            ``trajectory`` it is one trajectory. Times are the coordinate ``time`` or a variable
            ``t``. Other variables (a forecast's ``status``, say) are kept;
        - an ``xarray.DataArray`` with those dims;
        - a NetCDF file (``.nc``) that holds such a data set;
        - an NPZ file (``.npz``) with the arrays ``u`` ``(trajectory, time, state)`` or
            ``(time, state)`` and ``t`` or ``time`` ``(time,)`` or ``(trajectory, time)``, and
            optionally ``state`` or ``states`` (names), ``units``, ``trajectory``, ``split``;
        - a CSV file (``.csv``; comma, semicolon or tab):

            - *long*: the columns ``time`` (or ``t``), optionally ``trajectory`` and ``split``,
                and one column for each state; one row for each sample;
            - *wide, one row for each trajectory*: no ``time`` column; the columns
                ``state@time`` (``x@0``, ``x@0.1``, ...), optionally ``trajectory`` and ``split``;
            - *wide, one row for each time*: a ``time`` column, and all others named
                ``state@trajectory`` (``x@1``, ``x@2``, ...).

            An empty cell is a missing sample. Lines that begin with ``#`` above the header are
            skipped.

    Trajectories of unequal length are padded with NaN; uneven time steps are kept as they are.
    Dates are turned into seconds since the first of them.

    **Raises:** `DataError`, one sentence that names the file, column, row, trajectory or state.
    """
    if isinstance(source, xr.DataArray):
        return _from_dataset(source.to_dataset(name=str(source.name or "u")))
    if isinstance(source, xr.Dataset):
        return _from_dataset(source)
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"data must be a path, an xarray.Dataset or a DataArray, not {type(source).__name__}; "
            "arrays go through pnde.data.make_dataset"
        )
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix in _GRIDS:
        raise DataError(
            f"{path}: this looks like a power grid, not trajectories; "
            f"simulate some with pnde.systems.power_grid({str(path)!r}).simulate(…)"
        )
    if suffix not in SUFFIXES:
        raise DataError(
            f"{path}: unknown kind of file {suffix!r}{nearest(suffix, SUFFIXES)}; "
            f"known are {', '.join(SUFFIXES)}"
        )
    if not path.exists():
        raise DataError(f"{path}: there is no such file")
    if path.is_dir():
        raise DataError(f"{path}: this is a folder, not a file")
    read = {".nc": _read_netcdf, ".npz": _read_npz, ".csv": _read_table}[suffix]
    try:
        return read(path)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except PermissionError:
        raise DataError(f"{path}: the file may not be read (permissions)") from None


def _read_table(path: Path) -> xr.Dataset:
    ds = read_csv(path)
    check_not_empty(ds)
    return ds


def _read_netcdf(path: Path) -> xr.Dataset:
    with path.open("rb") as file:
        magic = file.read(4)
    # The engine is chosen by content, so that the result does not hang on what else is installed.
    if magic == b"\x89HDF":
        engine = "h5netcdf"
    elif magic[:3] == b"CDF":
        engine = "scipy"
    else:
        raise DataError("this is not a NetCDF file (or a damaged one)")
    try:
        # Times stay the numbers that the file holds: seconds must not become timedelta64.
        with xr.open_dataset(path, engine=engine, decode_times=False) as opened:
            ds = opened.load()
    except (OSError, KeyError, ValueError, RuntimeError) as error:
        raise DataError(f"the file cannot be read as NetCDF ({_first_line(error)})") from None
    return _from_dataset(ds.drop_encoding())


def _read_npz(path: Path) -> xr.Dataset:
    try:
        with np.load(path, allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
    except Exception as error:  # zipfile, pickle and NumPy each raise their own
        raise DataError(f"the file cannot be read as NPZ ({_first_line(error)})") from None
    held = ", ".join(arrays) or "none"
    if "u" not in arrays:
        raise DataError(f"there is no array 'u' (states); the arrays are {held}")
    time = next((name for name in ("t", "time") if name in arrays), None)
    if time is None:
        raise DataError(f"there is no array 't' or 'time'; the arrays are {held}")
    u, t = as_numbers(arrays["u"], "u"), as_numbers(arrays[time], time)
    if u.ndim == 1:
        u = u[:, None]
    states = next((arrays[name] for name in ("state", "states") if name in arrays), None)
    ds = make_dataset(
        u,
        t,
        states=None if states is None else np.atleast_1d(states).tolist(),
        units=np.atleast_1d(arrays["units"]).tolist() if "units" in arrays else None,
        attrs=json.loads(str(arrays["attributes"])) if "attributes" in arrays else None,
        split=arrays["split"].tolist() if "split" in arrays else None,
        trajectory=arrays["trajectory"].tolist() if "trajectory" in arrays else None,
        time_units=str(arrays["time_units"]) if "time_units" in arrays else "",
    )
    check_not_empty(ds)
    return ds


def _from_dataset(ds: xr.Dataset) -> xr.Dataset:
    dims = [str(dim) for dim in ds.dims]
    if "time" not in dims:
        raise DataError(
            f"there is no dimension 'time'{nearest('time', dims)}; the dimensions are "
            f"{', '.join(dims) or 'none'}"
        )
    if "trajectory" not in dims:
        # A selected trajectory keeps its label and split as scalars; expand_dims lifts the label.
        scalars = [name for name in ("split",) if name in ds.coords]
        ds = ds.expand_dims("trajectory") if "trajectory" in ds.coords else _one_trajectory(ds)
        for name in scalars:
            ds = ds.assign_coords({name: ("trajectory", [str(ds[name].values)])})
    if "state" in dims:
        u, used = _stacked_states(ds)
        names = ds["state"].values if "state" in ds.coords else None
        states = [str(name) for name in names] if names is not None else None
        units = [str(unit) for unit in ds["units"].values] if "units" in ds.coords else None
    else:
        u, states, units = _separate_states(ds)
        used = states
    if "t" not in ds and "time" not in ds.coords:
        raise DataError("the dimension 'time' has no coordinate, so the times are unknown")
    time = ds["t"] if "t" in ds else ds["time"]
    order = [dim for dim in ("trajectory", "time") if dim in time.dims]
    times = _numeric_times(time.transpose(*order).values)
    out = make_dataset(
        u,
        times,
        states,
        units,
        attrs=ds.attrs,
        split=[str(name) for name in ds["split"].values] if "split" in ds.coords else None,
        trajectory=ds["trajectory"].values if "trajectory" in ds.coords else None,
        time_units=_time_units(time),
    )
    standard = [*used, "t", "time", "state", "units", "split", "trajectory"]
    extra = ds.drop_vars(standard, errors="ignore")
    # Values only: the new data set has its own coordinates, and the orders are the same.
    out = out.assign({str(k): (v.dims, v.values, v.attrs) for k, v in extra.data_vars.items()})
    out = out.assign_coords({str(k): (v.dims, v.values) for k, v in extra.coords.items()})
    if "status" not in out:  # a forecast may have failed from its first step on; data may not
        check_not_empty(out)
    return out


def _one_trajectory(ds: xr.Dataset) -> xr.Dataset:
    """``ds`` with a new dim ``trajectory`` of size one on everything that runs over time."""
    lifted = {
        name: variable.expand_dims("trajectory")
        for name, variable in ds.data_vars.items()
        if "time" in variable.dims
    }
    return ds.assign(lifted)


def _stacked_states(ds: xr.Dataset) -> tuple[np.ndarray, list[str]]:
    order = ("trajectory", "time", "state")
    full = [
        str(name) for name, variable in ds.data_vars.items() if set(variable.dims) == set(order)
    ]
    if "u" in full:
        name = "u"
    elif len(full) == 1:
        name = full[0]
    elif full:
        raise DataError(f"which of {', '.join(full)} holds the states? Call it 'u'")
    else:
        held = "; ".join(f"{k} {tuple(v.dims)}" for k, v in ds.data_vars.items()) or "none"
        raise DataError(f"no variable has the dims (trajectory, time, state); there are: {held}")
    return as_numbers(ds[name].transpose(*order).values, name), [name]


def _separate_states(ds: xr.Dataset) -> tuple[np.ndarray, list[str], list[str]]:
    order = ("trajectory", "time")
    columns, names, units = [], [], []
    for key, variable in ds.data_vars.items():
        name = str(key)
        if name == "t" or "time" not in variable.dims:
            continue
        if set(variable.dims) != set(order):
            raise DataError(
                f"variable {name!r} has the dims {tuple(variable.dims)}; the dim that counts the "
                "states must be called 'state'"
            )
        columns.append(as_numbers(variable.transpose(*order).values, name))
        names.append(name)
        units.append(str(variable.attrs.get("units", "")))
    if not names:
        raise DataError("no variable runs over 'time', so there are no states")
    return np.stack(columns, axis=-1), names, units


def _numeric_times(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "M":
        values = values - np.nanmin(values)
    if values.dtype.kind == "m":
        missing = np.isnat(values)
        seconds = values / np.timedelta64(1, "s")
        return np.where(missing, np.nan, seconds)
    return as_numbers(values, "time")


def _time_units(time: xr.DataArray) -> str:
    return "s" if time.dtype.kind in "mM" else str(time.attrs.get("units", ""))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
