"""A process that reads a file to see whether that ends it.

HDF5 and SciPy's reader of MATLAB files are written in C, and some damaged files end the process that
reads them, and with it whatever else the process has computed. What comes from elsewhere is therefore
read by another process first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from pnde.errors import DataError, brief

from ._limits import room

_PROCESS = Path(__file__).with_name("_trial_process.py")
# Long enough for a busy machine; a file that is read at a megabyte a second.
_SECONDS = 60.0
_BYTES_PER_SECOND = 1e6


def try_to_read(path: Path, kind: str) -> None:
    """Read an HDF5 (``"hdf5"``) or MATLAB (``"matlab"``) file in another process, and forget what was read.

    Nothing is tried where this Python is part of another program.

    **Raises:** `DataError` where that process fails, is ended, or does not come to an end.
    """
    if not Path(sys.executable or "").stem.startswith(("python", "pypy")):
        return
    seconds = _SECONDS + path.stat().st_size / _BYTES_PER_SECOND
    with _LOCK:
        answer = _ask({"kind": kind, "path": str(path.absolute()), "most": room()}, seconds)
    if answer is None:
        raise DataError("the file is damaged: reading it ends the process, or does not end")
    if answer:
        raise DataError(f"the file cannot be read ({brief(answer, 120)})")


# One process is kept for the next file, until this one ends: its start takes longer than most files.
_LOCK = threading.Lock()
_kept: tuple[int, subprocess.Popen[str]] | None = None


def _ask(question: dict[str, object], seconds: float) -> str | None:
    """What the other process says of a file: nothing, or an error; `None` where it has ended."""
    process = _reader()
    if process is None:
        return ""
    assert process.stdin is not None and process.stdout is not None
    # A line is waited for without end, unless the process is ended.
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        line = ""
    except (
        BaseException
    ):  # interrupted: the answer that is still to come must not be the next one's
        process.kill()
        raise
    finally:
        timer.cancel()
    try:
        return str(json.loads(line))
    except ValueError:
        process.kill()
        process.wait()  # so that it is seen to have ended when the next file comes
        return None


def _reader() -> subprocess.Popen[str] | None:
    """The process of this process, started where there is none; `None` where none can be."""
    global _kept
    if _kept is not None and _kept[0] == os.getpid() and _kept[1].poll() is None:
        return _kept[1]
    # -P: modules come from where they are installed, never from the folder of the data.
    command = [sys.executable, "-P", str(_PROCESS)]
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    try:
        started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=none, encoding="utf-8")
    except OSError:
        return None
    _kept = (os.getpid(), started)
    return started
