"""A trained model and its use: `Run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde import forecast as forecasts
from pnde.data import open_data, save_data, select, time_label, time_matrix
from pnde.driven import conditions_of
from pnde.engines import Engine
from pnde.errors import DataError
from pnde.laws import Conditions
from pnde.laws.projecting import onto_manifold
from pnde.metrics import coverage, table
from pnde.models import Model, Weights
from pnde.runs import folder as disk
from pnde.runs.bands import add_bands, band_widths, check_level
from pnde.runs.exporting import Format, export_forecast
from pnde.runs.mechanics import check_constant, compact, mechanics
from pnde.runs.new_folder import new_folder
from pnde.runs.record import Record, Sources, data_record
from pnde.runs.streaming import stream
from pnde.training import EpochRow


class Run:
    """A trained model.

    - `model`: what it is made of; `weights`: the best of its training, by validation loss.
    - `history`: `DataFrame` with a row for each epoch; see `pnde.training.EpochRow`.
    - `report`: versions, engine, timings, errors.
    - `data`: the data set it was trained on, with its splits.
    """

    def __init__(
        self,
        model: Model,
        weights: Weights,
        history: tuple[EpochRow, ...],
        report: dict[str, Any],
        data: xr.Dataset,
        engine: Engine,
        sources: Sources,
    ):
        self.model = model
        self.weights = weights
        self.report = report
        self.data = data
        self._rows = history
        self._engine = engine
        self._sources = sources

    def __repr__(self) -> str:
        law = "no law" if self.model.constraint is None else self.model.constraint.label
        law += "" if self.model.bounds is None else f", {len(self.model.bounds.names)} bounds"
        sizes = self.data.sizes
        return (
            f"<pnde.Run {self.label}, {law}: {len(self.model.states)} states, {len(self._rows)} epochs,\n"
            f" best loss {self.report['best_loss']:.3g} in epoch {self.report['best_epoch']}, "
            f"engine {self._engine.name}, {sizes['trajectory']} trajectories>"
        )

    @property
    def label(self) -> str:
        """What tables and figures call this model, such as `PNDE` or `SNDE γ=10`."""
        return self.model.kind.label

    @property
    def history(self) -> pd.DataFrame:
        """A row for each epoch."""
        return disk.frame_of(self._rows)

    def rollout(
        self,
        initial: Any = None,
        t_end: float | None = None,
        dt: float | None = None,
        *,
        t_start: float | None = None,
        inputs: Any = None,
        parameters: Any = None,
        jumps: Sequence[float] = (),
        bands: float | None = None,
        calibration: Any = None,
    ) -> xr.Dataset:
        """Forecast trajectories.

        **Arguments:**

        - `initial`: a data set or file whose trajectories' first samples are the initial states, or an array `(B, n)`,
            physical units; the test split of the run's data if absent.
        - `t_end`, `dt`: end and sampling of the forecast, in the data's time unit. The samples of the data set if both
            are absent; else up to `t_end` (the data's end by default) every `dt` (the data's usual step by default).
        - `t_start`: the time of the initial states of an array; the data's first time by default.
        - `inputs`: of a model that takes inputs; those of `initial` if absent. A data set or file with columns of their
            names; an array `(T, k)` or `(B, T, k)` at the times of the forecast; or a function of the time that gives k
            numbers.
        - `parameters`: numbers `(r,)`, an array `(B, r)`, or either by name; those of `initial` if absent.
        - `jumps`: times at which inputs that are an array or a function jump; the value at one is that after it.
        - `bands`: a share such as 0.9: `lower` and `upper` then hold the truth with at least that probability, for each
            time and state, if it is one like the trajectories that they are calibrated on.
        - `calibration`: those trajectories, a data set or file; the valid split by default. Bands reach as far as they.

        **Returns:** a data set in the standard layout with `status`, `steps`, `evaluations`; `constraint_error` for a
        model with a law; `energy` for a mechanical model; `state_error` where `initial` has the truth.

        **Raises:** `pnde.errors.ConstraintError` if an initial state is off the manifold; `pnde.errors.DataError` if
        inputs or parameters are missing or end too early; `pnde.errors.ConfigError` for times that make no forecast, or
        more of them than memory could hold; `pnde.errors.SolveError` if a trajectory fails and `on_failure` is
        `"raise"`.
        """
        truth = self._initial(initial, t_start)
        if bands is None:
            return self._forecast(truth, t_end, dt, inputs, parameters, jumps)
        check_level(bands)
        unseen = select(self.data, "valid") if calibration is None else open_data(calibration)
        widths, clock = band_widths(unseen, self._forecast(unseen, None, None), bands)
        out = self._forecast(truth, t_end, dt, inputs, parameters, jumps)
        return add_bands(out, widths, clock, bands)

    def _all_weights(self) -> list[Weights]:
        return [self.weights]

    def _forecast(
        self,
        truth: xr.Dataset,
        t_end: float | None,
        dt: float | None,
        inputs: Any = None,
        parameters: Any = None,
        jumps: Sequence[float] = (),
    ) -> xr.Dataset:
        model, conditions = self.model, Conditions.of(truth)
        onto = onto_manifold(self._engine, model.constraint, model.metric, conditions, model.bounds)
        u0, times = forecasts.first_samples(truth, onto)
        if t_end is not None or dt is not None or times.shape[1] == 1:
            own = time_matrix(self.data) if times.shape[1] == 1 else times
            times = forecasts.sample_times(
                times[:, 0],
                float(np.nanmax(own)) if t_end is None else float(t_end),
                forecasts.usual_step(self.data) if dt is None else float(dt),
                u0.shape[1],
            )
        driven = conditions_of(self.model, self.data, truth, times, inputs, parameters, jumps)
        out = forecasts.forecast(
            self._engine, self.model, self._all_weights(), self.data, truth, times, u0, driven
        )
        if callable(inputs):
            kinds = np.full(len(self.model.inputs), "linear")
            out = out.assign_coords(interpolation=("input", kinds))
        seconds = self.report.get("train_seconds")
        return out if seconds is None else out.assign_attrs(train_seconds=seconds)

    def rollout_to(
        self,
        path: str | Path,
        initial: Any = None,
        t_end: float | None = None,
        dt: float | None = None,
        *,
        t_start: float | None = None,
        inputs: Any = None,
        parameters: Any = None,
        jumps: Sequence[float] = (),
        progress: bool = True,
    ) -> Path:
        """Forecast any number of trajectories into a file, in memory for a block of them.

        The arguments are those of `rollout`, and what is written is what it returns.

        **Arguments:**

        - `path`: `.nc`, or `.zarr`, which needs `pip install 'pnde[zarr]'`. Until it is complete, all is in the folder
            `PATH.part`, from which the same call goes on where one was stopped.
        - `progress`: show a progress bar.

        **Raises:** what `rollout` does; `pnde.errors.DataError` for trajectories that do not start together, or inputs
        that jump; `pnde.errors.RunError` if `path` is there, or the disk does not take it.
        """
        truth = self._initial(initial, t_start)
        return stream(self, truth, Path(path), t_end, dt, inputs, parameters, jumps, progress)

    def evaluate(
        self,
        data: Any = None,
        t_end: float | None = None,
        at: Any = None,
        bands: float | None = None,
    ) -> pd.DataFrame:
        """A table with the state error at the times `at` (the end by default), the mean and maximal constraint error.

        Below the model stand two that have learned nothing: states that stand still, or move at their mean velocity.
        With `bands` the table has their coverage, the share of the truth that they hold, and their width, in units of
        the states' spreads, both as means over trajectories, times and states.

        **Arguments:** those of `rollout`; the run's test split by default.
        """
        truth = self._initial(data, None)
        forecast = self.rollout(truth, t_end, bands=bands)
        rows = {self.label: forecast}
        if truth.sizes["time"] > 1:
            rows |= forecasts.straight_lines(self.data, truth)
        out = table(rows, at=at)
        if bands is not None:
            width = (forecast["upper"] - forecast["lower"]) / self.model.std
            out.loc[self.label, f"coverage of {bands:g} bands"] = float(
                coverage(truth, forecast).mean()
            )
            out.loc[self.label, "width of bands"] = float(width.mean())
        return out

    def mechanics(self, u: Any = None) -> xr.Dataset:
        """What a mechanical model has learned (`network.form = "mechanical"`), at states.

        **Arguments:**

        - `u`: a data set or forecast, or an array `(..., n)`, physical units; the run's test split by default.

        **Returns:** a data set with `kinetic`, `potential` and `energy`, `(trajectory, time)` or of the shape of the
        array, `masses` and `dissipation` with two axes more. Where nothing of a model is known, only the ratios of
        masses and forces are seen in data; its masses have the geometric mean 1.

        **Raises:** `pnde.errors.ConfigError` for a model of another form.
        """
        if isinstance(u, np.ndarray | list | tuple):
            states = np.asarray(u, dtype=float)
            if not states.ndim or states.shape[-1] != len(self.model.states):
                raise DataError(
                    f"states have the shape (..., {len(self.model.states)}) for {', '.join(self.model.states)}, not "
                    f"{states.shape}"
                )
            return mechanics(self._engine, self.model, self.weights, states, None)
        ds = self._initial(u, None).transpose("trajectory", "time", ...)
        conditions, states = Conditions.of(ds), ds["u"].values
        out = mechanics(self._engine, self.model, self.weights, states, conditions)
        out = out.rename(axis_0="trajectory", axis_1="time")
        kept = {k: ds[k] for k in ("trajectory", "time", "t") if k in ds.variables}
        return out.assign(kept)

    def energy(self, u: Any = None) -> xr.DataArray:
        """The energy, kinetic and potential, that a mechanical model has learned; see `mechanics`."""
        return self.mechanics(u)["energy"]

    @property
    def masses(self) -> xr.DataArray:
        """The masses of a mechanical model, `(n/2,)` or `(n/2, n/2)`, if they are constant; see `mechanics`."""
        return self._constant("masses")

    @property
    def dissipation(self) -> xr.DataArray:
        """A of the friction -A q̇ of a mechanical model, `(n/2, n/2)`, if it is constant; see `mechanics`."""
        return self._constant("dissipation")

    def _constant(self, name: str) -> xr.DataArray:
        if self.model.mechanical:
            check_constant(self.model, name)
        return compact(self.mechanics(self.data.isel(trajectory=[0]))[name][0, 0])

    def export(
        self, path: str | Path, format: Format = "stablehlo", samples: int | None = None
    ) -> Path:
        """Write the forecast as a program that JAX alone runs: solver, law, retraction and weights inside.

        **Arguments:**

        - `path`: a file. `PATH.txt` beside it says how it is called.
        - `format`: `"stablehlo"`, what `jax.export` writes; `"npz"`, the same as an array `program` among the weights,
            the normaliser and the names, for `numpy.load`.
        - `samples`: at how many times it forecasts, those of the test trajectories if absent. The times themselves are
            an argument, as are initial states, any number of them, and parameters.

        **Raises:** `pnde.errors.ConfigError` for a model with inputs, or by the julia engine;
        `pnde.errors.EngineError` if the package flatbuffers is missing.
        """
        if samples is None:
            samples = select(self.data, "test").sizes["time"]
        units = [""] * len(self.model.states)
        if "units" in self.data.coords:
            units = [str(unit) for unit in self.data["units"].values]
        return export_forecast(
            self._engine,
            self.model,
            self.weights,
            samples,
            Path(path),
            format,
            time_label(self.data),
            units,
        )

    def save(self, path: str | Path) -> Path:
        """Write the run folder, its data included.

        **Raises:** `pnde.errors.RunError` if the folder holds another run, or the disk does not take it.
        """
        path = Path(path)
        with new_folder(path):
            save_data(self.data, path / disk.DATA)
            disk.write_config(path, self.model.config)
            self._finish(path, path / disk.DATA)
        return path

    def _finish(self, path: Path, data: Path) -> None:
        """Write what a complete run has; the record last, which makes it complete."""
        disk.write_weights(path, self.weights)
        disk.write_bytes(path / disk.HISTORY, self.history.to_csv(index=False).encode())
        disk.write_report(path, self.report)
        self._complete(path, data, disk.CONFIG, disk.WEIGHTS, disk.HISTORY, disk.REPORT)

    def _complete(self, path: Path, data: Path, *names: str) -> None:
        """Write the record of a complete run, with the checksums of these files."""
        Record.of(
            self.model,
            self._engine,
            self._row_names(),
            self._sources,
            data_record(path, data),
            disk.checksums(path, *names),
            complete=True,
        ).write(path)

    def _row_names(self) -> tuple[str, ...]:
        return rows_of(self._engine, self.model, self.data)

    def _initial(self, initial: Any, t_start: float | None) -> xr.Dataset:
        if initial is None:
            return select(self.data, "test")
        if isinstance(initial, np.ndarray | list | tuple):
            return forecasts.initial_states(initial, self.model.states, self.data, t_start)
        ds = open_data(initial)
        names = [str(name) for name in ds["state"].values]
        if names != list(self.model.states):
            raise DataError(
                f"the model knows the states {', '.join(self.model.states)}, "
                f"the initial states have {', '.join(names)}; select or rename them"
            )
        return ds


def rows_of(engine: Engine, model: Model, ds: xr.Dataset) -> tuple[str, ...]:
    """The names of the rows of a model's law; none without one."""
    law = model.constraint
    if law is None:
        return ()
    first = ds.isel(trajectory=[0])
    u0, times = forecasts.first_samples(first)
    return law.row_names(engine.law(law, u0, Conditions.of(first).at(times[:, 0])).shape[1])
