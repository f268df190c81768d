"""The one Julia of this process: started here and nowhere else, when first needed, and its errors in our words."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pnde.engines.julia.environment import ADVICE, require
from pnde.errors import EngineError

logger = logging.getLogger("pnde")

_lock = threading.RLock()
_module: Any = None
_failure: EngineError | None = None


@contextmanager
def julia() -> Iterator[Any]:
    """The Julia module PNDE. The first call starts Julia.

    Julia's errors become `pnde.errors.EngineError`: the first line is the message, the rest its `traceback`.

    **Raises:** `pnde.errors.EngineError` if Julia has not been set up, or does not start.
    """
    module = pnde_module()
    from juliacall import JuliaError  # it has been imported by now, with the right settings

    try:
        yield module
    except JuliaError as error:
        raise _in_our_words(error) from error


def pnde_module() -> Any:
    """The Julia module PNDE. The first call starts Julia.

    **Raises:** `pnde.errors.EngineError` if it has not been set up, or does not start.
    """
    global _module, _failure
    with _lock:
        if _failure is not None:
            raise _failure  # a second start in one process would crash it
        if _module is None:
            environment = require()
            if "juliacall" in sys.modules:
                _check_settings(sys.modules["juliacall"])
                settings = {}
            else:
                settings = environment.variables()
            logger.info("starting julia (%s)", environment.executable)
            try:
                with _variables(settings):
                    _module = _start()
            except EngineError as error:
                _failure = error
                raise
        return _module


@contextmanager
def _variables(settings: Mapping[str, str]) -> Iterator[None]:
    """What juliacall reads while it is imported, and what Julia reads as it runs, which stays."""
    before = {name: os.environ.get(name) for name in settings if name.startswith("PYTHON_")}
    os.environ |= settings
    try:
        yield
    finally:
        # A process that this one starts may have other threads, and then needs other signal handlers.
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def is_started() -> bool:
    """Whether Julia runs in this process."""
    return _module is not None


def _start() -> Any:
    try:
        from juliacall import JuliaError, Main
    except Exception as error:
        raise EngineError(f"julia does not start: {_reason(error)}; {ADVICE}") from error
    try:
        Main.seval("import PNDE")
        return Main.PNDE
    except JuliaError as error:
        told = _in_our_words(error)
        raise EngineError(
            f"the Julia package PNDE does not load: {str(told)[:180]}; {ADVICE}", told.traceback
        ) from error


def _reason(error: Exception) -> str:
    """Why juliacall could not be imported, on one line: of a program that failed, the first line that it wrote."""
    text = str(error)
    if isinstance(error, subprocess.CalledProcessError):
        text = f"{error.cmd[0]} failed: {(error.stderr or '').strip() or error.returncode}"
    first = text.strip().partition("\n")[0]
    return first[:160] or type(error).__name__


def _in_our_words(error: Exception) -> EngineError:
    text = str(error).strip()
    # The kind of error says nothing where the message is a sentence of the package's own.
    first = re.sub(r"^(ArgumentError|LoadError): ", "", text.partition("\n")[0])
    return EngineError(f"julia: {first[:290]}", traceback=text)


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
