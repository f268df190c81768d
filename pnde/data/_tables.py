"""CSV files, long and wide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde.errors import DataError, nearest

from ._layout import make_dataset, not_increasing

# Columns that are no states. `@` joins a state to the time or the trajectory of a wide column.
LABELS = ("trajectory", "split")
JOIN = "@"

# pandas reads numbers exactly from version 3 on, where it no longer wants to be asked.
_EXACT: dict[str, Any] = (
    {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
)


def read_csv(path: Path) -> xr.Dataset:
    """The data set in a CSV file; `open_data` describes the forms. `DataError` without the path."""
    table, first_line = _load(path)
    columns = [str(column) for column in table.columns]
    time = next((name for name in ("time", "t") if name in columns), None)
    values = [name for name in columns if name != time and name not in LABELS]
    wide = bool(values) and all(JOIN in name for name in values)
    if time is None and not wide:
        raise DataError(
            f"there is no column 'time'{nearest('time', columns)}; the columns are "
            f"{', '.join(columns)}"
        )
    if not values:
        raise DataError(f"there is no column with a state; the columns are {', '.join(columns)}")
    numbers = {
        name: _numeric(table[name], name, first_line)
        for name in ([time] if time is not None else []) + values
    }
    if time is None:
        return _wide_by_trajectory(table, numbers, values)
    if wide and "trajectory" not in columns:
        return _wide_by_time(numbers, values, time, first_line)
    return _long(table, numbers, values, time, first_line)


def _load(path: Path) -> tuple[pd.DataFrame, int]:
    """The table without its empty lines, and the line number in the file of its row 0."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            comments, header = 0, file.readline()
            while header.startswith("#"):
                comments, header = comments + 1, file.readline()
        separator = max(",;\t", key=header.count)
        names = [name.strip() for name in header.split(separator)]
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:  # pandas would rename it and carry on
            raise DataError(f"the column {twice!r} occurs twice")
        # Empty lines are kept while reading so that an index is a line number.
        table = pd.read_csv(
            path,
            sep=separator,
            skiprows=comments,
            skip_blank_lines=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            **_EXACT,
            index_col=False,
            low_memory=False,
        )
    except UnicodeDecodeError:
        raise DataError("this is not a text file in UTF-8") from None
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise DataError(f"the file cannot be read as CSV ({str(error).strip()})") from None
    table.columns = [str(column).strip() for column in table.columns]
    table = table.dropna(how="all")
    if table.empty:
        raise DataError("the file has no rows of data")
    return table, comments + 2


def _numeric(column: pd.Series, name: str, first_line: int) -> np.ndarray:
    if column.dtype.kind in "iuf":
        return column.to_numpy(np.float64)
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = column[numbers.isna() & column.notna()]
    if not wrong.empty:
        line = int(wrong.index[0]) + first_line
        text = str(wrong.iloc[0])
        hint = "; stack real and imaginary parts as two columns" if _is_complex(text) else ""
        raise DataError(f"line {line}, column {name!r}: {text!r} is not a number{hint}")
    return numbers.to_numpy(np.float64)


def _is_complex(text: str) -> bool:
    try:
        complex(text.replace("i", "j").replace(" ", ""))
    except ValueError:
        return False
    return True


def _long(
    table: pd.DataFrame,
    numbers: dict[str, np.ndarray],
    states: list[str],
    time: str,
    first_line: int,
) -> xr.Dataset:
    lines = table.index.to_numpy() + first_line
    values = np.column_stack([numbers[name] for name in states])
    times = numbers[time]
    untimed = np.flatnonzero(np.isnan(times))
    if untimed.size:
        raise DataError(f"line {lines[untimed[0]]}, column {time!r}: the time is missing")
    if "trajectory" in table:
        if table["trajectory"].isna().any():
            line = lines[int(table["trajectory"].isna().to_numpy().argmax())]
            raise DataError(f"line {line}, column 'trajectory': the label is missing")
        codes, found = pd.factorize(table["trajectory"])
        labels = list(found)
    else:
        codes, labels = np.zeros(len(table), int), [0]
    members = [np.flatnonzero(codes == code) for code in range(len(labels))]
    for label, rows in zip(labels, members, strict=True):
        stuck = np.flatnonzero(np.diff(times[rows]) <= 0)
        if stuck.size:
            at = int(stuck[0])
            pair = rows[[at, at + 1]]
            # `not_increasing` counts from `at`; the lines of two samples need not be neighbours.
            sentence = not_increasing(label, times[rows], at, "samples")
            where = f"lines {lines[pair[0]]} and {lines[pair[1]]}"
            raise DataError(sentence.replace(f"samples {at} and {at + 1}", where))
    return make_dataset(
        [values[rows] for rows in members],
        [times[rows] for rows in members],
        states,
        split=_split_of(table, [int(rows[0]) for rows in members]),
        trajectory=_labels(labels),
    )


def _wide_by_trajectory(
    table: pd.DataFrame, numbers: dict[str, np.ndarray], columns: list[str]
) -> xr.Dataset:
    cells: dict[str, dict[float, str]] = {}
    for column in columns:
        state, _, moment = column.rpartition(JOIN)
        try:
            cells.setdefault(state, {})[float(moment)] = column
        except ValueError:
            raise DataError(
                f"column {column!r}: {moment!r} after '{JOIN}' is not a time "
                "(a file without a column 'time' has the columns state@time)"
            ) from None
    times = sorted({moment for known in cells.values() for moment in known})
    u = np.full((len(table), len(times), len(cells)), np.nan)
    for position, known in enumerate(cells.values()):
        for sample, when in enumerate(times):
            if when in known:
                u[:, sample, position] = numbers[known[when]]
    labels = table["trajectory"] if "trajectory" in table else np.arange(len(table))
    return make_dataset(
        u,
        times,
        list(cells),
        split=_split_of(table, list(range(len(table)))),
        trajectory=_labels(labels),
    )


def _wide_by_time(
    numbers: dict[str, np.ndarray], columns: list[str], time: str, first_line: int
) -> xr.Dataset:
    pairs = [column.rpartition(JOIN)[::2] for column in columns]
    states = list(dict.fromkeys(state for state, _ in pairs))
    labels = list(dict.fromkeys(label for _, label in pairs))
    times = numbers[time]
    stuck = np.flatnonzero(np.diff(times) <= 0)
    if stuck.size:
        sentence = not_increasing(labels[0], times, int(stuck[0]), "lines", first_line)
        raise DataError(sentence)
    u = np.full((len(labels), len(times), len(states)), np.nan)
    for column, (state, label) in zip(columns, pairs, strict=True):
        u[labels.index(label), :, states.index(state)] = numbers[column]
    return make_dataset(u, times, states, trajectory=_labels(labels))


def _labels(labels: Any) -> np.ndarray:
    """Labels as integers where they all are integers, else as text."""
    text = np.asarray([str(label) for label in labels])
    try:
        whole = np.asarray(labels).astype(np.float64)
    except ValueError:
        return text
    return whole.astype(np.int64) if (whole == np.floor(whole)).all() else text


def _split_of(table: pd.DataFrame, rows: list[int]) -> list[str] | None:
    if "split" not in table:
        return None
    return [str(value) for value in table["split"].iloc[rows]]
