"""DataFrames of pandas as data sets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from pnde.errors import DataError, shown

from ._columns import Columns
from ._labels import first_twice
from ._table import Table, dataset_of


def from_frame(frame: pd.DataFrame, columns: Columns) -> xr.Dataset:
    """The data set in a DataFrame, in the forms that a CSV file has too; see `pnde.open_data`.

    An index with names, dates or durations is read like columns; one of numbers holds the times where
    no column does; one that counts rows is nothing.

    **Raises:** `DataError` naming row and column.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(
            "the columns have several levels; join them into one name each: "
            "frame.columns = ['_'.join(name) for name in frame.columns]"
        )
    if frame.empty:
        raise DataError("the table has no rows of data, or no columns")
    frame = _with_index(frame, columns)
    names = [str(name) for name in frame.columns]
    twice = first_twice(names)
    if twice is not None:
        raise DataError(f"the column {shown(twice)} occurs twice; rename one")
    cells = dict(zip(names, (column for _, column in frame.items()), strict=True))
    return dataset_of(Table(cells, np.arange(len(frame)), "row"), columns)


def _with_index(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    index = frame.index
    if isinstance(index, pd.MultiIndex):
        names = [str(name) if name is not None else "" for name in index.names]
    elif isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex) or index.name is not None:
        names = [str(index.name) if index.name is not None else "time"]
    else:
        held = [str(name) for name in frame.columns]
        counts = isinstance(index, pd.RangeIndex) or not pd.api.types.is_numeric_dtype(index.dtype)
        if counts or columns.time_among(held) is not None:
            return frame.reset_index(drop=True)
        names = ["time"]
    if "" in names:
        raise DataError("a level of the index has no name; name it, or drop it by reset_index()")
    taken = first_twice([*names, *(str(name) for name in frame.columns)])
    if taken is not None:
        raise DataError(f"{shown(taken)} is a level of the index and a column; rename one")
    return frame.reset_index(names=names)
