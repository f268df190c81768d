"""Data sets of xarray, whatever they look like, in the standard layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, listed, nearest, shown

from ._channels import on_one_grid
from ._columns import Columns
from ._exogenous import Exogenous
from ._labels import check_count, trajectory_labels
from ._layout import assemble
from ._limits import check_room
from ._numbers import as_numbers
from ._roles import assign_roles
from ._times import Times, times_of_variable


def from_xarray(ds: xr.Dataset, columns: Columns) -> xr.Dataset:
    """The data set in the standard layout; `pnde.open_data` says what is understood.

    **Raises:** `DataError` naming the dimension or variable that does not fit.
    """
    check_room(2 * ds.nbytes, "the data set")
    ds = _with_trajectory(on_one_grid(_with_time(ds, columns), columns), columns)
    given, ds = _standard_exogenous(ds)
    if "state" in ds.dims:
        u, states, units = _stacked_states(ds, columns)
        used = {"u"} if "u" in ds else {str(name) for name in ds.data_vars if _is_full(ds[name])}
    else:
        u, states, units = _separate_states(ds, columns)
        used = {str(name) for name in ds.data_vars if "time" in ds[name].dims}
    times = _times(ds, u.shape[:2])
    named = ds["trajectory"].values if "trajectory" in ds.coords else None
    labels = np.arange(len(u)) if named is None else trajectory_labels(named)
    check_count("trajectory labels", labels, len(u), "trajectories")
    split = np.atleast_1d(ds["split"].values) if "split" in ds.variables else None
    out = assemble(
        u,
        times,
        states,
        units,
        attrs=ds.attrs,
        split=split,
        trajectory=named,
        exogenous=Exogenous.make(times.values, labels, **given),
    )
    out = _with_the_rest(out, ds, {*used, *columns.inputs, *columns.parameters})
    if not (columns.inputs or columns.parameters):
        return out
    return assign_roles(out, columns.inputs, columns.parameters)


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
    beside = [
        name
        for name in (*columns.inputs, *columns.parameters)
        if name not in (states or ()) and name in ds.variables and _is_plain(ds[name])
    ]
    if beside:
        states = states or [f"u{k}" for k in range(u.shape[-1])]
        units = units or [""] * len(states)
        u = np.concatenate([u, *(_spread(ds, name)[..., None] for name in beside)], axis=-1)
        states = [*states, *beside]
        units = [*units, *(_text(ds[name].attrs.get("units", "")) for name in beside)]
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
    # Of the same value at all times: a variable over the trajectories, or a number, that is asked for.
    over_time |= {
        name: ds[name]
        for name in columns.parameters
        if name in ds.variables and name not in over_time and _is_plain(ds[name])
    }
    names = columns.chosen(over_time, "variable") or list(over_time)
    if not names:
        raise DataError("no variable runs over 'time', so there are no states")
    values = []
    for name in names:
        variable = over_time[name]
        if not set(variable.dims) <= {"trajectory", "time"}:
            raise DataError(
                f"variable {shown(name)} has the dims {tuple(variable.dims)}; the dim that counts "
                "the states must be called 'state' (or leave it out by states=)"
            )
        values.append(_spread(ds, name))
    units = [_text(over_time[name].attrs.get("units", "")) for name in names]
    return np.stack(values, axis=-1), names, units


def _is_plain(variable: xr.DataArray) -> bool:
    """Whether a variable has one number for each trajectory and time at most."""
    return set(variable.dims) <= {"trajectory", "time"}


def _spread(ds: xr.Dataset, name: str) -> np.ndarray:
    """A variable over trajectories, times, both or neither as ``(trajectory, time)``."""
    variable = ds[name].transpose("trajectory", "time", missing_dims="ignore")
    numbers = as_numbers(variable.values, f"variable {shown(name)}")
    if variable.dims == ("trajectory",):
        numbers = numbers[:, None]
    return np.broadcast_to(numbers, (ds.sizes["trajectory"], ds.sizes["time"]))


def _standard_exogenous(ds: xr.Dataset) -> tuple[dict[str, Any], xr.Dataset]:
    """The keywords of `Exogenous.make` for what is over ``input``, ``jump`` and ``parameter``, and the rest."""
    given: dict[str, Any] = {}
    axes = {"w": "input", "jumps": "jump", "parameters": "parameter"}
    words = {"w": "w", "jumps": "jumps", "parameters": "p"}
    found = [name for name, dim in axes.items() if name in ds.data_vars and dim in ds[name].dims]
    count = ds.sizes.get("trajectory", 1)
    for name in found:
        dims = ("trajectory", *(("time",) if name == "w" else ()), axes[name])
        variable = ds[name]
        if not set(variable.dims) <= set(dims):
            raise DataError(
                f"variable {shown(name)} has the dims {tuple(variable.dims)}; {dims} are meant"
            )
        if "trajectory" not in variable.dims:
            variable = variable.expand_dims(trajectory=count)
        if name == "w" and "time" not in variable.dims:
            raise DataError("the inputs 'w' do not run over 'time'; make them parameters")
        given[words[name]] = as_numbers(variable.transpose(*dims).values, shown(name))
    described = {
        "input": "inputs",
        "input_units": "input_units",
        "interpolation": "interpolation",
        "parameter": "parameters",
        "parameter_units": "parameter_units",
    }
    for name, word in described.items():
        dim = name.partition("_")[0] if name != "interpolation" else "input"
        wanted = ("w" if dim == "input" else "parameters") in found
        if wanted and name in ds.coords and ds[name].dims == (dim,):
            given[word] = [_text(value) for value in ds[name].values]
    rest = ds.drop_vars([*found, *described], errors="ignore") if found else ds
    if "trajectory" not in rest.dims:  # where they alone told the trajectories apart
        rest = rest.assign_coords(trajectory=np.arange(count))
    return given, rest


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
