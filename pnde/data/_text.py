"""Text of files: compressed or not, in whatever Unicode a program has written it, and never without end."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Protocol

from pnde.errors import DataError

from ._limits import check_room

_BLOCK = 1 << 22
# A table of one value repeated is compressed to a hundredth; what goes far beyond is no table.
_MOST_TIMES = 300
_SMALL = 64 << 20
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def read_text(path: Path) -> str:
    """The text of a file, which may be compressed with gzip, without a byte-order mark.

    UTF-8, or UTF-16 and UTF-32 where a mark says so.

    **Raises:** `DataError` where it is no such text, or decompresses to more than a table does.
    """
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not compressed:
            check_room(2 * path.stat().st_size, "the file")
            content = _read(file, None)
        else:
            most = max(_SMALL, _MOST_TIMES * path.stat().st_size)
            try:
                with gzip.open(file) as unpacked:
                    content = _read(unpacked, most)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DataError(f"the gzip file is damaged or cut short ({error})") from None
    found = (encoding for mark, encoding in _MARKS if content.startswith(mark))
    encoding = next(found, "utf-8-sig")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"line {line} is not text in UTF-8; save the file as UTF-8 (in Excel: CSV UTF-8)"
        ) from None
    if "\0" in text:
        raise DataError("the file holds zero bytes, so it is no text")
    return text


class _Binary(Protocol):
    def read(self, count: int, /) -> bytes: ...


def _read(file: _Binary, most: int | None) -> bytes:
    blocks: list[bytes] = []
    count = 0
    while block := file.read(_BLOCK):
        if not blocks:
            marked = block.startswith(tuple(mark for mark, _ in _MARKS))
        if not marked and b"\0" in block:
            raise DataError("the file holds zero bytes, so it is no text")
        count += len(block)
        if most is not None and count > most:
            raise DataError(
                f"the file decompresses to more than {_MOST_TIMES} times its size; decompress it "
                "yourself if it is what you expect"
            )
        blocks.append(block)
    return b"".join(blocks)
