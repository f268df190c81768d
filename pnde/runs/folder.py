"""The run folder: what is on disk.

run.json              the record: engine, law, data, checksums; see `pnde.runs.record`
config.toml           every setting
data.nc               the data set, unless it was read from a file
weights.safetensors   the best weights, once the run is complete
history.csv           a row for each epoch
checkpoint/           state.safetensors: all that the next epoch and the end depend on
report.json           versions, engine, timings, errors
member-1/ …           run folders of the members, if it is an ensemble, which then has no weights of its own
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pnde.config import Config
from pnde.errors import ConfigError, RunError
from pnde.files import (
    cannot_write,
    checksum,
    damaged,
    read_bytes,
    write_bytes,
    write_json,
)
from pnde.models import Weights
from pnde.runs import record
from pnde.training import EpochRow, Progress

CONFIG = "config.toml"
DATA = "data.nc"
WEIGHTS = "weights.safetensors"
HISTORY = "history.csv"
REPORT = "report.json"
INNER = "checkpoint"
CHECKPOINT = f"{INNER}/state.safetensors"

RECORD = record.NAME

FILES = (CONFIG, DATA, WEIGHTS, HISTORY, REPORT, CHECKPOINT, RECORD)

# No configuration is as large.
_LARGEST_CONFIG = 2**20


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays, with a checksum of their values in the header.

    **Raises:** `pnde.errors.RunError` if the disk does not take them.
    """
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_bytes(path, save(contiguous, {"sha256": _checksum_of(contiguous)}))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file that `write_arrays` wrote.

    **Raises:** `pnde.errors.RunError` if it is missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = read_bytes(path)
    try:
        arrays = load(content)
        # The header is JSON behind its length, which safetensors has checked by now.
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        given = header.get("__metadata__", {}).get("sha256")
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, error) from None
    if given != _checksum_of(arrays):
        raise damaged(path, ValueError("its checksum is another"))
    return arrays


def write_progress(folder: Path, progress: Progress) -> None:
    """The checkpoint, and the history so far for whoever looks at it."""
    _write_checkpoint(folder, _arrays_of(progress))
    write_history(folder, progress)


def _write_checkpoint(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    inner = folder / INNER
    if inner.is_symlink():
        raise RunError(f"{inner} is a link: a run keeps to its own folder")
    try:
        inner.mkdir(exist_ok=True)  # a folder that was removed meanwhile is not made anew
    except OSError as error:
        raise cannot_write(inner, error) from None
    write_arrays(folder / CHECKPOINT, arrays)


def _arrays_of(progress: Progress) -> dict[str, np.ndarray]:
    groups = {
        "weights": progress.weights,
        "best": progress.best_weights,
        "engine": progress.state or {},
    }
    arrays = {f"{g}.{name}": array for g, group in groups.items() for name, array in group.items()}
    return arrays | {"history": np.array(progress.history, dtype=float)}


def write_members(folder: Path, progresses: Sequence[Progress]) -> None:
    """The checkpoint of members that are trained together, in one file: all or none has come so far."""
    arrays = {
        f"{k}.{name}": array
        for k, progress in enumerate(progresses)
        for name, array in _arrays_of(progress).items()
    }
    _write_checkpoint(folder, arrays)


def read_progress(folder: Path) -> Progress | None:
    """How far a training has come; `None` if it was stopped before its first checkpoint.

    **Raises:** `pnde.errors.RunError` if the checkpoint is damaged.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    return _progress_of(path, read_arrays(path))


def read_members(folder: Path, members: int) -> tuple[Progress, ...] | None:
    """How far members came; `None` if they were stopped before their first checkpoint.

    **Raises:** `pnde.errors.RunError` if the checkpoint is damaged.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    arrays = read_arrays(path)
    return tuple(
        _progress_of(
            path, {n.removeprefix(f"{k}."): a for n, a in arrays.items() if n.startswith(f"{k}.")}
        )
        for k in range(members)
    )


def _progress_of(path: Path, arrays: Mapping[str, np.ndarray]) -> Progress:
    def group(prefix: str) -> dict[str, np.ndarray]:
        start = prefix + "."
        return {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}

    history = arrays.get("history")
    if history is None or history.ndim != 2 or history.shape[1] != len(EpochRow._fields):
        raise damaged(path, ValueError("it has no history"))
    rows = tuple(EpochRow(*row) for row in history.tolist())
    return Progress(group("weights"), group("best"), rows, group("engine"))


def write_weights(folder: Path, weights: Weights) -> None:
    """The best weights of a complete run."""
    write_arrays(folder / WEIGHTS, weights)


def write_config(folder: Path, config: Config) -> None:
    """Every setting."""
    write_bytes(folder / CONFIG, config.toml().encode())


def read_config(folder: Path) -> Config:
    """The settings of a run.

    **Raises:** `pnde.errors.RunError` if they are missing or damaged.
    """
    path = folder / CONFIG
    try:
        return Config.parse(read_bytes(path, _LARGEST_CONFIG).decode(), str(path))
    except (ConfigError, ValueError) as error:
        raise damaged(path, error) from None


def write_history(folder: Path, progress: Progress) -> None:
    """A row for each epoch."""
    frame = frame_of(progress.history)
    write_bytes(folder / HISTORY, frame.to_csv(index=False).encode())


def frame_of(history: tuple[EpochRow, ...]) -> pd.DataFrame:
    """The history as a table."""
    return pd.DataFrame(history, columns=list(EpochRow._fields)).astype({"epoch": int})


def write_report(folder: Path, report: Mapping[str, object]) -> None:
    """Versions, engine, timings, errors."""
    write_json(folder / REPORT, report)


def read_history(folder: Path) -> tuple[EpochRow, ...]:
    """The history of a complete run, whose file has been seen to be the right one.

    **Raises:** `pnde.errors.RunError` if it cannot be read.
    """
    path = folder / HISTORY
    try:
        # As text first: Python reads numbers exactly.
        table = pd.read_csv(path, dtype=str)[list(EpochRow._fields)].map(float)
        return tuple(EpochRow(*row) for row in table.to_numpy().tolist())
    except (OSError, ValueError, KeyError) as error:
        raise damaged(path, error) from None


def checksums(folder: Path, *names: str) -> dict[str, str]:
    """The checksums of files of the folder."""
    return {name: checksum(folder / name) for name in names}


def occupied(folder: Path) -> str | None:
    """A file of a run that the folder holds, or `None`."""
    there = next((name for name in FILES if (folder / name).exists()), None)
    return there or next((path.name for path in _members(folder)), None)


def _members(folder: Path) -> list[Path]:
    """The folders of members that hold a file of a run."""
    return [
        path
        for path in sorted(folder.glob("member-*"))
        if not path.is_symlink() and any((path / name).exists() for name in FILES)
    ]


def has_weights(folder: Path) -> bool:
    """Whether a run folder holds weights that can be loaded."""
    whole = (folder / WEIGHTS).exists() or member_folder(folder, 0).exists()
    return whole or (folder / CHECKPOINT).exists()


def member_folder(folder: Path, member: int) -> Path:
    """The run folder of a member of an ensemble, counted from 0."""
    return folder / f"member-{member + 1}"


def clear(folder: Path, made: list[Path]) -> None:
    """Take away what a training that came to nothing has written, and the folders `made` for it; nothing else."""
    for name in FILES:
        path = folder / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from None
    for path in _members(folder):
        clear(path, [path])
    for path in [folder / INNER, *made[::-1]]:
        try:
            path.rmdir()
        except OSError:  # it holds something of the user's, or was not there
            continue


def _checksum_of(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
