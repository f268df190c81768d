"""Runs: training a model, keeping it in a folder, and using it."""

from pnde.runs.ensemble import Ensemble
from pnde.runs.folder import has_weights
from pnde.runs.lifecycle import load, resume, train
from pnde.runs.record import is_run
from pnde.runs.run import Run

__all__ = ["Ensemble", "Run", "has_weights", "is_run", "load", "resume", "train"]
