"""Laws by their names: in a file of the user's, or one that is known."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from pnde.errors import ConfigError, nearest


def law_of(reference: str | None) -> Any:
    """The function or Constraint that `FILE.py:NAME` names; `rods` and `rods:LENGTHS` are known by their names."""
    if reference is None or reference.partition(":")[0] == "rods":
        return reference
    file, colon, name = reference.rpartition(":")
    if not colon:
        raise ConfigError(
            f"name a law as FILE.py:NAME, rods, or rods:1,0.5; not {reference[:80]!r}"
        )
    path = Path(file)
    if not path.is_file():
        raise ConfigError(f"there is no file {file[:120]} to take the law {name[:60]!r} from")
    module = _run(path)
    if not hasattr(module, name):
        raise ConfigError(f"{file[:120]} has no {name[:60]!r}{nearest(name, vars(module))}")
    return getattr(module, name)


def _run(path: Path) -> Any:
    """The module that a file of the user's is; whatever it raises is told in one sentence."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is not a Python file: name it with the ending .py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(
        0, str(path.resolve().parent)
    )  # as if it were run, so that it finds its neighbours
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        line = _line_of(error, path)
        what = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"
        raise ConfigError(f"{path} cannot be run{line}: {what}") from None
    finally:
        sys.path.pop(0)
    return module


def _line_of(error: BaseException, path: Path) -> str:
    """`, line 3`, of the file in which something was raised."""
    if isinstance(error, SyntaxError):
        return "" if error.lineno is None else f", line {error.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""
