"""A checksum at the end of an HDF5 file, which other programs skip, and drop when they change the file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO

from pnde.errors import DataError

_MARK = b"\npnde sha256 "
_LENGTH = len(_MARK) + 64
_BLOCK = 1 << 20


def seal(content: bytes) -> bytes:
    """A file's content with its SHA-256 behind it."""
    return content + _MARK + hashlib.sha256(content).hexdigest().encode()


def seal_file(path: Path) -> None:
    """Put the SHA-256 of a file behind it, in memory for a part of it."""
    with path.open("r+b") as file:
        digest = _digest(file, file.seek(0, 2) - file.seek(0))
        file.seek(0, 2)
        file.write(_MARK + digest)


def sealed(path: Path) -> bool:
    """Whether a file has a checksum at its end.

    **Raises:** `DataError` where it has one, and not that of the file.
    """
    with path.open("rb") as file:
        end = file.seek(0, 2) - _LENGTH
        if end < 0:
            return False
        file.seek(end)
        tail = file.read()
        if not tail.startswith(_MARK):
            return False
        file.seek(0)
        if tail.removeprefix(_MARK) != _digest(file, end):
            raise DataError(
                "the file has changed since it was written: its checksum is another one; restore it "
                "from a backup, or make it anew"
            )
    return True


def _digest(file: BinaryIO, length: int) -> bytes:
    digest = hashlib.sha256()
    while length > 0 and (block := file.read(min(_BLOCK, length))):
        digest.update(block)
        length -= len(block)
    return digest.hexdigest().encode()
