"""The run folder: what is on disk, written so that a kill at any moment loses nothing that was there.

config.toml           every setting
model.json            states, law, normaliser: what the weights belong to
data.nc               the data set, unless it was read from a file
weights.safetensors   best weights so far
history.csv           a row for each epoch
checkpoint/           state.safetensors: all that the next epoch depends on
report.json           versions, engine, timings, errors
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pnde.config import Config
from pnde.engines import TrainingState
from pnde.errors import ConfigError, RunError
from pnde.models import Weights

CHECKPOINT = Path("checkpoint") / "state.safetensors"


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file in one step: readers see the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_bytes(path, (json.dumps(content, indent=2) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged(path, error) from None


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_bytes(path, save(contiguous))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(path.read_bytes())
    except (OSError, SafetensorError) as error:
        raise damaged(path, error) from None


def write_state(folder: Path, state: TrainingState) -> None:
    """Checkpoint: the training state, and the best weights for whoever loads the unfinished run."""
    groups = {"weights": state.weights, "optimiser": state.optimiser, "best": state.best_weights}
    arrays = {f"{g}.{name}": array for g, group in groups.items() for name, array in group.items()}
    arrays["epoch"] = np.array(state.epoch)
    arrays["best_loss"] = np.array(state.best_loss)
    arrays["recent_steps"] = state.recent_steps
    write_arrays(folder / CHECKPOINT, arrays)
    write_arrays(folder / "weights.safetensors", state.best_weights)


def read_state(folder: Path) -> TrainingState:
    path = folder / CHECKPOINT
    arrays = read_arrays(path)

    def group(prefix: str) -> dict[str, np.ndarray]:
        start = prefix + "."
        return {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}

    try:
        return TrainingState(
            epoch=int(arrays["epoch"]),
            weights=group("weights"),
            optimiser=group("optimiser"),
            best_weights=group("best"),
            best_loss=float(arrays["best_loss"]),
            recent_steps=arrays["recent_steps"],
        )
    except KeyError as error:
        raise damaged(path, error) from None


def read_weights(folder: Path, sizes: tuple[int, ...]) -> Weights:
    """The best weights, once they are seen to fit the layer sizes."""
    path = folder / "weights.safetensors"
    weights = read_arrays(path)
    for i, shape in enumerate(itertools.pairwise(sizes)):
        found = weights.get(f"layers.{i}.weight")
        if found is None or found.shape != shape:
            is_there = "missing" if found is None else f"of shape {found.shape}"
            raise RunError(
                f"{path} does not fit the run's config.toml: layers.{i}.weight is {is_there}, "
                f"expected {shape}"
            )
    return weights


def read_config(folder: Path) -> Config:
    if not folder.is_dir():
        raise RunError(f"there is no run folder {folder}")
    if not (folder / "config.toml").exists():
        raise RunError(
            f"{folder} is not a run folder: it has no config.toml; name a folder that pnde train wrote"
        )
    try:
        return Config.read(folder / "config.toml")
    except ConfigError as error:
        raise RunError(f"the run folder is damaged: {error}") from None


def write_history(folder: Path, history: pd.DataFrame) -> None:
    write_bytes(folder / "history.csv", history.to_csv(index=False).encode())


def read_history(folder: Path) -> pd.DataFrame:
    path = folder / "history.csv"
    try:
        # Python reads numbers exactly, so that a resumed run writes the same history as one never stopped.
        text = pd.read_csv(path, dtype=str)
        return text.map(float).astype({"epoch": int})
    except (OSError, ValueError, KeyError) as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> RunError:
    what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error})"
    return RunError(
        f"the run folder is damaged: {path} {what}; restore it from a backup, or train again"
    )
