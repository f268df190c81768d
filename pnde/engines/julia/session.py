"""The one Julia of this process: started once, when first needed, and its errors in our words."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pnde.engines.julia.environment import ADVICE, require
from pnde.errors import EngineError

logger = logging.getLogger("pnde")

_lock = threading.RLock()
_module: Any = None


def pnde_module() -> Any:
    """The Julia module PNDE. The first call starts Julia.

    **Raises:** `pnde.errors.EngineError` if it has not been set up, or does not start.
    """
    global _module
    with _lock:
        if _module is None:
            _module = _start()
        return _module


def is_started() -> bool:
    """Whether Julia runs in this process."""
    return _module is not None


@contextmanager
def translated() -> Iterator[None]:
    """Julia's errors become `pnde.errors.EngineError`: the first line is the message, the rest its `traceback`."""
    from juliacall import JuliaError

    try:
        yield
    except JuliaError as error:
        text = str(error).strip()
        first, _, _ = text.partition("\n")
        raise EngineError(f"julia: {first}", traceback=text) from error


def _start() -> Any:
    environment = require()
    if "juliacall" in sys.modules:
        _check_settings(sys.modules["juliacall"])
    else:
        os.environ["PYTHON_JULIACALL_EXE"] = str(environment.executable)
        os.environ["PYTHON_JULIACALL_PROJECT"] = str(environment.project)
        os.environ.setdefault("PYTHON_JULIACALL_AUTOLOAD_IPYTHON_EXTENSION", "no")
        threads = os.environ.setdefault("PYTHON_JULIACALL_THREADS", "1")
        # With several threads Julia's garbage collector needs its own signal handlers; with one, Python keeps its own,
        # so that Ctrl-C interrupts between two training steps.
        os.environ.setdefault("PYTHON_JULIACALL_HANDLE_SIGNALS", "no" if threads == "1" else "yes")
    logger.info("starting julia (%s)", environment.executable)
    try:
        from juliacall import Main
    except Exception as error:
        raise EngineError(f"julia does not start: {error}; {ADVICE}") from error
    with translated():
        Main.seval("import PNDE")
        return Main.PNDE


def _check_settings(juliacall: Any) -> None:
    """Warn about a Julia that somebody else started, where its settings can no longer be changed."""
    config = getattr(juliacall, "CONFIG", {})
    threads = config.get("opt_threads") or "1"
    if threads != "1" and config.get("opt_handle_signals") != "yes":
        warnings.warn(
            f"juliacall was started with {threads} threads and without its signal handlers, which can crash the "
            "process: set PYTHON_JULIACALL_HANDLE_SIGNALS=yes before importing juliacall",
            stacklevel=3,
        )
