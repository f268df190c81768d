"""One process at a time in a folder."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from pnde.errors import RunError
from pnde.files import cannot_write, sweep

NAME = ".pnde-lock"


@contextlib.contextmanager
def locked(folder: Path, inner: str | None = None) -> Iterator[None]:
    """Inside, no other process of pnde writes to the folder; temporary files of killed ones are swept up first.

    Of the folders in it, `inner` belongs to it too; others may have locks of their own.

    The lock is a file with the process and its host. One of a process of this host that has ended is taken over.

    **Raises:** `pnde.errors.RunError` naming the process that has the folder.
    """
    lock = folder / NAME
    _acquire(lock)
    try:
        sweep(folder)
        if inner is not None:
            sweep(folder / inner)
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()


def is_left_behind(folder: Path) -> bool:
    """Whether a process that had the folder was killed."""
    return (folder / NAME).exists() and not _holder(folder / NAME)[1]


def _acquire(lock: Path) -> None:
    own = json.dumps(
        {"process": os.getpid(), "host": socket.gethostname(), "began": _began(os.getpid())}
    ).encode()
    for _ in range(2):
        try:
            descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            who, alive = _holder(lock)
            if alive:
                raise RunError(
                    f"{lock.parent} is in use by {who}; wait for it, or remove {lock} if it is no longer there"
                ) from None
            with contextlib.suppress(FileNotFoundError):
                lock.unlink()
        except OSError as error:
            raise cannot_write(lock, error) from None
        else:
            with os.fdopen(descriptor, "wb") as file:
                file.write(own)
            return
    raise RunError(f"{lock.parent} is in use by another process; wait for it")


def _holder(lock: Path) -> tuple[str, bool]:
    """Who has a lock, and whether that process may still be there."""
    try:
        content = json.loads(lock.read_text(encoding="utf-8"))
        process, host, began = int(content["process"]), str(content["host"]), content["began"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "a process that has just begun", _is_young(lock)
    if host != socket.gethostname():
        return f"process {process} on {host[:60]}", True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return f"process {process}", False
    except (PermissionError, OverflowError):
        pass
    # The number of a process that has ended may have gone to another one.
    return f"process {process}", began == _began(process)


def _began(process: int) -> str | None:
    """When a process began, in the kernel's clock; `None` where that is not known."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _is_young(lock: Path) -> bool:
    """Whether a lock without content is one that is being written, not one of a process killed as it began."""
    try:
        return time.time() - lock.stat().st_mtime < 10
    except OSError:
        return False
