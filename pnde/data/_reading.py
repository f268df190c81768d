"""Reading data sets, whatever they come in."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from pnde.errors import DataError, listed, nearest, shown

from ._angles import describe_jumps
from ._angles import unwrap as unwrap_angles
from ._checks import check_not_empty
from ._columns import Columns
from ._datasets import from_xarray
from ._frames import from_frame
from ._layout import time_matrix
from ._naming import check_apart, check_names
from ._readers import reader_of, suffix_of
from ._roles import assign_roles
from ._several import matching, names_of, one_after_another, side_by_side

logger = logging.getLogger("pnde")


def open_data(
    source: Any,
    *,
    states: Sequence[str] | None = None,
    inputs: str | Sequence[str] | None = None,
    parameters: str | Sequence[str] | None = None,
    interpolation: str | Mapping[str, str] | None = None,
    jumps: Sequence[float] | Mapping[Any, Sequence[float]] | None = None,
    rename: Mapping[str, str] | None = None,
    time: str | None = None,
    trajectory: str | None = None,
    concatenate: bool = False,
    unwrap: bool | Sequence[str] | None = None,
) -> xr.Dataset:
    """A data set in the standard layout (see `make_dataset`), read whole into memory.

    **Arguments:**

    - `source`: one of

        - a text file with columns, ``.csv``, ``.tsv`` or ``.txt``, or one of these with ``.gz``:

            - *long*: a column ``time`` (or ``t``), optionally ``trajectory`` (or ``run``, ``trial``,
                ``id``) and ``split``, and one column for each state; one row for each sample;
            - *wide, one row for each trajectory*: no ``time`` column; the columns
                ``state@time`` (``x@0``, ``x@0.1``, ...), optionally ``trajectory`` and ``split``;
            - *wide, one row for each time*: a ``time`` column, and all others named
                ``state@trajectory`` (``x@1``, ``x@2``, ...).

            Cells are separated by commas, semicolons, tabs, bars or blanks. An empty cell is a missing
            sample. Lines that begin with ``#`` or ``%`` are comments;
        - a Parquet file (``.parquet``) or a ``pandas.DataFrame`` with such columns;
        - a NetCDF file (``.nc``), an ``xarray.Dataset`` or a ``DataArray``: one variable over
            ``(trajectory, time, state)`` in any order, or one for each state over
            ``(trajectory, time)``; without the dim ``trajectory`` it is one trajectory. Times are the
            coordinate ``time`` or a variable ``t``; channels may have times of their own (``x`` over
            ``time_x``). Other variables (a forecast's ``status``, say) are kept;
        - a Zarr store (``.zarr``) of such a data set;
        - an NPZ file (``.npz``) or a MATLAB file (``.mat``) with the arrays ``u``
            ``(trajectory, time, state)`` or ``(time, state)`` and ``t`` or ``time`` ``(time,)`` or
            ``(trajectory, time)``, and optionally ``state`` or ``states`` (names), ``units``,
            ``trajectory``, ``split``; or with an array ``(time,)`` or ``(time, k)`` of any name for
            one or more states. Inputs ``w`` ``(trajectory, time, input)`` beside ``u`` have their names
            in ``inputs``, and ``input_units``, ``interpolation``, ``jumps``; parameters
            ``parameters`` ``(trajectory, parameter)`` theirs in ``parameter``;
        - several of these, as a list or as a name with ``*`` or ``?``.

    - `states`: names of the columns (variables, states) that are read, in this order; all others are
        left out. By default all that are not times, names of trajectories or splits.
    - `inputs`: names of those that are inputs w(t), known at every sample, or at times of their own.
    - `parameters`: names of those that are parameters, the same throughout each trajectory. In a wide
        table, an ``xarray.Dataset`` or an array they may also have one value for each trajectory.
    - `interpolation`: how inputs go from one sample to the next: ``"linear"`` (by default), ``"cubic"``
        or ``"held"`` for all, or a table by input.
    - `jumps`: times at which inputs jump; a sample at one holds the value after it. A list for all
        trajectories, of which each gets those that lie inside it, or a table of lists by trajectory.
    - `rename`: new names of states, inputs and parameters, by their names in the source.
    - `time`, `trajectory`: the names of the column (variable, dim) with the times, and of the one that
        tells the trajectories apart, where they have others than those above.
    - `concatenate`: several sources are parts of one recording, one after another in time; by default
        each has trajectories of its own.
    - `unwrap`: `True`, or names of states: angles that jump by a whole turn (2π, or 360 where the unit
        is degrees) count on instead. By default a jump is only told; `False` keeps it in silence.

    Trajectories of unequal length are padded with NaN; uneven time steps are kept as they are. Dates
    and durations are turned into seconds; numbers stay in the unit that they have.

    **Raises:** `DataError`, one sentence that names the file, column, line, trajectory or state.
    """
    columns = Columns.make(states, time, trajectory, inputs, parameters, interpolation, jumps)
    if isinstance(source, str | os.PathLike) and _is_pattern(os.fspath(source)):
        source = matching(os.fspath(source))
    if isinstance(source, list | tuple):
        if not source:
            raise DataError("the list of data sets is empty; name one file at least")
        parts = [_open_one(part, columns) for part in source]
        names = names_of(source)
        join = one_after_another if concatenate else side_by_side
        ds = parts[0] if len(parts) == 1 else join(parts, names)
    else:
        ds = _open_one(source, columns)
    # When the parts are one: a jump may lie between two of them.
    if interpolation is not None or jumps is not None:
        ds = assign_roles(ds, interpolation=interpolation, jumps=jumps)
    return _unwrapped(ds if rename is None else _renamed(ds, rename), unwrap)


def _open_one(source: Any, columns: Columns) -> xr.Dataset:
    """One source in the standard layout, its file named in every message."""
    if isinstance(source, xr.DataArray):
        source = source.to_dataset(name=str(source.name or "u"))
    if isinstance(source, xr.Dataset):
        return _checked(from_xarray(source, columns))
    if isinstance(source, pd.DataFrame):
        return _checked(from_frame(source, columns))
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"data must be a path, an xarray.Dataset, a DataFrame or a list of these, not "
            f"{type(source).__name__}; arrays go through pnde.data.make_dataset"
        )
    path = Path(source)
    # The end of a long path tells more than its beginning.
    name = str(path) if len(str(path)) <= 100 else f"…{str(path)[-99:]}"
    try:
        read = reader_of(path)
        if suffix_of(path).lower() != ".zarr":  # which is a folder
            _check_file(path)
        return _checked(read(path, columns))
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    except MemoryError:
        raise DataError(f"{name}: the data do not fit into the memory that is left") from None
    except OSError as error:
        raise DataError(f"{name}: the file cannot be read ({error.strerror or error})") from None


def _unwrapped(ds: xr.Dataset, unwrap: bool | Sequence[str] | None) -> xr.Dataset:
    if unwrap is None:
        jumps = None if "status" in ds else describe_jumps(ds)
        if jumps is not None:
            logger.warning("%s", jumps)
        return ds
    if isinstance(unwrap, bool):
        return unwrap_angles(ds) if unwrap else ds
    if isinstance(unwrap, str) or not isinstance(unwrap, Sequence):
        raise DataError(f"unwrap= is True, False or a list of states, not {shown(unwrap)}")
    return unwrap_angles(ds, [str(name) for name in unwrap])


def _checked(ds: xr.Dataset) -> xr.Dataset:
    if "status" not in ds:  # a forecast may have failed from its first step on; data may not
        check_not_empty(ds, time_matrix(ds))
    return ds


def _is_pattern(path: str) -> bool:
    """Whether a path means several files; a file may have brackets in its name."""
    try:
        return any(mark in path for mark in "*?[") and not Path(path).exists()
    except (OSError, ValueError):
        return False


def _check_file(path: Path) -> None:
    """Refuse what is no file: a folder, a device that never ends, a pipe that waits for ever."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise DataError("there is no such file") from None
    except ValueError as error:
        raise DataError(f"this is no path ({error})") from None
    if stat.S_ISDIR(mode):
        raise DataError("this is a folder, not a file; name its files, such as 'folder/*.csv'")
    if not stat.S_ISREG(mode):
        raise DataError("this is a pipe or a device, not a file; save the data to a file first")


def _renamed(ds: xr.Dataset, rename: Mapping[str, str]) -> xr.Dataset:
    if not isinstance(rename, Mapping):
        raise DataError(
            f"rename= is a table of new names by old ones, such as {{'pos': 'x'}}, not {shown(rename)}"
        )
    held = {
        what: [str(name) for name in ds[what].values] if what in ds.coords else []
        for what in ("state", "input", "parameter")
    }
    every = list(chain(*held.values()))
    for name in rename:
        if name not in every:
            others = "".join(
                f", the {what}s {listed(names)}"
                for what, names in held.items()
                if names and what != "state"
            )
            raise DataError(
                f"there is no state {shown(name)} to rename{nearest(name, every)}; the states are "
                f"{listed(held['state'])}{others} (times and trajectories are named by time= and trajectory=)"
            )
    new = {what: [str(rename.get(name, name)) for name in names] for what, names in held.items()}
    for what, names in new.items():
        check_names(names, what)
    check_apart(new["state"], new["input"], new["parameter"])
    return ds.assign_coords({what: names for what, names in new.items() if names})
