"""Projected neural differential equations: learn dynamics from data while known laws hold to machine precision.

    import pnde

    data = pnde.systems.quartic().simulate(trajectories=280, seed=1)
    run = pnde.train(data, method="pnde", epochs=50)
    forecast = run.rollout(t_end=100)
    pnde.plot.errors({"PNDE": forecast})

Names are loaded when they are first used: `import pnde` itself imports neither JAX nor Julia.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_NAMES = {
    "Bounded": "pnde.laws",
    "Config": "pnde.config",
    "Conserved": "pnde.laws",
    "Constraint": "pnde.laws",
    "Ensemble": "pnde.runs",
    "Holonomic": "pnde.laws",
    "Inequality": "pnde.laws",
    "Linear": "pnde.laws",
    "Mechanics": "pnde.models",
    "Pinned": "pnde.laws",
    "PndeError": "pnde.errors",
    "Run": "pnde.runs",
    "check": "pnde.checking",
    "load": "pnde.runs",
    "open_data": "pnde.data",
    "project": "pnde.checking",
    "resume": "pnde.runs",
    "select": "pnde.data",
    "split_data": "pnde.data",
    "train": "pnde.runs",
}
_MODULES = ("data", "engines", "errors", "grids", "metrics", "plot", "systems")

__all__ = ["__version__", *_NAMES, *_MODULES]

if TYPE_CHECKING:
    from pnde import data as data
    from pnde import engines as engines
    from pnde import errors as errors
    from pnde import grids as grids
    from pnde import metrics as metrics
    from pnde import plot as plot
    from pnde import systems as systems
    from pnde.checking import check as check
    from pnde.checking import project as project
    from pnde.config import Config as Config
    from pnde.data import open_data as open_data
    from pnde.data import select as select
    from pnde.data import split_data as split_data
    from pnde.errors import PndeError as PndeError
    from pnde.laws import Bounded as Bounded
    from pnde.laws import Conserved as Conserved
    from pnde.laws import Constraint as Constraint
    from pnde.laws import Holonomic as Holonomic
    from pnde.laws import Inequality as Inequality
    from pnde.laws import Linear as Linear
    from pnde.laws import Pinned as Pinned
    from pnde.models import Mechanics as Mechanics
    from pnde.runs import Ensemble as Ensemble
    from pnde.runs import Run as Run
    from pnde.runs import load as load
    from pnde.runs import resume as resume
    from pnde.runs import train as train


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"pnde.{name}")
    else:
        raise AttributeError(f"module 'pnde' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
