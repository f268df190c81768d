"""Tables with named columns, from a text file or a DataFrame, as data sets: long and wide."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd
import xarray as xr

from pnde.errors import DataError, brief, listed, nearest, shown

from ._cells import numbers_of
from ._checks import first_not_increasing, not_increasing
from ._columns import Columns
from ._labels import label_text, split_name
from ._layout import assemble, padded
from ._roles import assign_roles
from ._times import Times, as_times
from ._wide import JOIN, wide_by_time, wide_by_trajectory

logger = logging.getLogger("pnde")


@dataclass(frozen=True)
class Table:
    """Named columns, and what their rows are called in the source.

    **Attributes:**

    - `cells`: the columns by name, all of one length.
    - `lines`: what the rows are called ``(rows,)``: line numbers of a text file, or row numbers.
    - `word`: ``"line"`` or ``"row"``.
    - `units`: units by column, where the source tells them.
    - `decimal`: the decimal mark of numbers that are text.
    """

    cells: dict[str, pd.Series]
    lines: np.ndarray
    word: str = "line"
    units: dict[str, str] = field(default_factory=dict)
    decimal: str = "."

    def place(self, row: int, name: str) -> str:
        """Line and column of a cell, as messages name it."""
        return f"{self.word} {self.lines[row]}, column {shown(name)}"

    def numbers(self, name: str) -> np.ndarray:
        """A column as float64 ``(rows,)``; NaN for a missing cell."""
        return numbers_of(self.cells[name], lambda row: self.place(row, name), self.decimal)

    def times(self, name: str) -> Times:
        """A column as times ``(rows,)``, none of them missing."""
        column = self.cells[name]
        if self.decimal == "," and not pd.api.types.is_numeric_dtype(column.dtype):
            column = column.map(_with_point)
        times = as_times(column, self.units.get(name, ""), lambda row: self.place(row, name))
        missing = np.flatnonzero(np.isnan(times.values))
        if missing.size:
            raise DataError(f"{self.place(int(missing[0]), name)}: the time is missing")
        infinite = np.flatnonzero(np.isinf(times.values))
        if infinite.size:
            raise DataError(f"{self.place(int(infinite[0]), name)}: the time is infinite")
        return times


def dataset_of(table: Table, columns: Columns) -> xr.Dataset:
    """The data set in a table; inputs and parameters are columns that `columns` names as such.

    **Raises:** `DataError` naming line and column, or trajectory and time.
    """
    ds = _all_as_states(table, columns)
    if not (columns.inputs or columns.parameters):
        return ds
    return assign_roles(ds, columns.inputs, columns.parameters)


def _all_as_states(table: Table, columns: Columns) -> xr.Dataset:
    """The data set in a table, in which inputs and parameters are states.

    - *long*: a column with times, one row for each sample;
    - *wide, one row for each trajectory*: columns ``state@time`` and none with times;
    - *wide, one row for each time*: a column with times, all others ``state@trajectory``.
    """
    table = _without_counters(table, columns)
    held = table.cells
    time = columns.time_among(held)
    trajectory = columns.trajectory_among(held)
    if trajectory is not None and not _tells_apart(table, trajectory, time, columns):
        trajectory = None
    split = _split_column(table, columns)
    states = _columns_read(columns, held, {time, trajectory, split})
    # In a wide table, what is no state may have one column for all times, or for all trajectories.
    plain = [name for name in states if JOIN not in name]
    wide = len(plain) < len(states) and {*plain} <= {*columns.inputs, *columns.parameters}
    if time is None and not wide:
        raise DataError(
            f"there is no column 'time'{nearest('time', held)}; name it by time=, of the columns "
            f"{listed(held)}"
        )
    if not states:
        raise DataError(f"there is no column with a state; the columns are {listed(held)}")
    values = {name: table.numbers(name) for name in states}
    if time is None:
        labels = None if trajectory is None else _label_column(table, trajectory)
        splits = None if split is None else [str(cell) for cell in table.cells[split]]
        constant = {name: values.pop(name) for name in plain}
        return wide_by_trajectory(values, labels, splits, table.decimal, constant)
    times = table.times(time)
    if wide and trajectory is None:
        if split is not None:
            raise DataError(
                f"the column {shown(split)} has no meaning beside columns state@trajectory; split by "
                "pnde.split_data"
            )
        stuck = first_not_increasing(times.values)
        if stuck is not None:
            pair = table.lines[stuck : stuck + 2]
            where = f"{table.word}s {pair[0]} and {pair[1]}"
            raise DataError(not_increasing("all", times.values[stuck : stuck + 2], where))
        common = {name: values.pop(name) for name in plain}
        return wide_by_time(values, times, common)
    return _long(table, values, times, trajectory, split)


def _long(
    table: Table,
    values: dict[str, np.ndarray],
    times: Times,
    trajectory: str | None,
    split: str | None,
) -> xr.Dataset:
    if trajectory is None:
        labels, codes = ["0"], np.zeros(len(table.lines), np.intp)
    else:
        codes, found = pd.factorize(np.array(_label_column(table, trajectory), object))
        labels = [str(label) for label in found]
    # Rows of one trajectory need not be together: a stable sort keeps their order.
    order = np.argsort(codes, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    for label, rows in zip(labels, members, strict=True):
        stuck = first_not_increasing(times.values[rows])
        if stuck is not None:
            pair = rows[stuck : stuck + 2]
            where = f"{table.word}s {table.lines[pair[0]]} and {table.lines[pair[1]]}"
            raise DataError(not_increasing(label, times.values[pair], where))
    stacked = np.column_stack(list(values.values()))
    own = padded([times.values[rows] for rows in members])
    return assemble(
        padded([stacked[rows] for rows in members]),
        Times(own, times.unit, times.since),
        list(values),
        [table.units.get(name, "") for name in values],
        split=None if split is None else _splits(table, split, labels, members),
        trajectory=labels,
    )


def _columns_read(
    columns: Columns, held: Collection[str], others: Collection[str | None]
) -> list[str]:
    """The columns with states, inputs and parameters; the name ``x`` stands for all of ``x@0``, ``x@0.1``, ..."""
    wide: dict[str, list[str]] = {}
    for name in held:
        if JOIN in name:
            wide.setdefault(name.rpartition(JOIN)[0], []).append(name)
    apart = {*wide} - {*held}
    columns.chosen([*held, *apart])
    if columns.states is None:
        return [name for name in held if name not in others]
    return [part for name in columns.named for part in (wide[name] if name in apart else [name])]


def _without_counters(table: Table, columns: Columns) -> Table:
    """The table without unnamed columns: those that count rows, as `to_csv()` adds one, or are empty."""
    said = {*columns.named, columns.time, columns.trajectory}
    kept = dict(table.cells)
    for position, (name, column) in enumerate(table.cells.items()):
        unnamed = not name or name.startswith("Unnamed: ")
        if name in said or not (unnamed or name.casefold() == "index"):
            continue
        if counts_rows(column):
            logger.warning(
                "column %d (%s) counts the rows and is left out; name it in states= if it is a state",
                position + 1,
                shown(name) if name else "without a name",
            )
        elif unnamed and not column.isna().all():
            raise DataError(
                f"column {position + 1} has no name; write one above it, or choose the columns by "
                "states=[…]"
            )
        elif not unnamed:
            continue
        del kept[name]
    return Table(kept, table.lines, table.word, table.units, table.decimal)


def counts_rows(column: pd.Series) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …"""
    try:
        counted = np.array(column.tolist(), np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(counted[0] in (0, 1) and (np.diff(counted) == 1).all())


def _tells_apart(table: Table, name: str, time: str | None, columns: Columns) -> bool:
    """Whether a column called ``run`` or ``id`` names trajectories: fractions are a state's values."""
    if columns.trajectory is not None or name.casefold().startswith("traj"):
        return True
    labels = [label_text(cell) for cell in table.cells[name].tolist()]
    if any(_is_fraction(label) for label in labels):
        return False
    # i_d is a current of electric machines, and often held at zero.
    if name.casefold() == "id" and time is not None:
        blocks = 1 + sum(one != two for one, two in pairwise(labels))
        one_recording = (np.diff(table.times(time).values) > 0).all()
        if one_recording and (blocks == 1 or blocks > len(set(labels))):
            raise DataError(
                f"the column {shown(name)} could be a state or the trajectories' names; say "
                f"trajectory={shown(name)}, or name the states by states=[…]"
            )
    return True


def _is_fraction(label: str) -> bool:
    try:
        return not float(label).is_integer()
    except (ValueError, OverflowError):
        return False


def _label_column(table: Table, name: str) -> list[str]:
    labels = [label_text(cell) for cell in table.cells[name].tolist()]
    if "" in labels:
        raise DataError(f"{table.place(labels.index(''), name)}: the trajectory has no name")
    return labels


def _split_column(table: Table, columns: Columns) -> str | None:
    """The column with the splits: `split`, or another of such a name in which every word is a split's."""
    for name in columns.split_among(table.cells):
        if name.casefold() == "split":
            return name
        if all(split_name(cell) for cell in table.cells[name].unique().tolist()):
            return name
    return None


def _splits(table: Table, name: str, labels: list[str], members: list[np.ndarray]) -> list[str]:
    splits = []
    words = [split_name(cell) or str(cell) for cell in table.cells[name].tolist()]
    for label, rows in zip(labels, members, strict=True):
        first = words[rows[0]]
        other = next((row for row in rows if words[row] != first), None)
        if other is not None:
            raise DataError(
                f"{table.place(other, name)}: trajectory {brief(label)} is in the split "
                f"{shown(words[other])} here and in {shown(first)} before; a trajectory has one split"
            )
        splits.append(first)
    return splits


def _with_point(cell: object) -> object:
    return cell.replace(",", ".") if isinstance(cell, str) else cell
