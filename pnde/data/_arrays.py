"""Named arrays, from an NPZ or a MATLAB file, as data sets."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, listed, nearest, shown

from ._columns import Columns
from ._layout import assemble, padded
from ._numbers import as_numbers
from ._times import Times, as_times, on_one_clock

logger = logging.getLogger("pnde")

# Arrays that describe the others.
_FACTS = ("state", "states", "units", "split", "trajectory", "attributes", "time_units")


def from_arrays(
    arrays: Mapping[str, Any], columns: Columns, attrs: Mapping[str, Any] | None = None
) -> xr.Dataset:
    """The data set in named arrays.

    The times are ``t`` or ``time``, ``(time,)`` or ``(trajectory, time)``. The states are ``u``,
    ``(trajectory, time, state)`` or ``(time, state)``; or one or more arrays of any names, each
    ``(time,)``, ``(time, k)`` or, with times of that shape, ``(trajectory, time)``. Lists of arrays
    are trajectories of unequal length. ``state`` (or ``states``), ``units``, ``trajectory``,
    ``split`` and ``time_units`` describe them.

    **Raises:** `DataError` naming the array that is missing or does not fit.
    """
    time = columns.time_among({name: None for name in arrays}, "array")
    if time is None:
        raise DataError(
            f"there is no array 't' or 'time'{nearest('time', arrays)}; name it by time=, of the "
            f"arrays {listed(arrays)}"
        )
    facts = {name: arrays[name] for name in _FACTS if name in arrays}
    values = {k: v for k, v in arrays.items() if k != time and k not in facts}
    names = columns.chosen({name: None for name in values}, "array") if "u" not in values else None
    names = names or (["u"] if "u" in values else list(values))
    unit = _text(facts.get("time_units", ""))
    if isinstance(arrays[time], list) or any(isinstance(values[name], list) for name in names):
        u, times, made = _uneven(arrays[time], {name: values[name] for name in names}, unit)
    else:
        u, times, made = _even(arrays[time], {name: values[name] for name in names}, unit)
    states = _names(facts.get("state", facts.get("states")))
    if states is None and names != ["u"]:
        states = made
    ds = assemble(
        u,
        times,
        states,
        _names(facts.get("units")),
        attrs,
        _names(facts.get("split")),
        columns_of(facts.get("trajectory")),
    )
    if columns.states is not None and "u" in values:
        held = {str(name): k for k, name in enumerate(ds["state"].values)}
        ds = ds.isel(state=[held[name] for name in columns.chosen(held, "state") or []])
    return ds


def columns_of(labels: Any) -> Any:
    """Labels as a list; `None` for none."""
    return None if labels is None else np.atleast_1d(np.asarray(labels)).ravel().tolist()


def _names(value: Any) -> list[str] | None:
    """Names in an array of text, or in a list of it."""
    if value is None:
        return None
    return [_text(name) for name in np.atleast_1d(np.asarray(value)).ravel().tolist()]


def _text(value: Any) -> str:
    value = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _even(t: Any, values: dict[str, Any], unit: str) -> tuple[np.ndarray, Times, list[str]]:
    """States ``(trajectory, time, n)``, times ``(trajectory, time)`` and names, from whole arrays."""
    times = as_times(_row(t), unit)
    clock = times.values
    if clock.ndim not in (1, 2):
        raise DataError(
            f"the times have shape {clock.shape}; (time,) or (trajectory, time) is meant"
        )
    parts: dict[str, np.ndarray] = {}
    for name, value in values.items():
        part = _over_time(name, np.asarray(value), clock.shape, alone=len(values) == 1)
        if part is None:
            logger.warning("the array %s does not run over the times and is left out", shown(name))
        else:
            parts[name] = part
    if not parts:
        raise DataError(
            f"no array beside the {clock.shape[-1]} times has as many samples, so there are no "
            "states; call the states 'u', with the shape (trajectory, time, state)"
        )
    count = max(part.shape[0] for part in parts.values())
    shape = (count, clock.shape[-1])
    u = np.concatenate([np.broadcast_to(p, (*shape, p.shape[2])) for p in parts.values()], axis=-1)
    clock = np.broadcast_to(clock, shape).copy()
    return u, Times(clock, times.unit, times.since), _made_names(parts)


def _over_time(
    name: str, value: np.ndarray, clock: tuple[int, ...], alone: bool
) -> np.ndarray | None:
    """An array as ``(trajectory, time, k)``; `None` for one that is no state, if others are."""
    if value.ndim == 2 and value.shape == clock:
        return as_numbers(value[:, :, None], shown(name))
    if value.ndim in (1, 2) and len(clock) == 1 and len(value) == clock[0]:
        return as_numbers(value.reshape(1, clock[0], -1), shown(name))
    if value.ndim == 3 and value.shape[1] == clock[-1] and clock[:-1] in ((), value.shape[:1]):
        return as_numbers(value, shown(name))
    if name == "u" or (alone and value.ndim) or (value.ndim > 1 and clock[-1] in value.shape):
        raise DataError(
            f"the times have shape {clock}, but the array {shown(name)} has {value.shape}; it must "
            "be (time, state) or (trajectory, time, state), or be left out by states="
        )
    return None


def _uneven(t: Any, values: dict[str, Any], unit: str) -> tuple[np.ndarray, Times, list[str]]:
    """The same from lists with an array for each trajectory."""
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    if not lists or not isinstance(t, list) or {len(value) for value in lists.values()} != {len(t)}:
        raise DataError(
            "of trajectories of unequal length, the times and the states must both be lists with an "
            "array for each trajectory"
        )
    rows = []
    for k, own in enumerate(t):
        u, times, names = _even(own, {name: value[k] for name, value in lists.items()}, unit)
        if u.shape[0] != 1:
            raise DataError(f"trajectory {k} has times of shape {np.shape(own)}; (time,) is meant")
        rows.append((u[0], Times(times.values[0], times.unit, times.since), names))
    if len({u.shape[1] for u, _, _ in rows}) > 1:
        raise DataError("the trajectories differ in their number of states")
    clocks, label, since = on_one_clock([times for _, times, _ in rows])
    return padded([u for u, _, _ in rows]), Times(padded(clocks), label, since), rows[0][2]


def _row(t: Any) -> Any:
    """Times that are a column or a row of a matrix, as MATLAB has them, as ``(time,)``."""
    array = np.asarray(t)
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def _made_names(parts: dict[str, np.ndarray]) -> list[str]:
    """``x`` for an array of one state, ``x1``, ``x2`` for one of two."""
    return [
        name if part.shape[2] == 1 else f"{name}{k + 1}"
        for name, part in parts.items()
        for k in range(part.shape[2])
    ]
