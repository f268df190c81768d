"""`pnde setup julia`: the only place that may use a network for Julia."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

from pnde.engines.julia.environment import Environment, record
from pnde.errors import EngineError

logger = logging.getLogger("pnde")


def setup() -> None:
    """Install Julia and the packages that `juliapkg.json` names, load them once, and remember where they are.

    juliapkg finds a Julia on the machine or downloads one. Loading once in a process of its own compiles the packages,
    which takes minutes, and shows that they work.

    **Raises:** `pnde.errors.EngineError` saying what failed.
    """
    try:
        import juliapkg
    except ImportError:
        raise EngineError(
            "pnde setup julia needs juliapkg: run pip install 'pnde[julia]'"
        ) from None
    try:
        juliapkg.resolve()
        environment = Environment(Path(juliapkg.executable()), Path(juliapkg.project()))
    except Exception as error:
        raise EngineError(f"the Julia packages could not be installed: {error}") from error
    _load_once(environment)
    logger.info("the julia engine is set up (%s)", record(environment))


def _load_once(environment: Environment) -> None:
    command = [
        str(environment.executable),
        f"--project={environment.project}",
        "-e",
        "using PNDE, PythonCall",
    ]
    outcome = subprocess.run(command, capture_output=True, text=True)
    if outcome.returncode:
        first = next((line for line in outcome.stderr.splitlines() if line.startswith("ERROR")), "")
        raise EngineError(
            f"the Julia package PNDE does not load: {first}", traceback=outcome.stderr
        )
