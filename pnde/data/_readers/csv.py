"""Text files with columns: CSV, TSV and TXT, compressed or not."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde.errors import DataError, shown

from .._cells import has_decimal_comma, looks_like_number
from .._columns import Columns
from .._labels import first_twice
from .._table import Table, counts_rows, dataset_of, logger
from .._text import read_text

_COMMENTS = ("#", "%")
_SPACES = r"\s+"
# A unit behind a name: "x [m]", "time (s)". x[0] is a name, and so is "x (1)".
_UNIT = re.compile(r"(.*\S)\s+(?:\[([^\[\]]*)\]|\(([^()]*)\))")
_LONGEST_UNIT = 20
# Some programs leave out the empty cells at the end of a line. They do so in many lines; a few that
# are shorter than the others have lost a cell.
_MANY = 0.05
# pandas reads numbers exactly from version 3 on, where it no longer wants to be asked.
_EXACT: dict[str, Any] = (
    {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
)


def read(path: Path, columns: Columns) -> xr.Dataset:
    """The data set in a text file; `pnde.open_data` describes the forms.

    **Raises:** `DataError` naming line, column and remedy.
    """
    return dataset_of(_parse(re.split("\r\n|\n|\r", read_text(path))), columns)


def _parse(lines: Sequence[str]) -> Table:
    """The table in lines of text: comments, separator, header, units and cells are told apart."""
    separator, rows, comment = _content(lines)
    if not rows:
        raise DataError("the file is empty" if not comment else "the file has comments only")
    if separator is None:
        separator = _separator(lines[rows[0]], lines[rows[1]] if len(rows) > 1 else "")
    names = _cells(lines[rows[0]], separator, rows[0])
    if all(looks_like_number(name) for name in names):
        names = _names_in_comment(comment, len(names), rows[0])
    else:
        rows = rows[1:]
    names = [name.strip() for name in names]
    blank = " \t" if separator == _SPACES else f"{separator} \t"
    rows = [row for row in rows if lines[row].strip(blank)]
    if not rows:
        raise DataError("the file has no rows of data")
    first = [_cells(lines[row], separator, row) for row in rows[:2]]
    unit_texts = _units_in(*first) if len(first) == 2 and len(first[0]) == len(names) else None
    rows = rows[1:] if unit_texts is not None else rows
    names, extra = _check_widths(names, lines, rows, separator)
    twice = first_twice([name for name in names if name])
    if twice is not None:
        raise DataError(f"the column {shown(twice)} occurs twice; rename one")
    frame, decimal = _frame([lines[row] for row in rows], separator, len(names) + extra)
    if extra and len(names) < frame.shape[1]:
        frame = _without_names_of_rows(frame, len(names))
    plain, units = _names_and_units(names, unit_texts)
    # Unnamed columns get names that differ, which `dataset_of` knows to mean nothing.
    unique = [name or f"Unnamed: {k}" for k, name in enumerate(plain)]
    cells = dict(zip(unique, (column for _, column in frame.items()), strict=True))
    return Table(cells, np.array(rows) + 1, "line", dict(zip(unique, units, strict=True)), decimal)


def _content(lines: Sequence[str]) -> tuple[str | None, list[int], str]:
    """The separator that Excel's first line `sep=;` tells, the positions of lines that are neither
    empty nor comments, and the last comment above them."""
    separator: str | None = None
    rows: list[int] = []
    comment = ""
    for position, line in enumerate(lines):
        text = line.strip()
        if not text:
            continue
        if text.startswith(_COMMENTS):
            comment = comment if rows else text.lstrip("#% \t")
        elif not rows and separator is None and re.fullmatch("sep=[,;\t|]", text, re.IGNORECASE):
            separator = text[-1]
        else:
            rows.append(position)
    return separator, rows, comment


def _separator(header: str, first: str) -> str:
    for separator in ("\t", ";", ",", "|"):
        if separator in header and not (separator == "," and _all_numbers(header)):
            return separator
    return _SPACES if len(_words(header)) > 1 and len(_words(first)) != 1 else ","


def _all_numbers(line: str) -> bool:
    """Whether a line is numbers between blanks: "0,1 1,0" has decimal commas, no separating ones."""
    cells = _words(line)
    return len(cells) > 1 and all(looks_like_number(cell) for cell in cells)


def _words(line: str) -> list[str]:
    """What stands between blanks and tabs, as pandas sees it; `str.split` knows more kinds of blanks."""
    return re.split("[ \t]+", line.strip(" \t"))


def _cells(line: str, separator: str, row: int) -> list[str]:
    if separator == _SPACES:
        separator, line = " ", " ".join(_words(line))
    try:
        (cells,) = csv.reader([line], delimiter=separator, skipinitialspace=True)
    except (csv.Error, ValueError) as error:
        raise DataError(f"line {row + 1} cannot be read ({error})") from None
    return cells


def _names_in_comment(comment: str, count: int, row: int) -> list[str]:
    """The names of the columns in the comment above a table that has no other header."""
    for separator in (",", ";", "\t", None):
        names = [name.strip() for name in comment.split(separator)]
        if len(names) == count and not any(looks_like_number(name) for name in names):
            return names
    raise DataError(
        f"line {row + 1} holds numbers where the names of the columns are expected; put a line such "
        "as time,x,v above it"
    )


def _units_in(cells: list[str], below: list[str]) -> list[str] | None:
    """The units in the cells of the first line below the names: short words, with numbers below them.

    A word above a word may be the name of a trajectory in each line, so then it is no unit.
    """
    words = [cell.strip() for cell in cells]
    named = [word for word in words if word]
    if 2 * len(named) <= len(words) or len(cells) != len(below) or not all(map(_is_unit, named)):
        return None
    known = [cell.strip() for cell in below if cell.strip()]
    if not known or not all(looks_like_number(cell) or cell[0].isdigit() for cell in known):
        return None
    return ["" if word == "-" else word.strip("[]()") for word in words]


def _is_unit(word: str) -> bool:
    return len(word) <= _LONGEST_UNIT and not looks_like_number(word) and not word[0].isdigit()


def _check_widths(
    names: list[str], lines: Sequence[str], rows: Sequence[int], separator: str
) -> tuple[list[str], int]:
    """Refuse rows with more or fewer cells than names.

    **Returns:** the names, without an empty last one that no row has a cell for; and how many cells
    every row has beyond them: 1 behind a trailing separator, or before a header that leaves the
    names of the rows out.
    """
    widths = _widths(lines, rows, separator)
    count = len(names)
    if not names[-1] and (widths == count - 1).all():
        return names[:-1], 0
    if (widths == count).all():
        return names, 0
    if (widths == count + 1).all():
        last = [_cells(lines[row], separator, row)[-1].strip() for row in rows]
        first = [_cells(lines[row], separator, row)[0].strip() for row in rows]
        if not any(last) or counts_rows(pd.Series(first)):
            return names, 1
    short = int((widths < count).sum())
    if separator != _SPACES and short >= max(3, _MANY * len(rows)) and (widths <= count).all():
        return names, 0
    at = int(np.argmax(widths != count))
    sentence = f"line {rows[at] + 1} has {widths[at]} cells, but the header has {count} names"
    if widths[at] < count:
        raise DataError(
            f"{sentence}; write a separator for each empty cell (or is the file cut short?)"
        )
    hint = "; leave no cell without a name"
    if separator == "," and re.search(r"\d,\d", lines[rows[at]]):
        hint = "; if commas are decimal commas, separate the columns by semicolons"
    raise DataError(sentence + hint)


def _widths(lines: Sequence[str], rows: Sequence[int], separator: str) -> np.ndarray:
    """Numbers of cells of the rows."""
    widths = np.empty(len(rows), np.intp)
    for k, row in enumerate(rows):
        line = lines[row]
        if '"' in line:
            if line.count('"') % 2:
                raise DataError(f"line {row + 1}: a quoted cell does not end in its line")
            widths[k] = len(_cells(line, separator, row))
        elif separator == _SPACES:
            widths[k] = len(_words(line))
        else:
            widths[k] = line.count(separator) + 1
    return widths


def _frame(rows: list[str], separator: str, width: int) -> tuple[pd.DataFrame, str]:
    """The cells, numbers where a column has nothing else; and the decimal mark."""
    text = "\n".join(rows)
    options: dict[str, Any] = {
        "sep": separator,
        "header": None,
        "names": range(width),
        "index_col": False,
        "skipinitialspace": True,
        "skip_blank_lines": False,
        "low_memory": False,
    }
    try:
        frame: pd.DataFrame = pd.read_csv(io.StringIO(text), **options, **_EXACT)
        if len(frame) != len(rows):  # a mark that pandas takes for the end of a line
            raise ValueError(f"{len(rows)} lines make {len(frame)} rows")
        if separator != "," and any(has_decimal_comma(column) for _, column in frame.items()):
            # As text, so that a point among commas is seen.
            return pd.read_csv(io.StringIO(text), **options, dtype=str), ","
    except (pd.errors.ParserError, ValueError, OverflowError) as error:
        raise DataError(f"the cells cannot be read ({str(error).strip()})") from None
    return frame, "."


def _without_names_of_rows(frame: pd.DataFrame, count: int) -> pd.DataFrame:
    """Without the one column that the header has no name for: behind a last separator, or row numbers."""
    if frame[count].isna().all():
        return frame.drop(columns=count)
    logger.warning("the first column has no name and counts the rows; it is left out")
    return frame.drop(columns=0)


def _names_and_units(
    names: Sequence[str], units: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Names without units behind them, ``x [m]``, where that does not make two of them the same."""
    if units is not None:
        return list(names), list(units)
    pairs = [_name_and_unit(name) for name in names]
    count = Counter(name for name, _ in pairs)
    kept = [
        pair if count[pair[0]] == 1 else (name, "") for pair, name in zip(pairs, names, strict=True)
    ]
    return [name for name, _ in kept], [unit for _, unit in kept]


def _name_and_unit(name: str) -> tuple[str, str]:
    match = _UNIT.fullmatch(name)
    unit = (match[2] or match[3] or "").strip() if match else ""
    return (match[1], unit) if match and unit and not unit.isdecimal() else (name, "")
