"""NPZ files of NumPy."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, shown

from .._arrays import from_arrays
from .._columns import Columns
from .._limits import check_room


def read(path: Path, columns: Columns) -> xr.Dataset:
    """The data set in an NPZ file. **Raises:** `DataError` where it is damaged or does not fit."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_room(
                2 * sum(info.file_size for info in archive.infolist()), "what the file holds"
            )
            arrays = {
                info.filename.removesuffix(".npy"): _array(archive, info)
                for info in archive.infolist()
            }
    except (DataError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and NumPy each raise their own
        raise DataError(f"the file cannot be read as NPZ ({brief(error, 120)})") from None
    attributes = _attributes(arrays["attributes"]) if "attributes" in arrays else None
    return from_arrays(arrays, columns, attributes)


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One array, after its header has been held against its size: a few bytes can ask for terabytes."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = header(file)
    if dtype.hasobject:
        raise DataError(
            f"the array {shown(info.filename)} holds Python objects, which are never loaded; save "
            "numbers or text"
        )
    if int(np.prod(shape, dtype=object)) * dtype.itemsize > info.file_size:
        raise DataError(f"the array {shown(info.filename)} is shorter than its shape {shape}")
    with archive.open(info) as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        file.read()  # to the end, where the checksum is compared
    return array


def _attributes(array: np.ndarray) -> dict[str, Any]:
    try:
        table = json.loads(str(array))
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise DataError("the array 'attributes' is no table in JSON; leave it out")
    return table
