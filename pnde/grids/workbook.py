"""The sheets of a workbook, as tables."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from pnde.errors import DataError, brief
from pnde.grids.text import LARGEST, read_bytes


def read_workbook(path: Path) -> dict[str, Any]:
    """The sheets of an ``.xlsx`` file by name, each a pandas ``DataFrame`` with the first row as
    headings.

    **Raises:** [`pnde.errors.DataError`][] where openpyxl is missing, or the file is damaged or
    unpacks to more than any grid.
    """
    import pandas as pd

    content = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > LARGEST:
            raise DataError(f"{path.name} unpacks to {size / 1e9:.1f} GB, more than any grid")
        return pd.read_excel(io.BytesIO(content), sheet_name=None, engine="openpyxl")
    except ImportError:
        raise DataError(
            "reading a workbook needs openpyxl, which is not installed; run: "
            "pip install 'pnde[grids]'"
        ) from None
    except DataError:
        raise
    except (Exception, RecursionError) as error:  # openpyxl raises whatever its XML trips over
        raise DataError(
            f"{path.name} cannot be read as a workbook ({brief(error, 100)}); save it anew as .xlsx"
        ) from None
