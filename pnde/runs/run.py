"""Training a model and using it: `train`, `Run`, `load`, `resume`."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

import pnde
from pnde.runs import folder as disk
from pnde.config import Config
from pnde.data import (
    Normaliser,
    make_dataset,
    open_data,
    save_data,
    segments,
    select,
    split_data,
    time_label,
    time_matrix,
)
from pnde.engines import Batch, Engine, Status, TrainingState, get
from pnde.errors import ConfigError, DataError, RunError, SolveError
from pnde.laws.targets import evaluate_law, scale_of, targets
from pnde.metrics import constraint_error, state_error, table
from pnde.models import Model, Weights, initial_weights
from pnde.systems import law_for, system_of

logger = logging.getLogger("pnde")


class Run:
    """A trained model.

    - `model`: what it is made of; `weights`: the best of its training, by validation loss.
    - `history`: `DataFrame` with a row for each epoch.
    - `report`: versions, engine, timings, errors.
    - `data`: the data set it was trained on, with its splits.
    """

    def __init__(
        self,
        model: Model,
        weights: Weights,
        history: pd.DataFrame,
        report: dict[str, Any],
        data: xr.Dataset,
        engine: Engine,
    ):
        self.model = model
        self.weights = weights
        self.history = history
        self.report = report
        self.data = data
        self._engine = engine

    @property
    def label(self) -> str:
        """What tables and figures call this model, such as `PNDE` or `SNDE γ=10`."""
        return model_label(self.model)

    def rollout(
        self,
        initial: Any = None,
        t_end: float | None = None,
        dt: float | None = None,
    ) -> xr.Dataset:
        """Forecast trajectories.

        **Arguments:**

        - `initial`: a data set or file whose trajectories' first samples are the initial states, or an array `(B, n)`,
            physical units; the test split of the run's data if absent.
        - `t_end`, `dt`: end and sampling of the forecast, in the data's time unit. The samples of the data set if both
            are absent; else up to `t_end` (the data's end by default) every `dt` (the data's smallest step by default).

        **Returns:** a data set in the standard layout with `constraint_error`, `status`, `steps`, `evaluations`, and
        `state_error` where `initial` has the truth.

        **Raises:** `pnde.errors.ConstraintError` if an initial state is off the manifold;
        `pnde.errors.SolveError` if a trajectory fails and `on_failure` is `"raise"`.
        """
        truth = self._initial(initial)
        u0, times = _first_samples(truth)
        if t_end is not None or dt is not None:
            times = self._grid(times, t_end, dt)
        law, config = self.model.constraint, self.model.config
        scale = scale_of(self._engine, law, self.data)
        labels = truth["trajectory"].values
        c = targets(self._engine, law, u0, times[:, 0], scale, config.tolerance, labels)
        began = time.perf_counter()
        # Trajectories of unequal length are integrated to the end of the longest and cut afterwards.
        solution = self._engine.rollout(
            self.model, self.weights, u0, _filled(times), c, config.rollout
        )
        seconds = time.perf_counter() - began
        if config.on_failure == "raise" and solution.status.any():
            raise SolveError(_failure(solution.status, solution.u, times, labels))
        u = np.where(np.isfinite(times)[..., None], solution.u, np.nan)
        forecast = make_dataset(
            u,
            times[0] if (times == times[0]).all() else times,
            self.model.states,
            units=truth["units"].values.tolist() if "units" in truth.coords else None,
            attrs={
                "method": config.method,
                "gamma": config.gamma if config.method == "snde" else None,
                "train_seconds": self.report.get("train_seconds"),
                "rollout_seconds": seconds,
                "pnde_version": pnde.__version__,
            },
            trajectory=labels,
            time_units=time_label(truth),
        )
        if law is not None:
            h = np.full((*u.shape[:-1], c.shape[1]), np.nan)
            inside = np.isfinite(u).all(axis=-1)
            h[inside] = self._engine.law(law, u[inside], np.nan_to_num(times)[inside])
            forecast["constraint_error"] = (
                ("trajectory", "time"),
                constraint_error(h - c[:, None]),
            )
        forecast["status"] = ("trajectory", solution.status)
        forecast["steps"] = ("trajectory", solution.steps)
        forecast["evaluations"] = ("trajectory", solution.evaluations)
        if truth.sizes["time"] > 1:
            forecast["state_error"] = state_error(truth, forecast)
        if solution.status.any():
            logger.warning(_failure(solution.status, solution.u, times, labels))
        return forecast

    def evaluate(
        self, data: Any = None, t_end: float | None = None, at: Any = None
    ) -> pd.DataFrame:
        """A table with the state error at the times `at` (the end by default), the mean and maximal constraint error.

        The arguments are those of `rollout`; the run's test split by default.
        """
        return table({self.label: self.rollout(data, t_end)}, at=at)

    def save(self, path: str | Path) -> Path:
        """Write the run folder, its data included.

        **Raises:** `pnde.errors.RunError` if the folder holds another run.
        """
        path = Path(path)
        if (path / "config.toml").exists():
            raise RunError(f"{path} holds a run already; save to another folder or remove it first")
        path.mkdir(parents=True, exist_ok=True)
        save_data(self.data, path / "data.nc")
        _write_model(path, self.model, self.data, None)
        disk.write_arrays(path / "weights.safetensors", self.weights)
        disk.write_history(path, self.history)
        disk.write_json(path / "report.json", self.report)
        self.model.config.write(path / "config.toml")
        return path

    def _initial(self, initial: Any) -> xr.Dataset:
        if initial is None:
            return select(self.data, "test")
        if isinstance(initial, np.ndarray | list | tuple):
            u0 = np.atleast_2d(np.asarray(initial, dtype=float))
            n = len(self.model.states)
            if u0.ndim != 2 or u0.shape[1] != n:
                raise DataError(
                    f"initial states have the shape (B, {n}) for {', '.join(self.model.states)}, not {u0.shape}"
                )
            units = self.data["units"].values if "units" in self.data.coords else None
            return _one_sample(u0, self.model.states, units, time_label(self.data))
        ds = open_data(initial)
        names = [str(name) for name in ds["state"].values]
        if names != list(self.model.states):
            raise DataError(
                f"the model knows the states {', '.join(self.model.states)}, "
                f"the initial states have {', '.join(names)}; select or rename them"
            )
        return ds

    def _grid(self, times: np.ndarray, t_end: float | None, dt: float | None) -> np.ndarray:
        own = time_matrix(self.data)
        dt = dt or float(np.nanmin(np.diff(own, axis=1)))
        t_end = t_end or float(np.nanmax(times if times.shape[1] > 1 else own))
        start = times[:, :1]
        span = t_end - float(start.max())
        if dt <= 0 or span <= 0:
            raise ConfigError(
                f"a rollout to t_end = {t_end:g} with dt = {dt:g} from t = {start.max():g} is empty"
            )
        steps = max(1, round(span / dt))
        # End where it was asked, if dt, which may come from differences of times, misses it by rounding.
        length = span if abs(steps * dt - span) < 1e-6 * dt else steps * dt
        return start + np.linspace(0, length, steps + 1)


def train(
    data: Any,
    constraint: Any = None,
    *,
    method: Literal["nde", "snde", "pnde"] | None = None,
    order: Literal[1, 2] | None = None,
    metric: Any = None,
    physics: Callable[[Any], Any] | None = None,
    config: Config | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
    **settings: Any,
) -> Run:
    """Learn a vector field from trajectories, with a law that it keeps.

    **Arguments:**

    - `data`: an `xarray.Dataset` or a NetCDF, CSV or NPZ file; see `pnde.data.open_data`. Without splits, trajectories
        are split in the order of the file as `config.data` says.
    - `constraint`: a plain function of the state, which is then conserved; a `pnde.Constraint`; or `"rods"`, a chain
        of rods as long as the data show. Data simulated from a built-in system bring their own.
    - `method`: `"nde"`, `"snde"` (stabilised) or `"pnde"` (projected); as in `config`, which says `"pnde"`, if absent.
    - `order`: 2 if the states are (q, q̇) and the network gives accelerations.
    - `metric`: M of the inner product, weights `(n,)`, a matrix `(n, n)`, or a function of the state giving either.
    - `physics`: a known part of the velocity, a function of the state, added to the network's.
    - `config`: base configuration; `settings` change it, such as `epochs=50` or `network={"width": 128}`.
    - `folder`: run folder, with checkpoints from which `pnde.resume` goes on; nothing is written if absent.
    - `progress`: show a progress bar.

    **Returns:** the `Run`, with the best weights.

    **Raises:** `pnde.errors.DataError`, `ConstraintError` or `ConfigError` if the input is not usable, before anything
    is written; `SolveError` if the loss becomes infinite or NaN, with the last checkpoint kept.
    """
    if method is not None:
        settings["method"] = method
    config = Config.make(config, **settings)
    ds, source = open_data(data), data if isinstance(data, str | Path) else None
    if "split" not in ds.coords:
        ds = _split(ds, config)
    system = system_of(ds)
    law = law_for(ds, constraint)
    if law is None and config.method != "nde":
        raise ConfigError(
            f'method = "{config.method}" needs a law: pass constraint=, or use method="nde"'
        )
    normaliser = Normaliser.fit(ds)
    model = Model(
        states=tuple(str(name) for name in ds["state"].values),
        config=config,
        mean=normaliser.mean,
        std=normaliser.std,
        constraint=law,
        order=order or (system.order if system else 1),
        features=system.features if system else "state",
        metric=_checked_metric(metric, ds.sizes["state"]),
        physics=physics,
    )
    if model.order == 2 and len(model.states) % 2:
        raise ConfigError(
            f"order = 2 needs as many velocities as positions, but there are {len(model.states)} states"
        )
    engine = get(config.engine)
    engine.check(config)
    batches = _batches(engine, model, ds)
    state = _start(model, batches[0])
    path = None
    if folder is not None:
        path = Path(folder)
        if (path / "config.toml").exists():
            raise RunError(
                f"{path} holds a run already; go on with it by pnde.resume, or name another folder"
            )
        path.mkdir(parents=True, exist_ok=True)
        if source is None:
            save_data(ds, path / "data.nc")
        _write_model(path, model, ds, source)
        config.write(path / "config.toml")
    return _train(engine, model, ds, batches, state, pd.DataFrame(), 0.0, path, progress)


def load(
    folder: str | Path,
    constraint: Any = None,
    physics: Any = None,
    engine: Literal["auto", "jax", "julia"] | None = None,
) -> Run:
    """The run in a folder.

    **Arguments:**

    - `constraint`, `physics`, as given to `train`: functions are not stored, so a run with a law or physics of the
        user's own needs them again. A built-in system's law is found by itself.
    - `engine`: the engine that rolls it out, whichever trained it; the one of the run's configuration if absent.

    **Raises:** `pnde.errors.RunError` naming the file that is missing or damaged, or what has to be passed.
    """
    path = Path(folder)
    config = disk.read_config(path)
    if engine is not None:
        config = Config.make(config, engine=engine)
    model, ds = _read_model(path, config, constraint, physics)
    weights = disk.read_weights(path, model.layer_sizes)
    report = disk.read_json(path / "report.json")
    if not report.get("complete"):
        logger.warning("%s: training is not complete; pnde resume goes on with it", path)
    return Run(model, weights, disk.read_history(path), report, ds, get(config.engine))


def resume(
    folder: str | Path, constraint: Any = None, physics: Any = None, progress: bool = True
) -> Run:
    """Go on with a training that was stopped; it ends with the weights it would have had without the stop.

    The arguments are those of `load`. A complete run is loaded.

    **Raises:** `pnde.errors.RunError` naming what is missing.
    """
    path = Path(folder)
    config = disk.read_config(path)
    model, ds = _read_model(path, config, constraint, physics)
    state, history = None, pd.DataFrame()
    if (path / disk.CHECKPOINT).exists():
        state = disk.read_state(path)
        if state.epoch >= config.optimiser.epochs:
            return load(path, constraint, physics)
        history = disk.read_history(path)
        history = history[history["epoch"] <= state.epoch]
    engine = get(config.engine)
    batches = _batches(engine, model, ds)
    if state is None:  # stopped before the first one
        state = _start(model, batches[0])
    seconds = float(history["seconds"].sum()) if len(history) else 0.0
    return _train(engine, model, ds, batches, state, history, seconds, path, progress)


def model_label(model: Model) -> str:
    """`NDE`, `SNDE γ=10` or `PNDE`; `angular` before it for angle coordinates."""
    name = model.config.method.upper()
    if model.config.method == "snde":
        name += f" γ={model.config.gamma:g}"
    return f"angular {name}" if model.features == "angles" else name


def _train(
    engine: Engine,
    model: Model,
    ds: xr.Dataset,
    batches: tuple[Batch, Batch],
    state: TrainingState,
    history: pd.DataFrame,
    seconds: float,
    path: Path | None,
    progress: bool,
) -> Run:
    """The loop over epochs: progress, history, checkpoints."""
    from tqdm.auto import tqdm

    epochs, every = model.config.optimiser.epochs, model.config.optimiser.checkpoint_every
    rows = history.to_dict("records")
    report = _report(engine, model)
    if path is not None:
        disk.write_json(path / "report.json", report)
    with tqdm(
        total=epochs,
        initial=state.epoch,
        desc=model_label(model),
        unit="epoch",
        disable=not progress,
    ) as bar:

        def on_step(step: int, count: int, loss: float, solver_steps: float) -> None:
            known = f"valid {valid:.2e}, " if valid is not None else ""
            text = f"loss {loss:.2e}, {known}{solver_steps:.0f} solver steps"
            bar.set_postfix_str(text, refresh=False)
            # The bar counts epochs, so that the time left is that of the whole run.
            bar.update(epoch_before + step / count - bar.n)

        bar.bar_format = (
            "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total} epochs "
            "[{elapsed}<{remaining}{postfix}]"
        )
        epoch_before, valid = state.epoch, rows[-1]["valid_loss"] if rows else None
        for epoch in engine.train(model, *batches, state, on_step):
            epoch_before, valid = epoch.number, epoch.valid_loss
            seconds += epoch.seconds
            rows.append(
                {
                    "epoch": epoch.number,
                    "loss": epoch.loss,
                    "valid_loss": epoch.valid_loss,
                    "best_loss": epoch.best_loss,
                    "learning_rate": epoch.learning_rate,
                    "solver_steps": epoch.steps,
                    "gradient_norm": epoch.gradient_norm,
                    "seconds": epoch.seconds,
                }
            )
            last = epoch.number == epochs
            if last:
                state = epoch.state()
            if path is not None and (last or epoch.number % every == 0):
                # The history first: rows beyond the checkpoint are dropped by resume, missing ones are lost.
                disk.write_history(path, pd.DataFrame(rows))
                disk.write_state(path, epoch.state())
    frame = pd.DataFrame(rows)
    report |= {
        "complete": True,
        "train_seconds": seconds,
        "best_loss": state.best_loss,
        "best_epoch": int(frame["epoch"].iloc[int(frame["valid_loss"].argmin())]),
    }
    if path is not None:
        disk.write_json(path / "report.json", report)
    return Run(model, state.best_weights, frame, report, ds, engine)


def _batches(engine: Engine, model: Model, ds: xr.Dataset) -> tuple[Batch, Batch]:
    """Segments of the train and valid splits with their targets, each of which is checked."""
    law = model.constraint
    scale = scale_of(engine, law, select(ds, "train", "valid"))
    # A law that is not defined on the data is found here, at whichever sample it is.
    u = ds["u"].transpose("trajectory", "time", "state").values
    evaluate_law(engine, law, u, time_matrix(ds), ds["trajectory"].values)
    out = []
    for split in ("train", "valid"):
        part = select(ds, split)
        cut = segments(part, model.config.optimiser.segment)
        labels = part["trajectory"].values[cut.trajectory]
        c = targets(engine, law, cut.u[:, 0], cut.t[:, 0], scale, model.config.tolerance, labels)
        out.append(Batch(cut.u, cut.t, c))
    return out[0], out[1]


def _start(model: Model, train: Batch) -> TrainingState:
    """Where training starts: random weights whose velocities are no larger than those of the data."""
    weights = initial_weights(model, model.config.seed, train.speed())
    return TrainingState(0, weights, {}, weights, float("inf"))


def _split(ds: xr.Dataset, config: Config) -> xr.Dataset:
    shares = config.data.train, config.data.valid, config.data.test
    if all(share >= 1 and float(share).is_integer() for share in shares):
        return split_data(ds, *(int(share) for share in shares))
    return split_data(ds, *shares)


def _checked_metric(metric: Any, n: int) -> Any:
    if metric is None or callable(metric):
        return metric
    M = np.asarray(metric, dtype=float)
    if M.shape == (n,) and (M > 0).all():
        return M
    if M.shape == (n, n) and np.allclose(M, M.T) and np.linalg.eigvalsh(M)[0] > 0:
        return M
    raise ConfigError(
        f"a metric is {n} positive weights, or a symmetric positive definite {n} × {n} matrix; "
        f"this one has shape {M.shape}"
        + ("" if M.shape not in ((n,), (n, n)) else " but is not positive")
    )


def _first_samples(ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Initial states `(B, n)`, and times `(B, T)` from there on, NaN behind a trajectory's end."""
    u, times = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    known = np.isfinite(u).all(axis=-1) & np.isfinite(times)
    if not known.any(axis=1).all():
        label = ds["trajectory"].values[np.argmin(known.any(axis=1))]
        raise DataError(f"trajectory {label} has no complete sample to start from")
    first = np.argmax(known, axis=1)
    if first.any():
        # Samples before the first complete one are left out of the forecast.
        times = np.stack(
            [np.append(row[k:], np.full(k, np.nan)) for row, k in zip(times, first, strict=True)]
        )
        times = times[:, np.isfinite(times).any(axis=0)]
    return u[np.arange(len(u)), first], times


def _filled(times: np.ndarray) -> np.ndarray:
    """Times that go on evenly behind the end of a short trajectory, so that all have as many."""
    out = times.copy()
    for row in out:
        known = int(np.isfinite(row).sum())
        if known < len(row):
            step = row[known - 1] - row[known - 2] if known > 1 else 1.0
            row[known:] = row[known - 1] + step * np.arange(1, len(row) - known + 1)
    return out


def _one_sample(u0: np.ndarray, states: Any, units: Any, time_unit: str) -> xr.Dataset:
    """A data set of initial states alone, at t = 0."""
    ds = xr.Dataset(
        {"u": (("trajectory", "time", "state"), u0[:, None])},
        {"trajectory": np.arange(len(u0)), "time": [0.0], "state": list(states)},
    )
    ds["time"].attrs["units"] = time_unit
    return ds if units is None else ds.assign_coords(units=("state", list(units)))


def _failure(status: np.ndarray, u: np.ndarray, times: np.ndarray, labels: np.ndarray) -> str:
    """One sentence about the trajectories that could not be integrated."""
    failed = np.flatnonzero(status)
    worst = failed[0]
    reached = np.isfinite(u[worst]).all(axis=-1)
    last = times[worst][reached][-1] if reached.any() else times[worst, 0]
    return (
        f"{len(failed)} of {len(status)} trajectories failed; trajectory {labels[worst]} after "
        f"t = {last:g}: {Status(int(status[worst])).reason}"
    )


def _report(engine: Engine, model: Model) -> dict[str, Any]:
    import sys

    return {
        "pnde": pnde.__version__,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "platform": platform.platform(),
        "engine": engine.name,
        "engine_versions": engine.status(),
        "method": model.config.method,
        "seed": model.config.seed,
        "complete": False,
    }


def _write_model(path: Path, model: Model, ds: xr.Dataset, source: str | Path | None) -> None:
    law = model.constraint
    # A file of the user's is not copied; it is found again if file and folder move together.
    data = "data.nc" if source is None else os.path.relpath(Path(source).resolve(), path.resolve())
    disk.write_json(
        path / "model.json",
        {
            "states": list(model.states),
            "mean": model.mean.tolist(),
            "std": model.std.tolist(),
            "order": model.order,
            "features": model.features,
            "law": None if law is None else law.label,
            "system": ds.attrs.get("system"),
            "metric": model.metric.tolist() if isinstance(model.metric, np.ndarray) else None,
            "metric_is_function": callable(model.metric),
            "physics": None
            if model.physics is None
            else getattr(model.physics, "__name__", "function"),
            "data": Path(data).as_posix(),
        },
    )


def _read_model(
    path: Path, config: Config, constraint: Any, physics: Any
) -> tuple[Model, xr.Dataset]:
    facts = disk.read_json(path / "model.json")
    try:
        data_path = path / facts["data"]
        if not data_path.exists():
            raise RunError(
                f"the data of the run are not at {data_path.resolve()}; put them back there"
            )
        ds = open_data(data_path)
        if "split" not in ds.coords:
            ds = _split(ds, config)
        system = system_of(ds)
        if facts["law"] is not None and constraint is None and system is None:
            raise RunError(
                f"the run in {path} keeps the law {facts['law']!r}, which is not stored: pass it again "
                "as constraint= (on the command line: --law FILE.py:NAME)"
            )
        if facts["physics"] is not None and physics is None:
            raise RunError(
                f"the run in {path} uses the physics {facts['physics']!r}, which is not stored: pass it "
                "again as physics="
            )
        metric = facts["metric"]
        model = Model(
            states=tuple(facts["states"]),
            config=config,
            mean=np.array(facts["mean"]),
            std=np.array(facts["std"]),
            constraint=law_for(ds, constraint),
            order=facts["order"],
            features=facts["features"],
            metric=None if metric is None else np.array(metric),
            physics=physics,
        )
    except (KeyError, TypeError) as error:
        raise disk.damaged(path / "model.json", error) from None
    return model, ds
