"""Engines: what integrates and trains. The front reaches one through `get` alone, and speaks to it by `Engine`."""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

from pnde.engines.processes import join, leads, meet, together
from pnde.engines.protocol import (
    Batch,
    Engine,
    Mechanical,
    MembersTraining,
    Step,
    Training,
    Trajectories,
)
from pnde.engines.status import Status
from pnde.errors import EngineError, nearest

__all__ = [
    "NAMES",
    "Batch",
    "Engine",
    "Mechanical",
    "MembersTraining",
    "Status",
    "Step",
    "Training",
    "Trajectories",
    "get",
    "join",
    "leads",
    "meet",
    "set_up",
    "together",
]

logger = logging.getLogger("pnde")

NAMES = ("jax", "julia")


def get(name: str = "auto") -> Engine:
    """The engine of that name.

    `"auto"` takes the environment variable `PNDE_ENGINE` if it is set, then julia if it has been set up
    (`pnde setup julia`), then jax, and logs which.

    **Raises:** `pnde.errors.EngineError` if there is none of that name, or it cannot run here.
    """
    if name == "auto":
        name = os.environ.get("PNDE_ENGINE") or ("julia" if _julia_is_set_up() else "jax")
        logger.info("engine: %s", name)
    if name not in NAMES:
        raise EngineError(
            f"there is no engine {name!r}{nearest(name, NAMES)}; there are: {', '.join(NAMES)}"
        )
    return importlib.import_module(f"pnde.engines.{name}").load()


def set_up(name: str, **options: Any) -> None:
    """Install what an engine needs beside this package, which may take a network and minutes.

    `options` are those of the engine's own `setup`.

    **Raises:** `pnde.errors.EngineError` saying what failed.
    """
    importlib.import_module(f"pnde.engines.{name}.setup").setup(**options)


def _julia_is_set_up() -> bool:
    return importlib.import_module("pnde.engines.julia.environment").is_set_up()
