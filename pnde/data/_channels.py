"""Channels that are sampled at different times, on one grid."""

from __future__ import annotations

import numpy as np
import xarray as xr

from pnde.errors import DataError, shown

from ._checks import first_not_increasing, not_increasing
from ._columns import Columns
from ._numbers import as_numbers
from ._times import on_one_clock, times_of_variable
from ._wide import union_of_times


def on_one_grid(ds: xr.Dataset, columns: Columns) -> xr.Dataset:
    """`ds` with all channels over one dim ``time``, which has every time of each of them.

    A channel is a variable over a dim of its own, such as ``x (time_x)`` beside ``v (time_v)``. It is
    NaN where it has no sample.

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
    return xr.Dataset(variables, kept, ds.attrs)


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
