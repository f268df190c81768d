"""Data sets of xarray, whatever they look like, in the standard layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, listed, nearest, shown

from ._channels import on_one_grid
from ._columns import Columns
from ._layout import assemble
from ._limits import check_room
from ._numbers import as_numbers
from ._times import Times, times_of_variable


def from_xarray(ds: xr.Dataset, columns: Columns) -> xr.Dataset:
    """The data set in the standard layout; `pnde.open_data` says what is understood.

    **Raises:** `DataError` naming the dimension or variable that does not fit.
    """
    check_room(2 * ds.nbytes, "the data set")
    ds = _with_trajectory(on_one_grid(_with_time(ds, columns), columns), columns)
    if "state" in ds.dims:
        u, states, units = _stacked_states(ds, columns)
        used = {"u"} if "u" in ds else {str(name) for name in ds.data_vars if _is_full(ds[name])}
    else:
        u, states, units = _separate_states(ds, columns)
        used = {str(name) for name in ds.data_vars if "time" in ds[name].dims}
    split = np.atleast_1d(ds["split"].values) if "split" in ds.variables else None
    out = assemble(
        u,
        _times(ds, u.shape[:2]),
        states,
        units,
        attrs=ds.attrs,
        split=split,
        trajectory=ds["trajectory"].values if "trajectory" in ds.coords else None,
    )
    return _with_the_rest(out, ds, used)


def _with_time(ds: xr.Dataset, columns: Columns) -> xr.Dataset:
    """`ds` with its times as the dim ``time``, or as the variable ``t`` over ``(trajectory, time)``."""
    held = {str(name): None for name in (*ds.dims, *ds.variables)}
    name = columns.time
    if name is None:
        dims = [str(dim) for dim in ds.dims]
        name = next((dim for dim in dims if dim.casefold() == "time"), None)
        name = name or ("t" if "t" in dims else None)
    if name is None or name == "time":
        if "t" in ds and "time" in ds.coords and columns.time is None:
            raise DataError("both 't' and 'time' could be the times; say which by time=")
        return ds.drop_vars("t", errors="ignore") if columns.time == "time" else ds
    columns.time_among(held, "dimension or variable")
    if name in ds.dims:
        return _renamed(ds, {name: "time"})
    over = [str(dim) for dim in ds[name].dims if dim not in ("trajectory", columns.trajectory)]
    if len(over) != 1:
        raise DataError(
            f"the times {shown(name)} have the dimensions {listed(ds[name].dims)}; they must run "
            "over one, or over the trajectories and one"
        )
    if ds[name].ndim == 1:
        return _renamed(ds.swap_dims({over[0]: name}), {name: "time"})
    return _renamed(ds, {over[0]: "time", name: "t"})


def _with_trajectory(ds: xr.Dataset, columns: Columns) -> xr.Dataset:
    """`ds` with the dim ``trajectory`` on everything that runs over time."""
    name = columns.trajectory
    if name is not None and name != "trajectory":
        columns.trajectory_among(
            {str(held): None for held in (*ds.dims, *ds.variables)}, "dimension or variable"
        )
        if name not in ds.dims and ds[name].ndim != 1:
            raise DataError(f"the trajectories' names {shown(name)} must have one dimension")
        if name not in ds.dims:
            ds = ds.swap_dims({ds[name].dims[0]: name})
        ds = _renamed(ds, {name: "trajectory"})
    if "time" not in ds.dims:
        dims = [str(dim) for dim in ds.dims]
        raise DataError(
            f"there is no dimension 'time'{nearest('time', dims)}; name it by time=, of the "
            f"dimensions {listed(dims)}"
        )
    if "trajectory" in ds.dims:
        return ds
    if "trajectory" in ds.coords:  # one that was selected keeps its label as a scalar
        ds = ds.expand_dims("trajectory")
    else:
        over_time = {
            name: variable.expand_dims("trajectory")
            for name, variable in ds.data_vars.items()
            if "time" in variable.dims
        }
        ds = ds.assign(over_time)
    if "split" in ds.variables:
        ds = ds.assign_coords(split=("trajectory", np.atleast_1d(ds["split"].values)))
    return ds


def _renamed(ds: xr.Dataset, names: dict[str, str]) -> xr.Dataset:
    """`ds` with other names for dims and variables; whatever stands in the way of one is left out."""
    ds = ds.drop_vars([new for old, new in names.items() if new in ds.variables])
    try:
        return ds.rename(names)
    except ValueError as error:
        raise DataError(f"the dimensions do not fit ({brief(error, 100)})") from None


def _is_full(variable: xr.DataArray) -> bool:
    return set(variable.dims) == {"trajectory", "time", "state"}


def _stacked_states(
    ds: xr.Dataset, columns: Columns
) -> tuple[np.ndarray, list[str] | None, list[str] | None]:
    """One variable over (trajectory, time, state)."""
    full = [str(name) for name, variable in ds.data_vars.items() if _is_full(variable)]
    if "u" not in full and len(full) > 1:
        raise DataError(f"which of {listed(full)} holds the states? Call it 'u'")
    if not full:
        held = "; ".join(f"{k} {tuple(v.dims)}" for k, v in list(ds.data_vars.items())[:5])
        raise DataError(
            f"no variable has the dims (trajectory, time, state); there are: {held or 'none'}"
        )
    name = "u" if "u" in full else full[0]
    u = as_numbers(ds[name].transpose("trajectory", "time", "state").values, shown(name))
    named = "state" in ds.coords
    states = [_text(value) for value in ds["state"].values] if named else None
    units = None
    if "units" in ds.coords and ds["units"].dims == ("state",):
        units = [_text(unit) for unit in ds["units"].values]
    if columns.states is not None:
        states = states or [f"u{k}" for k in range(u.shape[-1])]
        places = {state: k for k, state in enumerate(states)}
        picked = columns.chosen(places, "state") or []
        at = [places[state] for state in picked]
        u, states = u[..., at], picked
        units = None if units is None else [units[k] for k in at]
    return u, states, units


def _separate_states(ds: xr.Dataset, columns: Columns) -> tuple[np.ndarray, list[str], list[str]]:
    """One variable for each state, over (trajectory, time), or over time and the same for all."""
    over_time = {
        str(name): variable
        for name, variable in ds.data_vars.items()
        if "time" in variable.dims and name != "t"
    }
    names = columns.chosen(over_time, "variable") or list(over_time)
    if not names:
        raise DataError("no variable runs over 'time', so there are no states")
    shape = (ds.sizes["trajectory"], ds.sizes["time"])
    values = []
    for name in names:
        variable = over_time[name]
        if not set(variable.dims) <= {"trajectory", "time"}:
            raise DataError(
                f"variable {shown(name)} has the dims {tuple(variable.dims)}; the dim that counts "
                "the states must be called 'state' (or leave it out by states=)"
            )
        dims = [dim for dim in ("trajectory", "time") if dim in variable.dims]
        numbers = as_numbers(variable.transpose(*dims).values, f"variable {shown(name)}")
        values.append(np.broadcast_to(numbers, shape))
    units = [_text(over_time[name].attrs.get("units", "")) for name in names]
    return np.stack(values, axis=-1), names, units


def _times(ds: xr.Dataset, shape: tuple[int, ...]) -> Times:
    """Times ``(trajectory, time)``."""
    if "t" not in ds and "time" not in ds.coords:
        raise DataError("the dimension 'time' has no coordinate, so the times are unknown")
    variable = ds["t"] if "t" in ds else ds["time"]
    if not set(variable.dims) <= {"trajectory", "time"} or "time" not in variable.dims:
        raise DataError(
            f"the times {shown(variable.name)} have the dims {tuple(variable.dims)}; they must be "
            "('time',) or ('trajectory', 'time')"
        )
    times = times_of_variable(variable)
    values = np.broadcast_to(times.values, shape).copy()
    return Times(values, times.unit, times.since)


def _with_the_rest(out: xr.Dataset, ds: xr.Dataset, used: set[str]) -> xr.Dataset:
    """`out` with the variables and coordinates of `ds` that it has not: a forecast's status, say."""
    standard = {*used, "t", "time", "state", "units", "split", "trajectory"}
    kept = [name for name in ds.variables if str(name) not in standard]
    for name in kept:
        variable = ds[name]
        if any(out.sizes.get(dim, size) != size for dim, size in variable.sizes.items()):
            continue  # of the states that were not chosen
        # Values only: the new data set has its own coordinates, and the orders are the same.
        value = (variable.dims, variable.values, variable.attrs)
        if name in ds.coords:
            out = out.assign_coords({str(name): value})
        else:
            out = out.assign({str(name): value})
    return out


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
