"""The text of a grid file: of bounded size, in whatever encoding a program has written it."""

from __future__ import annotations

from pathlib import Path

from pnde.errors import DataError

#: Largest grid file that is read, bytes; the largest public grids (80,000 buses) have 30 MB.
LARGEST = 1 << 30

_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}


def read_bytes(path: Path) -> bytes:
    """The content of a regular file.

    **Raises:** [`pnde.errors.DataError`][] for anything without an end (a pipe, a device), a file
    that is too large, or one that cannot be opened.
    """
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"cannot read {path}: it is no regular file; give the path of a file")
        if path.stat().st_size > LARGEST:
            raise DataError(
                f"cannot read {path}: it has {path.stat().st_size / 1e9:.1f} GB, more than any grid"
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {path}: {reason}; check the path") from None


def read_text(path: Path) -> str:
    """The text of a grid file, without a byte-order mark.

    UTF-16 and UTF-32 are known by their marks. Everything else is UTF-8; where it is not, one byte
    is taken for one letter (Latin-1), which only the names of buses can notice.

    **Raises:** [`pnde.errors.DataError`][] where it is no text.
    """
    content = read_bytes(path)
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if "\0" in text:
        raise DataError(f"{path.name} holds zero bytes, so it is no text; save the case anew")
    return text
