"""Named arrays, from an NPZ or a MATLAB file, as data sets."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, listed, nearest, shown

from ._columns import Columns
from ._exogenous import Exogenous
from ._exogenous_arrays import by_trajectory, parted, with_all_axes
from ._labels import check_count, trajectory_labels
from ._layout import assemble, padded
from ._numbers import as_numbers
from ._roles import assign_roles
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
    ``split`` and ``time_units`` describe them. Inputs are ``w`` with ``inputs``, ``input_units``,
    ``interpolation`` and ``jumps``, parameters are ``parameters`` with ``parameter``; or arrays that
    `columns` names as such, a parameter also over ``(trajectory,)``.

    **Raises:** `DataError` naming the array that is missing or does not fit.
    """
    time = columns.time_among({name: None for name in arrays}, "array")
    if time is None:
        raise DataError(
            f"there is no array 't' or 'time'{nearest('time', arrays)}; name it by time=, of the "
            f"arrays {listed(arrays)}"
        )
    given, arrays = parted(arrays)
    facts = {name: arrays[name] for name in _FACTS if name in arrays}
    values = {k: v for k, v in arrays.items() if k != time and k not in facts}
    names = _arrays_read(values, columns)
    count = _trajectories(arrays[time], values)
    clock = np.shape(arrays[time][0] if isinstance(arrays[time], list) else _row(arrays[time]))
    constant = {}
    for name in columns.parameters:
        if name in names and (level := by_trajectory(values[name], count, clock)) is not None:
            constant[name] = as_numbers(level, shown(name))
    over_time = {name: values[name] for name in names if name not in constant}
    unit = _text(facts.get("time_units", ""))
    if isinstance(arrays[time], list) or any(isinstance(v, list) for v in over_time.values()):
        u, times, made = _uneven(arrays[time], over_time, unit)
    else:
        u, times, made = _even(arrays[time], over_time, unit)
    states = _names(facts.get("state", facts.get("states")))
    made = _named(made, states)
    units = _names(facts.get("units"))
    u = _with_constants(u, constant)
    made |= {name: _made_names(name, level.shape[-1]) for name, level in constant.items()}
    flat = list(chain(*made.values()))
    if units is not None and "u" in made:
        units = [*units, *[""] * (len(flat) - len(made["u"]))]
    label = columns_of(facts.get("trajectory"))
    labels = np.arange(len(u)) if label is None else trajectory_labels(label)
    ds = assemble(
        u,
        times,
        flat,
        units,
        attrs,
        _names(facts.get("split")),
        label,
        Exogenous.make(times.values, labels, **with_all_axes(given, *times.values.shape)),
    )

    def spelled_out(names: Sequence[str]) -> list[str]:
        """An array of two columns stands for both."""
        return list(chain(*(made.get(name, [name]) for name in names)))

    inputs, parameters = spelled_out(columns.inputs), spelled_out(columns.parameters)
    if columns.states is not None and "u" in values:
        held = {str(name): k for k, name in enumerate(ds["state"].values)}
        states = Columns(columns.states).chosen(held, "state") or []
        others = [name for name in (*inputs, *parameters) if name in held]
        ds = ds.isel(state=[held[name] for name in (*states, *others)])
    return assign_roles(ds, inputs, parameters) if inputs or parameters else ds


def _arrays_read(values: Mapping[str, Any], columns: Columns) -> list[str]:
    """The names of the arrays with states, inputs and parameters."""
    if "u" in values:
        return ["u", *(name for name in (*columns.inputs, *columns.parameters) if name in values)]
    return columns.chosen({name: None for name in values}, "array") or list(values)


def _trajectories(t: Any, values: Mapping[str, Any]) -> int:
    """How many trajectories the arrays have, as far as their axes tell."""
    if isinstance(t, list):
        return len(t)
    counts = [len(value) for value in values.values() if isinstance(value, list)]
    counts += [len(value) for value in values.values() if np.ndim(value) == 3]
    clock = np.shape(_row(t))
    return max([1, *counts, clock[0] if len(clock) == 2 else 1])


def _named(made: dict[str, list[str]], states: list[str] | None) -> dict[str, list[str]]:
    """The names of each array's columns, those of the states as they are given: of ``u``, or of all in order."""
    if states is None:
        return made | ({"u": [f"u{k}" for k in range(len(made["u"]))]} if "u" in made else {})
    own = {"u": made["u"]} if "u" in made else made
    check_count("state names", states, sum(map(len, own.values())), "states")
    rest = iter(states)
    return made | {name: [next(rest) for _ in columns] for name, columns in own.items()}


def _with_constants(u: np.ndarray, constant: Mapping[str, np.ndarray]) -> np.ndarray:
    """States ``(trajectory, time, n)`` and behind them what is the same at all times, ``(trajectory, k)``."""
    count, length, _ = u.shape
    spread = []
    for name, level in constant.items():
        if len(level) not in (1, count):
            raise DataError(
                f"the array {shown(name)} has {len(level)} values for {count} trajectories"
            )
        spread.append(np.broadcast_to(level[:, None], (count, length, level.shape[-1])))
    return np.concatenate([u, *spread], axis=-1)


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


def _even(
    t: Any, values: dict[str, Any], unit: str
) -> tuple[np.ndarray, Times, dict[str, list[str]]]:
    """States ``(trajectory, time, n)``, times ``(trajectory, time)`` and names by array, from whole arrays."""
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
    for name, part in parts.items():
        if len(part) not in (1, count):
            raise DataError(
                f"the array {shown(name)} has {len(part)} trajectories, but others have {count}"
            )
    u = np.concatenate([np.broadcast_to(p, (*shape, p.shape[2])) for p in parts.values()], axis=-1)
    clock = np.broadcast_to(clock, shape).copy()
    made = {name: _made_names(name, part.shape[2]) for name, part in parts.items()}
    return u, Times(clock, times.unit, times.since), made


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


def _uneven(
    t: Any, values: dict[str, Any], unit: str
) -> tuple[np.ndarray, Times, dict[str, list[str]]]:
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


def _made_names(name: str, count: int) -> list[str]:
    """``x`` for an array of one column, ``x1``, ``x2`` for one of two."""
    return [name] if count == 1 else [f"{name}{k + 1}" for k in range(count)]
