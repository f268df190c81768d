"""Commands that run in several processes at once, of which each ends as soon as one of the others has."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import signal
import sys
import tempfile
from typing import Any, NoReturn

import click

from pnde import engines

_OPTIONS = (
    click.option(
        "--distributed",
        is_flag=True,
        help="one of several processes that train together, as SLURM or Kubernetes start them",
    ),
    click.option("--coordinator", metavar="HOST:PORT", help="of the first process, elsewhere"),
    click.option("--processes", type=click.IntRange(1), metavar="N", help="how many there are"),
    click.option("--process", type=click.IntRange(0), metavar="I", help="this one, from 0"),
)
_ENDED = (
    "pnde: another process of this training has ended, or could not be reached: start all of them again; a run with a "
    "checkpoint goes on by pnde resume\n"
)

_joined: list[Any] = []
"""What has to live as long as the process, if it is one of several."""


def joining_options(command: Any) -> Any:
    """The options of `join`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def join(
    distributed: bool, coordinator: str | None, processes: int | None, process: int | None
) -> dict[str, Any]:
    """Make this process one of several, if the options of `joining_options` say so; the settings that go with it."""
    if not distributed and coordinator is None and processes is None and process is None:
        return {}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sink = _end_in_a_sentence()
    own = os.dup(1)
    os.dup2(sink, 1)  # the runtime tells of its connections there
    try:
        engines.join(coordinator, processes, process)
    finally:
        os.dup2(own, 1)
        os.close(own)
    # In front of what JAX does at the end, which is to wait for the others.
    atexit.register(_leave_if_stopped)
    if not engines.leads():
        logging.getLogger("pnde").setLevel(logging.ERROR)
    return {"devices": "all"}


def end(code: int) -> NoReturn:
    """End the process; one of several without waiting for the others, who may be waiting for this one."""
    if _joined:
        _leave(code)
    sys.exit(code)


def complete() -> None:
    """Note that the command has come to its end, as those of the other processes do."""
    atexit.unregister(_leave_if_stopped)


def _leave_if_stopped() -> None:
    _leave(1)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _end_in_a_sentence() -> int:
    """Where a process that JAX has lost touch with is aborted from inside of its runtime, tell why in a sentence.

    What the runtime itself writes of it, pages, is kept from the user: the descriptor that takes it.
    """
    own, told = os.dup(2), tempfile.TemporaryFile()
    sys.stderr = os.fdopen(own, "w", buffering=1, closefd=False)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stderr)
    os.dup2(told.fileno(), 2)

    def ended(_: int) -> None:
        told.seek(0)
        text = told.read()
        lost = b"distributed service" in text or not text
        os.write(own, _ENDED.encode() if lost else text)
        os._exit(2 if lost else 134)

    handle = ctypes.CFUNCTYPE(None, ctypes.c_int)(ended)
    ctypes.CDLL(None).signal(signal.SIGABRT, handle)
    _joined.extend((told, handle))
    return told.fileno()
