"""What a run reports of itself, for `report.json`."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

import pnde
from pnde.engines import Engine
from pnde.models import Model
from pnde.training import Progress


def report_of(engine: Engine, model: Model, progress: Progress, complete: bool) -> dict[str, Any]:
    """Versions, engine, timings and errors of a training."""
    return {
        "pnde": pnde.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "engine": engine.name,
        "engine_versions": engine.status(),
        "method": model.config.method,
        "seed": model.config.seed,
        "complete": complete,
        "train_seconds": sum(row.seconds for row in progress.history),
        "best_loss": progress.best_loss,
        "best_epoch": progress.best_epoch,
    }
