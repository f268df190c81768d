"""Which Julia runs, with which packages: the environment that `pnde setup julia` made, or that variables point at.

juliacall reads its settings from variables, once, while it is imported. With `PYTHON_JULIACALL_EXE` and
`PYTHON_JULIACALL_PROJECT` it starts that Julia in that project as they are; without both it resolves an environment of
its own over the network. So `pnde setup julia` records both, and `session` sets them before it imports juliacall.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from pnde.errors import EngineError

UUID = "430e52fe-2eb7-482f-a7b4-b75eb3f5a518"  # of julia/PNDE/Project.toml
_PYTHONCALL = "6099a3de-0909-46bc-b1f4-468b9a2dfc0d"

ADVICE = "run pip install 'pnde[julia]' and then pnde setup julia"

_EXECUTABLE, _PROJECT = "PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT"
_THREADS, _SIGNALS = "PYTHON_JULIACALL_THREADS", "PYTHON_JULIACALL_HANDLE_SIGNALS"


class Environment(NamedTuple):
    """The Julia program, and the project that has PNDE in it.

    - `magma`: the library that takes the place of cuSOLVER on a GPU, if one was recorded.
    """

    executable: Path
    project: Path
    magma: str | None = None

    @property
    def fault(self) -> str | None:
        """What keeps Julia from starting with PNDE, in words; `None` if nothing does."""
        if shutil.which(self.executable) is None:
            return f"there is no program {self.executable}"
        # Julia 1.11 and later may have one for each version.
        manifests = sorted(self.project.glob("*Manifest*.toml"))
        if not manifests:
            return f"{self.project} is not a Julia project with a Manifest.toml"
        text = "".join(manifest.read_text(errors="replace") for manifest in manifests)
        for name, uuid in (("PNDE", UUID), ("PythonCall", _PYTHONCALL)):
            if uuid not in text:
                return f"the Julia project {self.project} has no package {name}"
        return None

    @property
    def ready(self) -> bool:
        """Whether program and project are there, and the project knows the packages."""
        return self.fault is None

    def variables(self) -> dict[str, str]:
        """What juliacall has to find among the variables when it is imported.

        With several threads Julia's garbage collector needs its own signal handlers. With one, Python keeps its own, so
        that Ctrl-C interrupts between two training steps.

        **Raises:** `pnde.errors.EngineError` for numbers of threads that Julia ends the process over.
        """
        threads = _option(_THREADS) or os.environ.get("JULIA_NUM_THREADS") or "1"
        if not re.fullmatch(r"(auto|[1-9]\d*)(,(auto|\d+))?", threads):
            raise EngineError(
                f'{_THREADS} is {threads[:40]!r}; set it to a number of threads, such as "1", or to "auto"'
            )
        signals = _option(_SIGNALS)
        if threads != "1" and signals == "no":
            raise EngineError(
                f"Julia with {threads} threads crashes without its signal handlers: unset {_SIGNALS}, or set it to yes"
            )
        chosen = {
            _EXECUTABLE: str(self.executable),
            _PROJECT: str(self.project),
            _THREADS: threads,
            _SIGNALS: signals or ("no" if threads == "1" else "yes"),
            "PYTHON_JULIACALL_AUTOLOAD_IPYTHON_EXTENSION": os.environ.get(
                "PYTHON_JULIACALL_AUTOLOAD_IPYTHON_EXTENSION", "no"
            ),
        }
        return chosen | ({"MAGMA_LIB": self.magma} if self.magma else {})


def find() -> Environment | None:
    """The environment that variables point at, or else the recorded one.

    **Raises:** `pnde.errors.EngineError` if only one of the two variables is set.
    """
    executable, project = os.environ.get(_EXECUTABLE), os.environ.get(_PROJECT)
    magma = os.environ.get("MAGMA_LIB")
    if executable and project:
        return Environment(Path(executable), Path(project), magma)
    if executable or project:
        there, missing = (_EXECUTABLE, _PROJECT) if executable else (_PROJECT, _EXECUTABLE)
        raise EngineError(
            f"{there} is set but {missing} is not: set both, or none to use what pnde setup julia made"
        )
    try:
        record = json.loads(_record().read_text())
        return Environment(
            Path(record["executable"]), Path(record["project"]), magma or record.get("magma")
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def record(environment: Environment) -> Path:
    """Remember an environment for later starts; returns the file."""
    path = _record()
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = {key: str(value) for key, value in environment._asdict().items() if value}
    path.write_text(json.dumps(entries, indent=2) + "\n")
    return path


def is_set_up() -> bool:
    """Whether this engine can start; cheap, and without a network."""
    try:
        environment = find()
    except EngineError:
        return False
    return _has_juliacall() and environment is not None and environment.ready


def require() -> Environment:
    """The environment.

    **Raises:** `pnde.errors.EngineError` saying what to run, if there is none.
    """
    environment = find()
    if not _has_juliacall():
        raise EngineError(f"the julia engine needs juliacall, which is not installed: {ADVICE}")
    if environment is None:
        raise EngineError(f"the julia engine has not been set up: {ADVICE}")
    if environment.fault is not None:
        remedy = f"correct {_EXECUTABLE} and {_PROJECT}" if _EXECUTABLE in os.environ else ADVICE
        raise EngineError(f"the julia engine cannot start: {environment.fault}; {remedy}")
    return environment


def _has_juliacall() -> bool:
    return "juliacall" in sys.modules or importlib.util.find_spec("juliacall") is not None


def _option(variable: str) -> str | None:
    """A setting of juliacall, which `python -X juliacall-threads=2` gives too, and first."""
    name = variable.removeprefix("PYTHON_").lower().replace("_", "-")
    value = sys._xoptions.get(name)
    return value if isinstance(value, str) else os.environ.get(variable)


def _record() -> Path:
    """One file for each Python environment, for its packages have to fit juliacall's version."""
    base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    name = hashlib.sha256(sys.prefix.encode()).hexdigest()[:12]
    return base / "pnde" / f"julia-{name}.json"
