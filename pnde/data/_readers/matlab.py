"""MATLAB files: version 5 by SciPy, version 7.3, which is HDF5, by h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
import xarray as xr

from pnde.errors import DataError, brief, shown

from .._arrays import from_arrays
from .._columns import Columns
from .._limits import check_room
from .._trial import try_to_read

_DEEPEST = 8


def read(path: Path, columns: Columns) -> xr.Dataset:
    """The data set in a MATLAB file: matrices, cell arrays of them, or a structure with them as fields.

    **Raises:** `DataError` where it is damaged, or holds what only MATLAB can read.
    """
    new = h5py.is_hdf5(path)
    try_to_read(path, "hdf5" if new else "matlab")
    try:
        arrays = _version_73(path) if new else _version_5(path)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # SciPy, zlib and h5py each raise their own
        raise DataError(f"the file cannot be read as MATLAB's ({brief(error, 120)})") from None
    arrays = {name: value for name, value in arrays.items() if not name.startswith("__")}
    if len(arrays) == 1 and isinstance(next(iter(arrays.values())), dict):
        (arrays,) = arrays.values()
    return from_arrays({name: _cell(name, value) for name, value in arrays.items()}, columns)


def _version_5(path: Path) -> dict[str, Any]:
    held = scipy.io.whosmat(path)
    check_room(
        2 * sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in held),
        "what the file holds",
    )
    for name, _, kind in held:
        if kind in ("opaque", "function", "object"):
            raise DataError(
                f"the variable {shown(name)} is a table or an object, which only MATLAB can read; "
                "save matrices: x = T.x; save('file.mat', 't', 'x')"
            )
    arrays: dict[str, Any] = scipy.io.loadmat(path, simplify_cells=True)
    return arrays


def _version_73(path: Path) -> dict[str, Any]:
    with h5py.File(path, "r") as file:
        return {name: _value(file, item, 0) for name, item in file.items() if name[0] != "#"}


def _value(file: h5py.File, item: Any, depth: int) -> Any:
    """A matrix the right way round (HDF5 counts the axes from the other end), a text, a list or a dict."""
    if depth > _DEEPEST:
        raise DataError("its structures are nested too deep")
    if isinstance(item, h5py.Group):
        return {name: _value(file, inner, depth + 1) for name, inner in item.items()}
    kind = item.attrs.get("MATLAB_class", b"")
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    check_room(8 * item.size, "what the file holds")
    if kind == "cell":
        return [_value(file, file[reference], depth + 1) for reference in item[()].T.ravel()]
    if item.dtype.kind not in "biufV" or item.attrs.get("MATLAB_empty", 0):
        return np.zeros(0)
    value = item[()].T
    if kind == "char":
        rows = np.atleast_2d(value)
        texts = ["".join(map(chr, row.tolist())).strip() for row in rows]
        return texts[0] if len(texts) == 1 else np.array(texts)
    if value.dtype.names == ("real", "imag"):
        value = value["real"] + 1j * value["imag"]
    return np.squeeze(value)


def _cell(name: str, value: Any) -> Any:
    """A cell array of matrices as a list of them, one of texts as an array; both come as NumPy's or lists."""
    if isinstance(value, dict):
        raise DataError(
            f"the structure {shown(name)} stands beside other variables; save its fields"
        )
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.ravel().tolist()
    if isinstance(value, list):
        if all(isinstance(entry, str) for entry in value):
            return np.array(value, str)
        return [np.asarray(entry) for entry in value]
    array = np.asarray(value)
    # The rows of a matrix of letters are filled up with blanks.
    return np.char.rstrip(array) if array.dtype.kind == "U" else array
