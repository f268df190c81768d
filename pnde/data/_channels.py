"""Channels that are sampled at different times, on one grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, shown

from ._checks import first_not_increasing, not_increasing
from ._columns import Columns
from ._exogenous import kinds
from ._inputs import Inputs
from ._labels import label_text
from ._numbers import as_numbers
from ._times import on_one_clock, times_of_variable
from ._wide import union_of_times


def on_one_grid(ds: xr.Dataset, columns: Columns) -> xr.Dataset:
    """`ds` with all channels over one dim ``time``, which has every time of each of them.

    A channel is a variable over a dim of its own, such as ``x (time_x)`` beside ``v (time_v)``. It is
    NaN where it has no sample; an input is there what it is between its samples.

    **Raises:** `DataError` where a channel's times do not increase, or are on different clocks.
    """
    if "state" in ds.dims:
        return ds
    grids = [str(dim) for dim in ds.dims if _counts_time(ds, str(dim))]
    if len(grids) < 2 and (not grids or grids == ["time"]):
        return ds
    own = [times_of_variable(ds[dim]) for dim in grids]
    for dim, times in zip(grids, own, strict=True):
        stuck = first_not_increasing(times.values)
        if stuck is not None:
            raise DataError(
                not_increasing(
                    dim, times.values[stuck : stuck + 2], f"samples {stuck}, {stuck + 1}"
                )
            )
    values, unit, since = on_one_clock(own)
    grid, at = union_of_times(np.concatenate(values))
    places = np.split(at, np.cumsum([len(times) for times in values])[:-1])
    place = dict(zip(grids, places, strict=True))
    variables = {}
    for name, variable in ds.data_vars.items():
        mine = [dim for dim in variable.dims if dim in place]
        if not mine:
            variables[name] = variable.variable
        elif len(mine) == 1 and set(variable.dims) <= {mine[0], "trajectory", columns.trajectory}:
            variables[name] = _spread(variable, str(mine[0]), place[str(mine[0])], len(grid))
        else:
            raise DataError(
                f"variable {shown(name)} has the dims {tuple(variable.dims)}; a channel runs over its "
                "own times, and over 'trajectory' where there are several"
            )
    kept = {
        name: coordinate.variable
        for name, coordinate in ds.coords.items()
        if not set(coordinate.dims) & set(grids)
    }
    attributes = {"units": unit, "since": since}
    kept["time"] = xr.Variable("time", grid, {k: v for k, v in attributes.items() if v})
    out = xr.Dataset(variables, kept, ds.attrs)
    own_clock = [name for name in columns.inputs if name in ds and {*ds[name].dims} & {*place}]
    return out.assign({name: _filled(out, name, grid, columns) for name in own_clock})


def _counts_time(ds: xr.Dataset, dim: str) -> bool:
    """Whether a dim has times as its coordinate, as far as its name or kind tells."""
    if dim not in ds.coords:
        return False
    word = dim.casefold()
    named = word.startswith(("time", "t_")) or word.endswith(("_time", "_t"))
    return named or ds[dim].dtype.kind in "mM"


def _spread(variable: xr.DataArray, dim: str, place: np.ndarray, length: int) -> xr.Variable:
    """A channel over `dim` on the grid: its samples at `place`, NaN elsewhere."""
    values = as_numbers(variable.transpose(..., dim).values, f"variable {shown(variable.name)}")
    out = np.full((*values.shape[:-1], length), np.nan)
    out[..., place] = values
    others = [other for other in variable.dims if other != dim]
    return xr.Variable([*others, "time"], out, variable.attrs)


def _filled(ds: xr.Dataset, name: str, grid: np.ndarray, columns: Columns) -> xr.Variable:
    """An input that has a clock of its own, at all times of the grid from its first sample on.

    Its last value holds if it is held; else it is unknown after it.
    """
    variable = ds[name].transpose(..., "time")
    values = variable.values.reshape(-1, len(grid))
    table = columns.interpolation
    kind = table.get(name, "linear") if isinstance(table, Mapping) else table or "linear"
    (kind,) = kinds(kind, [name], [name])
    runs = ds[columns.trajectory or "trajectory"] if variable.ndim == 2 else None
    for row, own in enumerate(values):
        known = np.isfinite(own)
        if not known.any():
            continue
        label = "0" if runs is None else label_text(runs.values[row])
        jumps = as_numbers(_jumps_of(columns.jumps, label), "jumps=")
        w = Inputs.through(own[known][None, :, None], grid[known][None], [kind], jumps[None])
        first, last = grid[known][[0, -1]]
        wanted = (grid >= first) & ((grid <= last) | (kind == "held"))
        own[wanted] = np.where(known, own, w.at(grid[None])[0, :, 0])[wanted]
    return xr.Variable(variable.dims, values.reshape(variable.shape), variable.attrs)


def _jumps_of(jumps: Any, label: str) -> Any:
    """Those of one trajectory; whether they fit the data is seen when the inputs are declared."""
    if isinstance(jumps, Mapping):
        jumps = {label_text(known): own for known, own in jumps.items()}.get(label)
    return [] if jumps is None else jumps
