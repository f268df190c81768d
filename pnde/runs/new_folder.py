"""A folder for a new run, of which nothing is left where the run comes to nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pnde.errors import RunError
from pnde.files import make_folder
from pnde.runs import folder as disk
from pnde.runs.lock import is_left_behind, locked


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Inside, the folder is there, holds no other run, and belongs to this process.

    If what is done inside fails before the first checkpoint, what it has written is taken away, and nothing else. An
    interrupted training stays, for it can be resumed.

    **Raises:** `pnde.errors.RunError` if the folder holds files of a run, is in use, or cannot be made.
    """
    made, begun = make_folder(path), False
    try:
        left_behind = is_left_behind(path)
        with locked(path, disk.INNER):
            if left_behind and not (path / disk.RECORD).exists():
                disk.clear(path, [])  # a training that was killed before it began
            there = disk.occupied(path)
            if there is not None:
                raise RunError(
                    f"{path} holds {there} already; go on with it by pnde.resume if it is a run, or name another folder"
                )
            begun = True
            yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        if begun and not (path / disk.CHECKPOINT).exists():
            disk.clear(path, made)
        raise
