"""Runs: training a model, keeping it in a folder, and using it."""

from pnde.runs.folder import has_weights
from pnde.runs.lifecycle import load, resume, train
from pnde.runs.record import is_run
from pnde.runs.run import Run

__all__ = ["Run", "has_weights", "is_run", "load", "resume", "train"]
