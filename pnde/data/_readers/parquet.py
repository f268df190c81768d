"""Parquet files, by pandas and pyarrow."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import xarray as xr

from pnde.errors import DataError, brief

from .._columns import Columns
from .._frames import from_frame
from .._limits import check_room


def read(path: Path, columns: Columns) -> xr.Dataset:
    """The data set in a Parquet file. **Raises:** `DataError` where it is damaged or does not fit."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError(
            "Parquet files are read by pyarrow, which is not installed: pip install 'pnde[parquet]'"
        ) from None
    try:
        facts = parquet.read_metadata(path)
        check_room(16 * facts.num_rows * facts.num_columns, "what the file holds")
        frame = pd.read_parquet(path, engine="pyarrow")
    except (DataError, MemoryError):
        raise
    except Exception as error:  # Arrow raises errors of many kinds
        raise DataError(f"the file cannot be read as Parquet ({brief(error, 120)})") from None
    return from_frame(frame, columns)
