"""Load profiles: a grid driven by the demand that a table has for its loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.data import Interpolation, as_inputs, inputs_of, open_data, time_matrix
from pnde.errors import DataError, listed, nearest, shown
from pnde.systems.base import Driving
from pnde.systems.grid import PowerGrid

_UNITS = {"P": "MW", "Q": "Mvar"}


def driven_by(
    system: PowerGrid,
    profile: Any,
    t_end: float | None = None,
    dt: float | None = None,
    interpolation: Interpolation = "linear",
    jumps: Sequence[float] | Mapping[Any, Sequence[float]] | None = None,
) -> tuple[PowerGrid, Driving]:
    """A grid whose loads follow a profile, and what its `simulate` is to be given:

        system, driving = driven_by(pnde.systems.ieee14(), "profile.csv", interpolation="held")
        data = system.simulate(50, driving=driving)

    The loads that the profile names become inputs; where it has P of a load and not Q, or the other way round, the
    grid's set-point stays. The data hold the profile at their samples, and its jumps.

    **Arguments:**

    - `profile`: whatever `pnde.data.open_data` opens, with the times and columns such as ``P load 4`` and ``Q load 4``:
        what the load at bus 4 draws, MW and Mvar. With one trajectory it is the profile of all, with several that of
        each.
    - `t_end`, `dt`: of the simulation, from t = 0; by default to the profile's end, at the system's usual samples.
    - `interpolation`: how the profile goes from one of its rows to the next: linear, cubic, or held.
    - `jumps`: times at which it jumps; a row at one holds the value after it. A held profile jumps wherever it changes.

    **Raises:** `pnde.errors.DataError` for a column that is no load's, another unit, a missing cell, a profile that
    does not cover the simulation, or two jumps between two samples.
    """
    ds = open_data(profile, unwrap=False)
    names = [str(name) for name in ds["state"].values]
    columns = [_load(system, name) for name in names]
    units = [str(unit) for unit in ds["units"].values] if "units" in ds.coords else []
    for name, unit in zip(names, units, strict=False):
        if unit not in ("", _UNITS[name[0]]):
            raise DataError(
                f"the column {shown(name)} is in {shown(unit)}, but a profile has {_UNITS[name[0]]}: convert it"
            )
    table = as_inputs(ds, names, interpolation, jumps)
    ends = np.nanmax(np.where(np.isnan(table["w"][..., 0]), np.nan, time_matrix(table)), axis=1)
    dt = dt or system.dt
    t_end = t_end or dt * float(np.floor(ends.min() / dt + 1e-9))
    for row, (first, last) in enumerate(zip(time_matrix(table)[:, 0], ends, strict=True)):
        if first > 0 or last < t_end * (1 - 1e-9):
            of = "" if len(ends) == 1 else f" of trajectory {ds['trajectory'].values[row]}"
            raise DataError(
                f"the profile{of} goes from t = {first:g} to {last:g}, but the simulation from 0 to {t_end:g}: "
                "lengthen the profile, or name an earlier end"
            )
    driven = system.driven_at(sorted({load for load, _ in columns}))
    driven.t_end, driven.dt, driven.interpolation = t_end, dt, interpolation
    times = driven.times()
    w, moments = _sampled(table, times)
    every = np.tile(driven.constraint.usual_demand + 0.0, (*w.shape[:2], 1))
    every[..., [driven.inputs.index(f"{part} load {load}") for load, part in columns]] = w
    if len(w) == 1:
        return driven, Driving(w=every[0], jumps=moments[0])
    return driven, Driving(w=every, jumps=moments)


def _sampled(table: xr.Dataset, times: np.ndarray) -> tuple[np.ndarray, list[list[float]]]:
    """A profile's values `(B, T, k)` at times `(T,)`, and the times at which each trajectory jumps.

    **Raises:** `pnde.errors.DataError` for two jumps between two samples, which could not tell what was between them.
    """
    inputs = inputs_of(table)
    assert inputs is not None
    at = np.tile(times, (len(inputs), 1))
    slack, moments = 1e-9 * times[-1], []
    for row, jumps in enumerate(inputs.jumps):
        inside = jumps[(jumps > slack) & (jumps <= times[-1] + slack)]
        # The sample at or behind each; a sample at a jump holds the value after it, whatever the rounding.
        sample = np.searchsorted(times, inside - slack)
        twice = np.flatnonzero(np.diff(sample) == 0)
        if twice.size:
            first, second = inside[twice[0]], inside[twice[0] + 1]
            raise DataError(
                f"the profile jumps at t = {first:g} and at {second:g}, with no sample of the simulation between: take "
                "a smaller dt"
            )
        near = times[sample] < inside + slack
        at[row, sample[near]] = np.maximum(times[sample[near]], inside[near])
        moments.append(np.where(near, times[sample], inside).tolist())
    return inputs.at(at), moments


def _load(system: PowerGrid, name: str) -> tuple[int, str]:
    """The number of the load bus that a column belongs to, and ``P`` or ``Q``.

    **Raises:** `pnde.errors.DataError` if there is none.
    """
    buses = system.grid.buses
    loads = buses.number[system.grid.loads].tolist()
    known = {f"{part} load {load}": (int(load), part) for load in loads for part in _UNITS}
    if name in known:
        return known[name]
    others = {
        f"{part} load {number}": k for k, number in enumerate(buses.number) for part in _UNITS
    }
    if name in others:
        kind = buses.kind[others[name]]
        raise DataError(
            f"the column {shown(name)} is of bus {buses.number[others[name]]} of {system.grid.name}, which is a {kind} "
            f"and has no demand to drive: leave the column out; loads are {listed(loads)}"
        )
    raise DataError(
        f"the profile has a column {shown(name)}, which is no load of {system.grid.name}{nearest(name, known)}: "
        f"columns are 'P load 4' (MW), 'Q load 4' (Mvar), …; loads are {listed(loads)}"
    )
