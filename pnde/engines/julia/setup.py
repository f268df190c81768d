"""`pnde setup julia`: the only place that may use a network for Julia."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

from pnde.engines.julia.environment import UUID, Environment, record
from pnde.errors import EngineError
from pnde.files import julia_package

logger = logging.getLogger("pnde")

_VERSIONS = "1.10 - 1.11"
_CUDA = ("CUDA", "052768ef-5323-5732-b1bb-66c8b64840ba", "5.6, 6")
_POWERDYNAMICS = ("PowerDynamics", "cc46b21f-1b17-51c2-b642-af74c3d3a8be", "4")


def setup(gpu: bool = False, powerdynamics: bool = False, magma: str | None = None) -> None:
    """Install Julia and its packages, load them once, and remember where they are.

    juliapkg finds a Julia on the machine or downloads one. What it installs is said to it here, and not by a file
    `juliapkg.json`: it reads every such file that it sees, a checkout's and an installed package's, and refuses two
    that name different folders. Loading once in a process of its own compiles the packages, which takes minutes, and
    shows that they work.

    **Arguments:**

    - `gpu`: also install CUDA.jl; `magma`: the path of a MAGMA library that is to factor in its place.
    - `powerdynamics`: also install PowerDynamics.jl.

    **Raises:** `pnde.errors.EngineError` saying what failed.
    """
    if magma is not None and not Path(magma).is_file():
        raise EngineError(f"there is no MAGMA library {magma}; give the path of libmagma.so")
    try:
        import juliapkg
    except ImportError:
        raise EngineError(
            "pnde setup julia needs juliapkg: run pip install 'pnde[julia]'"
        ) from None
    optional = [_CUDA] * gpu + [_POWERDYNAMICS] * powerdynamics
    try:
        juliapkg.require_julia(_VERSIONS)
        juliapkg.add("PNDE", UUID, dev=True, path=str(julia_package()))
        for name, uuid, version in optional:
            juliapkg.add(name, uuid, version=version)
        juliapkg.resolve()
        found = Environment(Path(juliapkg.executable()), Path(juliapkg.project()), magma)
    except Exception as error:
        first = str(error).strip().partition("\n")[0][:200]
        raise EngineError(
            f"the Julia packages could not be installed: {first}", traceback=str(error)
        ) from error
    _load_once(found, ["PNDE", "PythonCall", *(name for name, *_ in optional)])
    logger.info("the julia engine is set up (%s)", record(found))


def _load_once(environment: Environment, packages: list[str]) -> None:
    command = [
        str(environment.executable),
        f"--project={environment.project}",
        "--startup-file=no",
        "-e",
        f"using {', '.join(packages)}",
    ]
    outcome = subprocess.run(command, capture_output=True, text=True)
    if outcome.returncode:
        first = next((line for line in outcome.stderr.splitlines() if line.startswith("ERROR")), "")
        raise EngineError(
            f"the Julia package PNDE does not load: {first[:200]}", traceback=outcome.stderr
        )
