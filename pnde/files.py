"""Files, written so that a kill at any moment loses nothing that was there, and read with suspicion."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

from pnde.errors import EngineError, RunError

# No text that pnde writes is as large as this.
_LARGEST_TEXT = 2**26
_TEMPORARY = ".pnde-tmp"

_REMEDIES = {
    errno.ENOSPC: "free space on the disk",
    errno.EDQUOT: "free space in the quota",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "name a folder on a disk that can be written",
    errno.EACCES: "name a folder that you may write to",
    errno.EPERM: "name a folder that you may write to",
    errno.ENOENT: "put the folder back, which is no longer there",
    errno.ENOTDIR: "name a folder, for a file is in the way",
}


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file in one step: readers see the old content or the new, never a part, and a link is not followed.

    **Raises:** `pnde.errors.RunError` saying what the disk says; what was there is kept then.
    """
    write_aside(path, lambda temporary: _write(temporary, content))


def write_aside(path: Path, write: Callable[[Path], Any]) -> None:
    """Replace a file in one step by what `write` puts at the temporary path that it is given.

    The temporary file is synced before it is renamed, and its folder afterwards.

    **Raises:** `pnde.errors.RunError` saying what the disk says; what was there is kept then.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_TEMPORARY}{path.suffix}")
    try:
        # Made here, so that nothing that is already there, such as a link, is ever written through.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        write(temporary)
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> RunError:
    """The error for a file or folder that cannot be written."""
    remedy = _REMEDIES.get(error.errno or 0, "look at the disk")
    return RunError(f"cannot write {path} ({error.strerror or error}): {remedy}")


def make_folder(path: Path) -> list[Path]:
    """Make a folder and those above it; the ones that were not there, the innermost last.

    **Raises:** `pnde.errors.RunError` if it cannot be made.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()][::-1]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    return missing


def sweep(folder: Path) -> None:
    """Remove the temporary files that a killed process left in a folder."""
    for path in folder.glob(f".*{_TEMPORARY}*"):
        with contextlib.suppress(OSError):
            path.unlink()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object as JSON; see `write_bytes`."""
    write_bytes(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    **Raises:** `pnde.errors.RunError` if there is none, or it is damaged.
    """
    try:
        text = read_bytes(path, _LARGEST_TEXT).decode()
        content = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from None
    if not isinstance(content, dict):
        raise damaged(path, ValueError("it holds no object"))
    return content


def read_bytes(path: Path, largest: int | None = None) -> bytes:
    """The content of a regular file, never of a device or a pipe, which may not end.

    **Raises:** `pnde.errors.RunError` if it is missing, no regular file, or larger than `largest` bytes.
    """
    try:
        with _open(path) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise damaged(path, ValueError("it is no regular file"))
            if largest is not None and facts.st_size > largest:
                raise damaged(path, ValueError(f"it has {facts.st_size} bytes"))
            return file.read()
    except OSError as error:
        raise damaged(path, error) from None


def checksum(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal.

    **Raises:** `pnde.errors.RunError` if it cannot be read.
    """
    try:
        with _open(path) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise damaged(path, ValueError("it is no regular file"))
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> RunError:
    """The error for a file that is missing or cannot be read."""
    if isinstance(error, FileNotFoundError):
        what = "is missing"
    else:
        reason = error.strerror if isinstance(error, OSError) else str(error).partition("\n")[0]
        what = f"cannot be read ({str(reason)[:100]})"
    return RunError(f"{path} {what}; restore it from a backup, or train again")


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path) -> BufferedReader:
    # A pipe without a writer would be waited for.
    return open(
        path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
    )


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number in JSON")


def julia_package() -> Path:
    """The Julia package that belongs to this Python package: inside of it where it is installed, else beside it.

    **Raises:** `pnde.errors.EngineError` if it is in neither place.
    """
    home = Path(__file__).resolve().parent
    for folder in (home / "julia" / "PNDE", home.parent / "julia" / "PNDE"):
        if (folder / "Project.toml").is_file():
            return folder
    raise EngineError(f"the Julia package PNDE is not beside {home}: install pnde again")
