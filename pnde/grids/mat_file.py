"""Binary MATLAB files: version 5 by SciPy, version 7.3, which is HDF5, by h5py."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from pnde.errors import DataError, brief
from pnde.grids.text import LARGEST, read_bytes

_DEEPEST = 8
_COMPRESSED = 15


def read_mat(path: Path) -> dict[str, Any]:
    """The variables of a ``.mat`` file: arrays, strings, lists for cell arrays, dicts for structures.

    **Raises:** [`pnde.errors.DataError`][] where it is damaged, unpacks to more than any grid, or
    cannot be opened.
    """
    content = read_bytes(path)
    try:
        if content[512:516] == b"\x89HDF" or content[:4] == b"\x89HDF":
            return _version_73(content)
        _check_size(content, path.name)
        import scipy.io

        file: Any = io.BytesIO(content)
        return {
            name: value
            for name, value in scipy.io.loadmat(file, simplify_cells=True).items()
            if not name.startswith("__")
        }
    except DataError:
        raise
    except (Exception, RecursionError) as error:  # SciPy, zlib and h5py each raise their own
        raise DataError(
            f"{path.name} cannot be read as a MATLAB file ({brief(error, 100)}); save the case "
            "anew with savecase"
        ) from None


def holds_case(path: Path) -> bool:
    """Whether a ``.mat`` file has the variables of a MATPOWER case."""
    import h5py
    import scipy.io

    try:
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                names = set(file)
        else:
            names = {name for name, *_ in scipy.io.whosmat(path)}
    except Exception:  # what is damaged is told by whoever reads it
        return False
    return "mpc" in names or {"bus", "branch"} <= names


def _check_size(content: bytes, name: str) -> None:
    """Unpack the elements of a version-5 file a piece at a time, and stop at what no grid has."""
    order = "little" if content[126:128] == b"IM" else "big"
    at, total = 128, 0
    while at + 8 <= len(content):
        kind = int.from_bytes(content[at : at + 4], order)  # type: ignore[arg-type]
        size = int.from_bytes(content[at + 4 : at + 8], order)  # type: ignore[arg-type]
        if kind == _COMPRESSED:
            unpacked, rest = zlib.decompressobj(), content[at + 8 : at + 8 + size]
            while rest and not unpacked.eof:
                total += len(unpacked.decompress(rest, 1 << 24))
                rest = unpacked.unconsumed_tail
                if total > LARGEST:
                    raise DataError(
                        f"{name} unpacks to more than {LARGEST >> 30} GB, unlike a grid"
                    )
        at += 8 + size


def _version_73(content: bytes) -> dict[str, Any]:
    import h5py

    with h5py.File(io.BytesIO(content), "r") as file:
        return {name: _value(file, item, 0) for name, item in file.items() if name[0] != "#"}


def _value(file: Any, item: Any, depth: int) -> Any:
    import h5py

    if depth > _DEEPEST:
        raise DataError("its structures are nested too deep")
    if isinstance(item, h5py.Group):
        return {name: _value(file, inner, depth + 1) for name, inner in item.items()}
    if 8 * item.size > LARGEST:
        raise DataError(f"it unpacks to more than {LARGEST >> 30} GB, unlike a grid")
    kind = item.attrs.get("MATLAB_class", b"")
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    if kind == "cell":
        return [_value(file, file[reference], depth + 1) for reference in item[()].T.ravel()]
    if item.dtype.kind not in "biuf" or item.attrs.get("MATLAB_empty", 0):
        return np.zeros(0)
    value = item[()].T  # HDF5 counts the axes from the other end
    if kind == "char":
        rows = ["".join(map(chr, row)).rstrip() for row in np.atleast_2d(value).tolist()]
        return rows[0] if len(rows) == 1 else rows
    return value
