"""The one layout of data sets, and the way into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from pnde.errors import DataError, listed, nearest, shown

from ._attributes import plain_attributes
from ._checks import check_finite, check_times
from ._exogenous import COORDINATES, VARIABLES, Exogenous
from ._labels import check_count, split_names, trajectory_labels
from ._limits import check_room
from ._naming import check_names, unit_list
from ._numbers import as_numbers
from ._times import TIME_TOLERANCE, Times, as_times, on_one_clock


def make_dataset(
    u: ArrayLike | Sequence[ArrayLike],
    t: Any,
    states: Sequence[str] | None = None,
    units: Sequence[str] | Mapping[str, str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    split: Sequence[str] | None = None,
    *,
    trajectory: Sequence[Any] | np.ndarray | None = None,
    time_units: str = "",
    w: ArrayLike | Sequence[ArrayLike] | None = None,
    inputs: str | Sequence[str] | None = None,
    input_units: Sequence[str] | Mapping[str, str] | None = None,
    interpolation: str | Sequence[str] | Mapping[str, str] = "linear",
    jumps: Sequence[Any] | Mapping[Any, Sequence[float]] | np.ndarray | None = None,
    p: ArrayLike | None = None,
    parameters: str | Sequence[str] | None = None,
    parameter_units: Sequence[str] | Mapping[str, str] | None = None,
) -> xr.Dataset:
    """A data set in the standard layout.

    The result has the dims ``(trajectory, time, state)``; the variable ``u``; the coordinates
    ``trajectory``, ``state``, ``units`` (on state) and, if given, ``split`` (on trajectory). Times
    are the coordinate ``time`` where all trajectories share one grid (or begin with the same grid
    and end early), else the variable ``t`` ``(trajectory, time)``, NaN after a trajectory's end.

    Trajectories that are driven have the variable ``w`` over ``(trajectory, time, input)`` with the
    coordinates ``input``, ``input_units`` and ``interpolation``, and, where inputs jump, ``jumps`` over
    ``(trajectory, jump)``. Families of systems have ``parameters`` over ``(trajectory, parameter)`` with
    the coordinates ``parameter`` and ``parameter_units``.

    **Arguments:**

    - `u`: states ``(trajectory, time, n)``, or ``(time, n)`` for one trajectory, or a sequence of
      ``(time_i, n)`` for trajectories of unequal length (padded with NaN). NaN marks a missing
      sample. Physical units.
    - `t`: times ``(time,)`` or ``(trajectory, time)``, or one array for each trajectory. Numbers
      are kept as they are; dates become seconds since the first of them all (which the attribute
      ``since`` of the times keeps), durations become seconds.
    - `states`: the n state names; ``u0, u1, ...`` if left out.
    - `units`: the n units, or a mapping from state names to units.
    - `attrs`: how the data came to be. Dicts and lists are kept as JSON text, ``None`` is left out,
      so that the attributes survive in a NetCDF file.
    - `split`: ``train``, ``valid``, ``test`` or ``unused`` for each trajectory.
    - `trajectory`: labels of the trajectories; ``0, 1, ...`` if left out.
    - `time_units`: the unit of times that are numbers, such as ``"h"``.
    - `w`: inputs ``(trajectory, time, k)``, or ``(time, k)`` for all trajectories alike, or a sequence
      of ``(time_i, k)``. An input is known at every sample.
    - `inputs`, `input_units`: the names of the inputs, ``w0, w1, ...`` if left out, and their units.
    - `interpolation`: how inputs go from one sample to the next: ``"linear"``, ``"cubic"`` (a spline) or
      ``"held"`` (each value until the next); one for all, one for each, or by name.
    - `jumps`: times at which inputs jump. A sample at one holds the value after it. A list for all
      trajectories, of which each gets those that lie inside it; a table of lists by trajectory label;
      or one list for each trajectory.
    - `p`: parameters ``(trajectory, r)``, or ``(r,)`` for all trajectories alike.
    - `parameters`, `parameter_units`: the names of the parameters, ``p0, p1, ...`` if left out, and
      their units.

    **Raises:** `DataError` where shapes do not fit, values are complex, infinite or no numbers,
    names occur twice, times do not increase, an input or a parameter is unknown, or a jump lies
    outside its trajectory.
    """
    states_array, times = _stack(u, t, time_units)
    labels = np.arange(len(states_array)) if trajectory is None else trajectory_labels(trajectory)
    check_count("trajectory labels", labels, len(states_array), "trajectories")
    check_times(times.values, labels)
    exogenous = Exogenous.make(
        times.values,
        labels,
        w,
        inputs,
        input_units,
        interpolation,
        jumps,
        p,
        parameters,
        parameter_units,
    )
    return assemble(states_array, times, states, units, attrs, split, labels, exogenous)


def assemble(
    u: np.ndarray,
    times: Times,
    states: Sequence[Any] | None = None,
    units: Sequence[Any] | Mapping[str, str] | None = None,
    attrs: Mapping[Any, Any] | None = None,
    split: Sequence[Any] | np.ndarray | None = None,
    trajectory: Sequence[Any] | np.ndarray | None = None,
    exogenous: Exogenous | None = None,
) -> xr.Dataset:
    """`make_dataset` for states ``(trajectory, time, n)`` and times of shape ``(trajectory, time)``."""
    count, _, n = u.shape
    if 0 in u.shape:
        raise DataError(f"there are no data: {count} trajectories, {u.shape[1]} times, {n} states")
    states = [f"u{i}" for i in range(n)] if states is None else states
    check_count("state names", states, n, "states")
    names = [str(name) for name in states]
    check_names(names)
    labels = np.arange(count) if trajectory is None else trajectory_labels(trajectory)
    check_count("trajectory labels", labels, count, "trajectories")
    check_times(times.values, labels)
    check_finite(u, times.values, labels, names)

    coordinates: dict[str, Any] = {
        "trajectory": labels,
        "state": names,
        "units": ("state", unit_list(units, names)),
    }
    if split is not None:
        check_count("split names", split, count, "trajectories")
        coordinates["split"] = ("trajectory", split_names(split, labels))
    variables: dict[str, Any] = {"u": (("trajectory", "time", "state"), u)}
    shared = _shared_grid(times.values)
    facts = {"units": times.unit, "since": times.since}
    time_attributes = {key: fact for key, fact in facts.items() if fact}
    if shared is not None:
        coordinates["time"] = ("time", shared, time_attributes)
    else:
        variables["t"] = (("trajectory", "time"), times.values, time_attributes)
    if exogenous is not None:
        # A shared grid is that of the longest trajectory, from which others may differ by rounding.
        clock = times.values if shared is None else np.broadcast_to(shared, times.values.shape)
        exogenous = exogenous.on(np.where(np.isfinite(times.values), clock, np.nan))
        exogenous.check(u, times.values, labels, names)
        own, described = exogenous.variables()
        variables |= own
        coordinates |= described
    return xr.Dataset(variables, coordinates, plain_attributes(attrs or {}))


def rebuilt(
    ds: xr.Dataset,
    u: np.ndarray,
    states: Sequence[Any],
    units: Sequence[Any] | None,
    exogenous: Exogenous | None = None,
) -> xr.Dataset:
    """`ds` with other states, and other inputs and parameters if they are given.

    What else it holds is kept, but for what belongs to single states, inputs or parameters.
    """
    out = assemble(
        u,
        times_of(ds),
        states,
        units,
        ds.attrs,
        ds["split"].values.astype(str) if "split" in ds.coords else None,
        ds["trajectory"].values,
        Exogenous.of(ds) if exogenous is None else exogenous,
    )
    rest = ds.drop_vars([*VARIABLES, *COORDINATES, *out.variables, "t", "time"], errors="ignore")
    rest = rest.drop_dims(["state", "input", "parameter", "jump"], errors="ignore")
    out = out.assign_coords({str(name): c.variable for name, c in rest.coords.items()})
    return out.assign({str(name): v.variable for name, v in rest.data_vars.items()})


def time_matrix(ds: xr.Dataset) -> np.ndarray:
    """Times of every sample, ``(trajectory, time)``; NaN after the end of a shorter trajectory."""
    if "t" in ds:
        return np.asarray(ds["t"].transpose("trajectory", "time").values, np.float64)
    shape = (ds.sizes["trajectory"], ds.sizes["time"])
    return np.broadcast_to(np.asarray(ds["time"].values, np.float64), shape)


def time_label(ds: xr.Dataset) -> str:
    """The unit of time as the data set gives it, or an empty string."""
    return str(_time_of(ds).attrs.get("units", ""))


def times_of(ds: xr.Dataset) -> Times:
    """The times of a data set in the standard layout: `time_matrix`, `time_label` and the date of 0."""
    return Times(time_matrix(ds), time_label(ds), str(_time_of(ds).attrs.get("since", "")))


def check_layout(ds: Any) -> None:
    """Refuse what is no data set in the standard layout.

    **Raises:** `DataError` that says how to get one.
    """
    standard = {"trajectory", "time", "state"}
    if not (isinstance(ds, xr.Dataset) and "u" in ds and set(ds["u"].dims) == standard):
        raise DataError(
            f"a data set in the standard layout is meant, with u over (trajectory, time, state), not "
            f"{type(ds).__name__}; make one by pnde.open_data"
        )


def state_index(ds: xr.Dataset, name: str) -> int:
    """Position of the state called ``name``; `DataError` with the nearest name if there is none."""
    names = [str(known) for known in ds["state"].values]
    if name not in names:
        raise DataError(
            f"there is no state {shown(name)}{nearest(name, names)}; the states are {listed(names)}"
        )
    return names.index(name)


def padded(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays ``(k_i, ...)`` of unequal length as one ``(len(parts), k, ...)``, NaN behind the shorter.

    **Raises:** `DataError` where that takes more memory than there is.
    """
    length = max(len(part) for part in parts)
    shape = (len(parts), length, *parts[0].shape[1:])
    check_room(8 * int(np.prod(shape, dtype=object)), f"an array of shape {shape}")
    out = np.full(shape, np.nan)
    for row, part in zip(out, parts, strict=True):
        row[: len(part)] = part
    return out


def _time_of(ds: xr.Dataset) -> xr.DataArray:
    return ds["t"] if "t" in ds else ds["time"]


def _stack(u: Any, t: Any, time_units: str) -> tuple[np.ndarray, Times]:
    """States (trajectory, time, n) and times (trajectory, time), padded with NaN."""
    if isinstance(u, list | tuple) and u:
        parts = [as_numbers(part, "u") for part in u]
        if all(part.ndim == 2 for part in parts):
            return _stack_uneven(parts, t, time_units)
    states, times = as_numbers(u, "u"), as_times(t, time_units)
    _check_label(times, time_units)
    if states.ndim == 2:
        states = states[None]
    if states.ndim != 3:
        raise DataError(f"u has shape {states.shape}; it must be (trajectory, time, state)")
    values = times.values
    if values.ndim == 1:
        values = np.broadcast_to(values, (states.shape[0], values.shape[0])).copy()
    if values.shape != states.shape[:2]:
        raise DataError(
            f"the times have shape {times.values.shape}, but u has {states.shape[0]} trajectories "
            f"of {states.shape[1]} points"
        )
    return states, Times(values, times.unit, times.since)


def _stack_uneven(parts: list[np.ndarray], t: Any, time_units: str) -> tuple[np.ndarray, Times]:
    if len({part.shape[1] for part in parts}) > 1:
        raise DataError("the trajectories differ in their number of states")
    if 0 in {size for part in parts for size in part.shape}:
        raise DataError("a trajectory is empty; leave it out")
    if isinstance(t, list | tuple) and len(t) > 0 and np.ndim(t[0]) == 1:
        if len(t) != len(parts):
            raise DataError(f"there are {len(parts)} trajectories but times for {len(t)}")
        own = [as_times(times, time_units) for times in t]
    else:
        shared = as_times(t, time_units)
        if shared.values.ndim not in (1, 2) or shared.values.shape[:-1] not in ((), (len(parts),)):
            raise DataError(
                f"there are {len(parts)} trajectories, but the times have shape "
                f"{shared.values.shape}; give one array for each trajectory"
            )
        rows = np.broadcast_to(shared.values, (len(parts), shared.values.shape[-1]))
        own = [
            Times(row[: len(part)], shared.unit, shared.since)
            for row, part in zip(rows, parts, strict=True)
        ]
    for index, (times, part) in enumerate(zip(own, parts, strict=True)):
        _check_label(times, time_units)
        if times.values.shape != (len(part),):
            raise DataError(
                f"trajectory {index} has {len(part)} points but times of shape {times.values.shape}"
            )
    values, unit, since = on_one_clock(own)
    return padded(parts), Times(padded(values), unit, since)


def _check_label(times: Times, given: str) -> None:
    if given and " since " not in given and times.unit != given.strip():
        raise DataError(
            f"the times are dates or durations, which become seconds, but time_units is "
            f"{shown(given)}; leave time_units out"
        )


def _shared_grid(times: np.ndarray) -> np.ndarray | None:
    """The grid (time,) that every trajectory follows as far as it goes, or None."""
    grid = times[np.argmax(np.isfinite(times).sum(axis=1))]
    if not np.isfinite(grid).all():
        return None
    span = grid[-1] - grid[0]
    # A NaN (a trajectory that ends early) compares false, which is what is wanted here.
    if (np.abs(times - grid) > TIME_TOLERANCE * span).any():
        return None
    return grid
