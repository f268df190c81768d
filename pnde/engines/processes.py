"""The processes that train one model together, each with devices of its own.

All of them do the same and see the same files; the first of them is the one that writes.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def join(
    coordinator: str | None = None, processes: int | None = None, process: int | None = None
) -> None:
    """Make this process one of several; before the first use of the jax engine.

    **Arguments:**

    - `coordinator`: address and port of the first process, `"HOST:PORT"`.
    - `processes`, `process`: how many there are, and which of them this one is, from 0.

    All three are found by JAX itself in a cluster that it knows, such as SLURM's or Kubernetes'.

    **Raises:** `pnde.errors.ConfigError` if there is no such cluster, or the address is none.
    """
    _of_jax().join(coordinator, processes, process)


def together() -> bool:
    """Whether this process is one of several."""
    return "jax" in sys.modules and _of_jax().count() > 1


def leads() -> bool:
    """Whether this process is the one that writes, as one that is alone does."""
    return "jax" not in sys.modules or _of_jax().leads()


def meet() -> None:
    """Wait until all processes are here.

    **Raises:** `pnde.errors.EngineError` if one of them has ended.
    """
    if "jax" in sys.modules:
        _of_jax().meet()


def _of_jax() -> Any:
    return importlib.import_module("pnde.engines.jax.processes")
