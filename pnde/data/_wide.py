"""Wide tables: a column for each state at each time, or for each state of each trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import xarray as xr

from pnde.errors import DataError, shown

from ._labels import first_twice
from ._layout import TIME_TOLERANCE, assemble
from ._limits import check_room
from ._times import Times

#: Joins a state to its time, or to its trajectory.
JOIN = "@"


def wide_by_trajectory(
    values: dict[str, np.ndarray],
    labels: Sequence[str] | None,
    splits: Sequence[str] | None,
    decimal: str = ".",
    constant: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> xr.Dataset:
    """Columns ``state@time``, one row for each trajectory; a state need not have every time.

    `constant` are columns with one value for all times of a trajectory, ``(rows,)``.
    """
    moments: dict[str, float] = {}
    for column in values:
        moment = column.rpartition(JOIN)[2]
        try:
            moments[column] = float(moment.replace(",", ".") if decimal == "," else moment)
        except ValueError:
            raise DataError(
                f"column {shown(column)}: {shown(moment)} after '{JOIN}' is not a time "
                "(a file without a column 'time' has the columns state@time)"
            ) from None
        if not np.isfinite(moments[column]):
            raise DataError(f"column {shown(column)}: its time is not finite")
    times, at = union_of_times(np.array(list(moments.values())))
    names = {column: column.rpartition(JOIN)[0] for column in values}
    states = {state: position for position, state in enumerate(dict.fromkeys(names.values()))}
    count = len(next(iter(values.values())))
    check_room(8 * count * len(times) * len(states), "the table")
    u = np.full((count, len(times), len(states)), np.nan)
    cells = [
        (states[names[column]], int(sample)) for column, sample in zip(values, at, strict=True)
    ]
    twice = first_twice(cells)
    if twice is not None:
        column = list(values)[cells.index(twice)]
        raise DataError(f"the column {shown(column)} occurs twice, with the same time")
    for (position, sample), numbers in zip(cells, values.values(), strict=True):
        u[:, sample, position] = numbers
    shared = np.broadcast_to(times, (count, len(times))).copy()
    u = _beside(u, {name: column[:, None] for name, column in constant.items()})
    every = [*states, *constant]
    return assemble(u, Times(shared, ""), every, split=splits, trajectory=labels)


def wide_by_time(
    values: dict[str, np.ndarray],
    times: Times,
    common: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> xr.Dataset:
    """Columns ``state@trajectory``, one row for each of the times ``(rows,)``.

    `common` are columns that are the same in all trajectories, ``(rows,)``.
    """
    pairs = [column.rpartition(JOIN)[::2] for column in values]
    states = {name: k for k, name in enumerate(dict.fromkeys(state for state, _ in pairs))}
    labels = {name: k for k, name in enumerate(dict.fromkeys(label for _, label in pairs))}
    length = len(times.values)
    check_room(8 * len(labels) * length * len(states), "the table")
    u = np.full((len(labels), length, len(states)), np.nan)
    for (state, label), column in zip(pairs, values.values(), strict=True):
        u[labels[label], :, states[state]] = column
    shared = np.broadcast_to(times.values, (len(labels), length)).copy()
    u = _beside(u, common)
    clock = Times(shared, times.unit, times.since)
    return assemble(u, clock, [*states, *common], trajectory=list(labels))


def _beside(u: np.ndarray, others: Mapping[str, np.ndarray]) -> np.ndarray:
    """States ``(trajectory, time, n)`` with others behind them, which are spread over trajectories or times."""
    return np.concatenate(
        [u, *(np.broadcast_to(other, u.shape[:2])[..., None] for other in others.values())], axis=-1
    )


def union_of_times(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of times ``(k,)`` in order, and the position of each time among them ``(k,)``.

    Times that differ by rounding only (0.1 + 0.2 and 0.3) are one.
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    tolerance = TIME_TOLERANCE * (ordered[-1] - ordered[0])
    new = np.concatenate([[True], np.diff(ordered) > tolerance])
    at = np.empty(len(times), np.intp)
    at[order] = np.cumsum(new) - 1
    return ordered[new], at
