"""Making runs: `train`, `load`, `resume`."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr

from pnde.config import Config
from pnde.data import (
    open_data,
    split_data,
)
from pnde.engines import Engine, get, leads, meet, together
from pnde.errors import DataError, RunError
from pnde.files import read_json
from pnde.models import (
    Mechanics,
    Model,
    check_weights,
)
from pnde.runs import folder as disk
from pnde.runs.ensemble import Ensemble
from pnde.runs.lock import is_left_behind, locked
from pnde.runs.members import under_way
from pnde.runs.new_folder import new_folder
from pnde.runs.new_model import new_model
from pnde.runs.passed_again import again, bounds_again, law_again
from pnde.runs.record import (
    Record,
    Sources,
    array,
    find_data,
)
from pnde.runs.run import Run, rows_of
from pnde.systems import System, names
from pnde.training import (
    batches_of,
)

logger = logging.getLogger("pnde")


def train(
    data: Any,
    /,
    constraint: Any = None,
    *,
    method: Literal["nde", "snde", "pnde"] | None = None,
    order: Literal[1, 2] | None = None,
    metric: Any = None,
    physics: Callable[..., Any] | Mechanics | None = None,
    inputs: Sequence[str] | str = (),
    parameters: Sequence[str] | str = (),
    interpolation: str | Mapping[str, str] | None = None,
    jumps: Sequence[float] | Mapping[Any, Sequence[float]] | None = None,
    config: Config | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Learn a vector field from trajectories, with a law that it keeps.

    **Arguments:**

    - `data`: an `xarray.Dataset`, or whatever `pnde.data.open_data` opens. Without splits, trajectories are split in
        the order of the file as `config.data` says.
    - `constraint`: a plain function of the state, which is then conserved; a `pnde.Constraint`; or `"rods"`, a chain
        of rods as long as the data show. Data simulated from a built-in system bring their own.
    - `method`: `"nde"`, `"snde"` (stabilised) or `"pnde"` (projected); as in `config`, which says `"pnde"`, if absent.
    - `order`: 2 if the states are (q, q̇) and the network gives accelerations.
    - `metric`: M of the inner product, weights `(n,)`, a matrix `(n, n)`, or a function of the state giving either; as
        `projection.metric` says, if absent.
    - `physics`: a known part of the velocity, a function of the state and of any of t, w and p by these names, added to
        the network's; a `pnde.Mechanics` if `network.form` is `"mechanical"`.
    - `inputs`, `parameters`: names of the columns of the data that drive the states, and of those that are the same
        within a trajectory; the network sees both, laws and physics may take them.
    - `interpolation`, `jumps`: how inputs go between samples, and when they jump; see `pnde.data.open_data`.
    - `config`: base configuration; `settings` change it, such as `epochs=50` or `network={"width": 128}`.
    - `folder`: run folder, with checkpoints from which `pnde.resume` goes on; nothing is written if absent.
    - `progress`: show a progress bar.

    **Returns:** the `Run`, with the best weights.

    **Raises:** `pnde.errors.DataError`, `ConstraintError` or `ConfigError` if the input is not usable, before anything
    is written; `SolveError` if the loss becomes infinite or NaN, with the last checkpoint kept; `RunError` if the
    folder is in use or cannot be written.
    """
    if method is not None:
        settings["method"] = method
    config = Config.make(config, **settings)
    roles: dict[str, Any] = {
        "inputs": inputs,
        "parameters": parameters,
        "interpolation": interpolation,
        "jumps": jumps,
    }
    _check_no_system(data)
    ds, source = open_data(data, **roles), None
    # A pattern stands for several files; where columns have roles, the run keeps a copy that knows them.
    if not any(roles.values()) and isinstance(data, str | Path) and Path(data).is_file():
        source = Path(data)
    if "split" not in ds.coords:
        ds = _split(ds, config)
    engine = get(config.engine)
    model, batches = new_model(engine, ds, constraint, config, order, metric, physics)
    training = under_way(engine, model, ds, batches, Sources.of(constraint), progress and leads())
    begun = training.begin()
    if folder is None or not leads():
        run = training.run(begun, None)
    else:
        path = Path(folder)
        with new_folder(path):
            run = training.run(begun, path, source)
    meet()  # the folder is whole for all of them
    return run


def _check_no_system(data: Any) -> None:
    name = data.name if isinstance(data, System) else data
    if isinstance(data, System) or (isinstance(data, str) and data in names()):
        raise DataError(
            f"{name!r} is a system, which first gives data: pnde.train(pnde.systems.get({name!r}).simulate()); on the "
            f"command line, pnde train {name} does both"
        )


def load(
    folder: str | Path,
    constraint: Any = None,
    physics: Any = None,
    metric: Any = None,
    engine: Literal["auto", "jax", "julia"] | None = None,
) -> Run:
    """The run in a folder; of a training that was stopped, the best weights so far.

    **Arguments:**

    - `constraint`, `physics`, `metric`, as given to `train`: functions are not stored, so a run with a law, physics or
        metric that is a function of the user's needs them again. A built-in system's law is found by itself.
    - `engine`: the engine that rolls it out, whichever trained it; the latter if absent.

    **Raises:** `pnde.errors.RunError` naming the file that is missing or damaged, what has to be passed again, or what
    was passed and is another.
    """
    path = Path(folder)
    record, model, ds, running = _read(path, constraint, physics, metric, engine)
    if not record.complete:
        training = under_way(running, model, ds, None, record.sources, False)
        done = training.read(path)
        if done is None:
            raise RunError(
                f"the training in {path} was stopped before its first checkpoint; go on with it by pnde resume {path}"
            )
        logger.warning("%s: training is not complete; pnde resume goes on with it", path)
        return training.so_far(done)
    if model.config.members > 1:
        members = [
            load(disk.member_folder(path, k), constraint, physics, metric, engine)
            for k in range(model.config.members)
        ]
        return Ensemble(model, members)
    for name in (disk.WEIGHTS, disk.HISTORY, disk.REPORT):
        record.check_file(path, name)
    weights = disk.read_arrays(path / disk.WEIGHTS)
    check_weights(model, weights)
    history, report = disk.read_history(path), read_json(path / disk.REPORT)
    return Run(model, weights, history, report, ds, running, record.sources)


def resume(
    folder: str | Path,
    constraint: Any = None,
    physics: Any = None,
    metric: Any = None,
    engine: Literal["auto", "jax", "julia"] | None = None,
    progress: bool = True,
) -> Run:
    """Go on with a training that was stopped; it ends with the weights it would have had without the stop.

    The arguments are those of `load`, but for the engine, which is that of the beginning. A complete run is loaded.

    **Raises:** `pnde.errors.RunError` naming what is missing, or the engine that the run began with. Nothing is removed
    then.
    """
    path = Path(folder)
    record = Record.read(path)
    if record.complete:
        if leads() and is_left_behind(path):  # killed as it ended
            with locked(path, disk.INNER):
                pass
        return load(path, constraint, physics, metric, engine)
    with locked(path, disk.INNER) if leads() else contextlib.nullcontext():
        record, model, ds, running = _read(path, constraint, physics, metric, None)
        if engine not in (None, "auto", running.name):
            raise RunError(
                f"the training in {path} began with the engine {running.name!r} and goes on with it; leave engine= out"
            )
        if together():  # as a new training of several processes has it
            model = replace(model, config=Config.make(model.config, devices="all"))
        running.check(model.config)
        batches = batches_of(running, model, ds)
        training = under_way(running, model, ds, batches, record.sources, progress and leads())
        done = training.read(path)
        if done is None:  # stopped before the first one
            done = training.begin()
        if leads():
            run = training.go_on(done, path, find_data(path, record.data))
        else:
            run = training.run(done, None)
    meet()
    return run


def _read(
    path: Path, constraint: Any, physics: Any, metric: Any, engine: str | None
) -> tuple[Record, Model, xr.Dataset, Engine]:
    """What the folder of a run says, with the functions that were passed again."""
    record = Record.read(path)
    record.check_file(path, disk.CONFIG)
    config = disk.read_config(path)
    ds = open_data(find_data(path, record.data))
    if "split" not in ds.coords:
        ds = _split(ds, config)
    running = get(engine or record.engine.name)
    law = law_again(path, record.law, ds, constraint, config.tolerance)
    bounds = bounds_again(path, record.bounds, running, ds, constraint)
    model = Model(
        states=tuple(record.states),
        config=config,
        mean=np.array(record.mean),
        std=np.array(record.std),
        speed=array(record.speed),
        constraint=law,
        order=record.order,
        features=record.features,
        metric=again(path, "metric", record.metric, metric),
        physics=again(path, "physics", record.physics, physics),
        inputs=tuple(record.inputs),
        parameters=tuple(record.parameters),
        condition_mean=array(record.condition_mean),
        condition_std=array(record.condition_std),
        bounds=bounds,
    )
    names = [str(name) for name in ds["state"].values]
    if names != record.states:
        raise RunError(
            f"the run in {path} knows the states {', '.join(record.states)[:80]}, its data have {', '.join(names)[:80]}"
        )
    if record.law is not None:
        rows = list(rows_of(running, model, ds))
        if rows != record.law.rows:
            raise RunError(
                f"the run in {path} keeps a law of {len(record.law.rows)} row(s) ({', '.join(record.law.rows)[:60]}), "
                f"the one that was passed has {len(rows)} ({', '.join(rows)[:60]}); pass the law of the training"
            )
    return record, model, ds, running


def _split(ds: xr.Dataset, config: Config) -> xr.Dataset:
    shares = config.data.train, config.data.valid, config.data.test
    if all(share >= 1 and float(share).is_integer() for share in shares):
        return split_data(ds, *(int(share) for share in shares))
    return split_data(ds, *shares)
