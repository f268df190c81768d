"""Which Julia runs, with which packages: the environment that `pnde setup julia` made, or that variables point at.

With `PYTHON_JULIACALL_EXE` and `PYTHON_JULIACALL_PROJECT` juliacall starts that Julia in that project as they are. So
that a start never resolves anything over the network, `pnde setup julia` records both, and `session` sets them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from pnde.errors import EngineError

_UUID = "430e52fe-2eb7-482f-a7b4-b75eb3f5a518"  # of julia/PNDE/Project.toml

ADVICE = "run pip install 'pnde[julia]' and then pnde setup julia"


class Environment(NamedTuple):
    """The Julia program, and the project that has PNDE in it."""

    executable: Path
    project: Path

    @property
    def ready(self) -> bool:
        """Whether both are there, and the project knows the package."""
        manifest = self.project / "Manifest.toml"
        return self.executable.exists() and manifest.is_file() and _UUID in manifest.read_text()


def find() -> Environment | None:
    """The environment that variables point at, or else the recorded one."""
    executable = os.environ.get("PYTHON_JULIACALL_EXE")
    project = os.environ.get("PYTHON_JULIACALL_PROJECT")
    if executable and project:
        return Environment(Path(executable), Path(project))
    try:
        record = json.loads(_record().read_text())
        return Environment(Path(record["executable"]), Path(record["project"]))
    except (OSError, ValueError, KeyError):
        return None


def record(environment: Environment) -> Path:
    """Remember an environment for later starts; returns the file."""
    path = _record()
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = {"executable": str(environment.executable), "project": str(environment.project)}
    path.write_text(json.dumps(entries, indent=2) + "\n")
    return path


def is_set_up() -> bool:
    """Whether this engine can start; cheap, and without a network."""
    environment = find()
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
    if not environment.ready:
        raise EngineError(
            f"the julia engine's environment is not complete ({environment.executable} with the project "
            f"{environment.project}): {ADVICE}"
        )
    return environment


def _has_juliacall() -> bool:
    return "juliacall" in sys.modules or importlib.util.find_spec("juliacall") is not None


def _record() -> Path:
    """One file for each Python environment, for its packages have to fit juliacall's version."""
    base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    name = hashlib.sha256(sys.prefix.encode()).hexdigest()[:12]
    return base / "pnde" / f"julia-{name}.json"
