"""The one layout of data sets, and the checks that every way into it passes through."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from pnde.errors import DataError, nearest

from ._interpolating import FEWEST, completed

# Two trajectories share a time grid when their times agree to this share of the grid's span.
TIME_TOLERANCE = 1e-9


def make_dataset(
    u: ArrayLike | Sequence[ArrayLike],
    t: ArrayLike | Sequence[ArrayLike],
    states: Sequence[str] | None = None,
    units: Sequence[str] | Mapping[str, str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    split: Sequence[str] | None = None,
    *,
    trajectory: Sequence[Any] | np.ndarray | None = None,
    time_units: str = "",
) -> xr.Dataset:
    """A data set in the standard layout.

    The result has the dims ``(trajectory, time, state)``; the variable ``u``; the coordinates
    ``trajectory``, ``state``, ``units`` (on state) and, if given, ``split`` (on trajectory). Times
    are the coordinate ``time`` where all trajectories share one grid (or begin with the same grid
    and end early), else the variable ``t`` ``(trajectory, time)``, NaN after a trajectory's end.

    **Arguments:**

    - `u`: states ``(trajectory, time, n)``, or ``(time, n)`` for one trajectory, or a sequence of
      ``(time_i, n)`` for trajectories of unequal length (padded with NaN). NaN marks a missing
      sample. Physical units.
    - `t`: times ``(time,)`` or ``(trajectory, time)``, or one array for each trajectory.
    - `states`: the n state names; ``u0, u1, ...`` if left out.
    - `units`: the n units, or a mapping from state names to units.
    - `attrs`: how the data came to be. Dicts and lists are kept as JSON text, ``None`` is left out,
      so that the attributes survive in a NetCDF file.
    - `split`: ``train``, ``valid`` or ``test`` for each trajectory.
    - `trajectory`: labels of the trajectories; ``0, 1, ...`` if left out.
    - `time_units`: the unit of time, such as ``"s"``.

    **Raises:** `DataError` where shapes do not fit, values are complex, infinite or no numbers,
    names occur twice, or times do not increase.
    """
    states_array, times = _stack(u, t)
    count, _, n = states_array.shape
    names = [f"u{i}" for i in range(n)] if states is None else [str(name) for name in states]
    _check_count("state names", names, n, "states")
    _check_unique("state name", names)
    labels = np.arange(count) if trajectory is None else np.asarray(trajectory)
    _check_count("trajectory labels", labels, count, "trajectories")
    _check_unique("trajectory label", labels.tolist())
    check_times(times, labels)
    check_finite(states_array, times, labels, names)

    coordinates: dict[str, Any] = {
        "trajectory": labels,
        "state": names,
        "units": ("state", _unit_list(units, names)),
    }
    if split is not None:
        _check_count("split names", split, count, "trajectories")
        coordinates["split"] = ("trajectory", [str(name) for name in split])
    variables: dict[str, Any] = {"u": (("trajectory", "time", "state"), states_array)}
    shared = _shared_grid(times)
    time_attributes = {"units": time_units} if time_units else {}
    if shared is not None:
        coordinates["time"] = ("time", shared, time_attributes)
    else:
        variables["t"] = (("trajectory", "time"), times, time_attributes)
    return xr.Dataset(variables, coordinates, plain_attributes(attrs or {}))


def time_matrix(ds: xr.Dataset) -> np.ndarray:
    """Times of every sample, ``(trajectory, time)``; NaN after the end of a shorter trajectory."""
    if "t" in ds:
        return np.asarray(ds["t"].transpose("trajectory", "time").values, np.float64)
    shape = (ds.sizes["trajectory"], ds.sizes["time"])
    return np.broadcast_to(np.asarray(ds["time"].values, np.float64), shape)


def time_label(ds: xr.Dataset) -> str:
    """The unit of time as the data set gives it, or an empty string."""
    source = ds["t"] if "t" in ds else ds["time"]
    return str(source.attrs.get("units", ""))


def state_index(ds: xr.Dataset, name: str) -> int:
    """Position of the state called ``name``; `DataError` with the nearest name if there is none."""
    names = [str(known) for known in ds["state"].values]
    if name not in names:
        raise DataError(
            f"there is no state {name!r}{nearest(name, names)}; the states are {', '.join(names)}"
        )
    return names.index(name)


def plain_attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as NetCDF can hold them: text and numbers; dicts and lists as JSON text."""
    plain: dict[str, Any] = {}
    for key, value in attrs.items():
        if value is None:
            continue
        if isinstance(value, bool | dict | list | tuple):
            value = json.dumps(value)
        plain[str(key)] = value
    return plain


def as_numbers(values: Any, what: str) -> np.ndarray:
    """``values`` as float64; complex and non-numeric values are refused with a sentence."""
    array = np.asarray(values)
    if np.iscomplexobj(array):
        raise DataError(
            f"{what} is complex; stack its real and imaginary parts as two states "
            "(x_re and x_im, say) and write the law for them"
        )
    if array.dtype.kind not in "biuf":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{what} holds values that are not numbers ({array.dtype})") from None
    return array.astype(np.float64)


def check_times(times: np.ndarray, labels: Sequence[Any] | np.ndarray) -> None:
    """Refuse times ``(trajectory, time)`` that are too few, or do not increase."""
    for row, label in zip(times, labels, strict=True):
        known = np.isfinite(row)
        count = int(known.sum())
        if count < 2:
            raise DataError(f"trajectory {label} has {count} point(s); at least 2 are needed")
        if not known[:count].all():
            raise DataError(
                f"trajectory {label} has no time at sample {int(np.argmin(known))}; "
                "only the end of a trajectory may be padded"
            )
        stuck = np.flatnonzero(np.diff(row[:count]) <= 0)
        if stuck.size:
            raise DataError(not_increasing(label, row, int(stuck[0]), "samples"))


def not_increasing(label: Any, times: np.ndarray, at: int, unit: str, offset: int = 0) -> str:
    """The sentence on times that do not increase between ``at`` and ``at + 1``."""
    before, after = times[at], times[at + 1]
    where = f"({unit} {at + offset} and {at + 1 + offset})"
    if before == after:
        return f"trajectory {label}: time {before:g} occurs twice {where}; times must increase"
    return (
        f"trajectory {label}: time goes back from {before:g} to {after:g} {where}; "
        "times must increase"
    )


def check_finite(
    u: np.ndarray, times: np.ndarray, labels: Sequence[Any] | np.ndarray, names: Sequence[str]
) -> None:
    """Refuse infinite values, and values that have no time."""
    infinite = np.argwhere(np.isinf(u))
    if infinite.size:
        row, sample, column = infinite[0]
        raise DataError(
            f"trajectory {labels[row]}: state {names[column]!r} is infinite at t = "
            f"{times[row, sample]:g} (sample {sample}); mark missing samples with NaN"
        )
    untimed = np.argwhere(np.isnan(times) & ~np.isnan(u).all(axis=-1))
    if untimed.size:
        row, sample = untimed[0]
        raise DataError(f"trajectory {labels[row]}: sample {sample} has values but no time")


def check_not_empty(ds: xr.Dataset) -> None:
    """Refuse a state, or a trajectory, of which nothing is known."""
    u = ds["u"].transpose("trajectory", "time", "state").values
    known, complete = ~np.isnan(u), ~np.isnan(completed(u, time_matrix(ds)))
    for column, name in enumerate(ds["state"].values):
        if not known[:, :, column].any():
            raise DataError(f"state {str(name)!r} is NaN everywhere, in all trajectories")
    for row, label in enumerate(ds["trajectory"].values):
        if complete[row].all(axis=-1).any():
            continue
        dead = np.flatnonzero(~known[row].any(axis=0))
        if dead.size:
            name = str(ds["state"].values[dead[0]])
            raise DataError(f"trajectory {label}: state {name!r} is NaN everywhere")
        raise DataError(
            f"trajectory {label} has no sample in which all states are known, or lie between measurements of "
            f"their own (at least {FEWEST}, without a gap)"
        )


def _stack(u: Any, t: Any) -> tuple[np.ndarray, np.ndarray]:
    """States (trajectory, time, n) and times (trajectory, time), padded with NaN."""
    if isinstance(u, list | tuple) and u and np.ndim(u[0]) == 2:
        parts = [as_numbers(part, "u") for part in u]
        if len({part.shape[1] for part in parts}) > 1:
            raise DataError("the trajectories differ in their number of states")
        length = max(len(part) for part in parts)
        states = np.full((len(parts), length, parts[0].shape[1]), np.nan)
        for row, part in zip(states, parts, strict=True):
            row[: len(part)] = part
        if not (isinstance(t, list | tuple) and len(t) > 0 and np.ndim(t[0]) == 1):
            grid = np.broadcast_to(as_numbers(t, "t"), (len(parts), np.shape(t)[-1]))
            t = [row[: len(part)] for row, part in zip(grid, parts, strict=True)]
        if len(t) != len(parts):
            raise DataError(f"there are {len(parts)} trajectories but times for {len(t)}")
        times = np.full(states.shape[:2], np.nan)
        for index, (row, part, own) in enumerate(zip(times, parts, t, strict=True)):
            own = as_numbers(own, "t")
            if own.shape != (len(part),):
                raise DataError(
                    f"trajectory {index} has {len(part)} points but times of shape {own.shape}"
                )
            row[: len(own)] = own
        return states, times
    states, times = as_numbers(u, "u"), as_numbers(t, "t")
    if states.ndim == 2:
        states = states[None]
    if states.ndim != 3:
        raise DataError(f"u has shape {states.shape}; it must be (trajectory, time, state)")
    if 0 in states.shape:
        raise DataError(f"u is empty: its shape is {states.shape}")
    if times.ndim == 1:
        times = np.broadcast_to(times, (states.shape[0], times.shape[0])).copy()
    if times.shape != states.shape[:2]:
        raise DataError(
            f"the times have shape {np.shape(t)}, but u has {states.shape[0]} trajectories of "
            f"{states.shape[1]} points"
        )
    return states, times


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


def _unit_list(units: Sequence[str] | Mapping[str, str] | None, names: list[str]) -> list[str]:
    if units is None:
        return [""] * len(names)
    if isinstance(units, Mapping):
        for name in units:
            if name not in names:
                raise DataError(f"a unit is given for {name!r}, no state{nearest(name, names)}")
        return [str(units.get(name, "")) for name in names]
    _check_count("units", units, len(names), "states")
    return [str(unit) for unit in units]


def _check_count(what: str, given: Any, wanted: int, of: str) -> None:
    if isinstance(given, str) or len(given) != wanted:
        found = 1 if isinstance(given, str) else len(given)
        raise DataError(f"there are {found} {what} for {wanted} {of}")


def _check_unique(what: str, names: Sequence[Any]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise DataError(f"the {what} {name!r} occurs twice")
        seen.add(name)
