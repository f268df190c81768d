"""Forecasts of more trajectories than memory holds: blocks of them, written as they are done, and gone on with."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pnde.data import Store, open_data, store_kind
from pnde.errors import DataError, RunError
from pnde.files import make_folder, read_json, write_json
from pnde.forecast import block_size
from pnde.runs.bar import counting
from pnde.runs.lock import locked

if TYPE_CHECKING:
    from pnde.runs.run import Run

_PROGRESS = "progress.json"
# No more trajectories in a block, so that the bar moves, and a kill costs little.
_MOST = 2**14


def stream(
    run: Run,
    truth: xr.Dataset,
    path: Path,
    t_end: float | None,
    dt: float | None,
    inputs: Any,
    parameters: Any,
    jumps: Sequence[float],
    show: bool,
) -> Path:
    """Write the forecasts of all trajectories of `truth`; see `pnde.Run.rollout_to`."""
    kind = store_kind(path)
    if path.exists():
        raise RunError(f"{path} is there already: remove it, or name another file")
    if isinstance(inputs, str | Path):
        inputs = open_data(inputs)
    _check_alike(run, truth, inputs, jumps)
    count = truth.sizes["trajectory"]

    def forecast(rows: np.ndarray) -> xr.Dataset:
        own = {"inputs": _of_rows(inputs, rows, count), "parameters": None}
        own["parameters"] = _of_rows(parameters, rows, count)
        return run._forecast(truth.isel(trajectory=rows), t_end, dt, **own)

    samples = forecast(np.array([0])).sizes["time"]
    size = min(count, _MOST, block_size(samples, truth.sizes["state"]))
    identity = _identity(run, truth, inputs, parameters, [str(x) for x in (t_end, dt, size, kind)])
    work = path.with_name(f"{path.name}.part")
    make_folder(work)
    with locked(work):
        done, failed = _done(work, path, identity)
        store = Store(work / f"data{kind}", kind)
        with counting(path.name, done, count, "trajectories", show) as tell:
            for first in range(done, count, size):
                # The last block is filled up: one program serves all.
                block = forecast(np.arange(first, first + size) % count)
                block = block.isel(trajectory=slice(0, count - first))
                del block.attrs["rollout_seconds"]
                if first == 0:
                    _note(work, identity, 0, 0)
                    store.begin(block, truth["trajectory"].values, size)
                store.fill(block, first)
                failed += int(np.count_nonzero(block["status"].values))
                done = first + block.sizes["trajectory"]
                _note(work, identity, done, failed)
                tell(done, f"{failed} failed" if failed else "")
        store.end()
        store.path.replace(path)
        (work / _PROGRESS).unlink()
    with contextlib.suppress(OSError):  # it holds something of the user's
        work.rmdir()
    return path


def _check_alike(run: Run, truth: xr.Dataset, inputs: Any, jumps: Sequence[float]) -> None:
    """Whether all blocks have the same times and variables."""
    remedy = "forecast them by Run.rollout, a part at a time"
    if "t" in truth or not np.isfinite(truth["u"].isel(time=0)).all():
        raise DataError(
            f"forecasts are streamed for trajectories that start together, and these do not: {remedy}"
        )
    source = truth if inputs is None else inputs
    if run.model.inputs and (len(jumps) or (isinstance(source, xr.Dataset) and "jumps" in source)):
        raise DataError(f"forecasts with inputs that jump are not streamed: {remedy}")


def _of_rows(given: Any, rows: np.ndarray, count: int) -> Any:
    """What some of the trajectories have of inputs or parameters, which may be the same for all."""
    if isinstance(given, xr.Dataset):
        return given if given.sizes["trajectory"] == 1 else given.isel(trajectory=rows)
    if isinstance(given, Mapping):
        return {k: np.asarray(v)[rows] if np.shape(v) == (count,) else v for k, v in given.items()}
    if isinstance(given, np.ndarray | list | tuple):
        array = np.asarray(given)
        return array[rows] if array.ndim > 1 and len(array) == count else array
    return given


def _identity(
    run: Run, truth: xr.Dataset, inputs: Any, parameters: Any, settings: list[str]
) -> str:
    """A number that tells one forecast from another."""
    digest = hashlib.sha256(run.model.config.rollout.model_dump_json().encode())
    for text in settings:
        digest.update(f"{text};".encode())
    given = [("u", truth["u"].values), ("time", truth["time"].values), *run.weights.items()]
    for what in (truth, inputs, parameters):
        if isinstance(what, xr.Dataset):
            given += [(k, what[k].values) for k in ("w", "parameters") if k in what]
        elif isinstance(what, Mapping):
            given += [(str(k), np.asarray(v)) for k, v in what.items()]
        elif callable(what):
            given.append((getattr(what, "__name__", ""), np.zeros(0)))
        elif what is not None:
            given.append(("array", np.asarray(what)))
    for name, array in given:
        digest.update(f"{name} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _done(work: Path, path: Path, identity: str) -> tuple[int, int]:
    """How many trajectories a forecast that was stopped has, and how many of these failed."""
    if not (work / _PROGRESS).exists():
        if any(work.glob("data.*")):
            raise RunError(f"{work} holds no forecast of pnde: remove it, or name another file")
        return 0, 0
    noted = read_json(work / _PROGRESS)
    if noted.get("identity") != identity:
        raise RunError(
            f"{work} has the beginning of another forecast (other weights, states, times or settings): remove it, or "
            f"name another file than {path.name}"
        )
    return int(noted["done"]), int(noted["failed"])


def _note(work: Path, identity: str, done: int, failed: int) -> None:
    write_json(work / _PROGRESS, {"identity": identity, "done": done, "failed": failed})
