"""What `pnde train` does: several models on the same data, trained, evaluated on unseen trajectories and drawn.

An experiment folder holds `experiment.json`, `data.nc` (or the path of the user's file), `truth.nc` (the test
trajectories), a run folder for each model, and the results: `table.csv`, `errors.png`, `phase.png`. Every part that is
there already is used as it is, so an experiment that was stopped goes on by running it again.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from pnde import systems
from pnde.config import Config
from pnde.data import open_data, save_data, select, split_data, time_matrix
from pnde.engines import leads, meet
from pnde.errors import ConfigError, RunError, SolveError
from pnde.files import damaged, make_folder, read_json, write_bytes, write_json
from pnde.forecast import straight_lines
from pnde.grids import is_grid_file
from pnde.laws import split_laws
from pnde.metrics import state_error, table
from pnde.models import ModelKind
from pnde.runs import Run, has_weights, is_run, load, resume, train
from pnde.runs.lock import locked
from pnde.systems import System, law_for, system_of

logger = logging.getLogger("pnde")

FILE = "experiment.json"
_DATA = ("data.nc", "data-angular.nc")


@dataclass(frozen=True)
class Experiment:
    """Models on one data set.

    - `source`: the name of a built-in system, the file of a power grid, or a data file.
    - `models`: their kinds, by name such as `("nde", "snde:10", "pnde")`; see `pnde.models.ModelKind`.
    - `config`: the settings that the models share; `mechanical`: those of models of that form, where they are others.
    - `parameters`: of the system.
    - `law`, `order`: of the user's own data; see `pnde.train`.
    - `reading`: which columns of the user's own data are what; see `pnde.data.open_data`.
    """

    source: str
    models: tuple[str, ...]
    config: Config
    parameters: dict[str, Any]
    law: Any = None
    order: Any = None
    reading: dict[str, Any] = field(default_factory=dict)
    mechanical: Config | None = None

    @cached_property
    def system(self) -> System | None:
        """The system that is simulated, if it is not a data file that is learned from."""
        return system_for(self.source, self.parameters)

    @cached_property
    def kinds(self) -> tuple[ModelKind, ...]:
        """The kinds of the models."""
        return tuple(ModelKind.parse(name) for name in self.models)

    def run(self, folder: Path, progress: bool = True) -> pd.DataFrame:
        """Do everything that has not been done yet; the table of results, which of several processes the first one has.

        **Raises:** `pnde.errors.RunError` if another process is at it.
        """
        system = self.system
        if system is None and law_for(self._opened(), self.law) is None:
            # Inequalities alone are a law to a PNDE.
            free = ("nde", "pnde") if split_laws(self.law)[1] else ("nde",)
            constrained = [str(kind) for kind in self.kinds if kind.method not in free]
            if constrained:  # known before an unconstrained model has been trained for minutes
                raise ConfigError(
                    f"the model {constrained[0]} needs a law: name one with --law FILE.py:NAME, or "
                    "train the plain model alone with --models nde"
                )
        with locked(folder) if leads() else contextlib.nullcontext():
            runs, _ = self.train(folder, progress)
            if not runs:
                raise SolveError("none of the models could be trained")
            results = evaluate(runs, folder, system) if leads() else pd.DataFrame()
        meet()
        return results

    def train(
        self, folder: Path, progress: bool = True
    ) -> tuple[dict[str, Run], dict[str, SolveError]]:
        """Train what has not been trained yet; the runs by model, and why the others could not be trained."""
        runs, failures = {}, {}
        for kind in self.kinds:
            try:
                runs[str(kind)] = self._model(folder, kind, progress)
            except SolveError as error:
                # A model that cannot be trained is a result too (SNDE on Lotka-Volterra in the paper).
                logger.warning("%s could not be trained: %s", kind.label, error)
                failures[str(kind)] = error
        return runs, failures

    def _model(self, folder: Path, kind: ModelKind, progress: bool) -> Run:
        path, system = folder / kind.slug, self.system
        begun = is_run(path)
        meet()  # before one of the processes begins it
        if begun:
            return resume(path, self.law, progress=progress)
        data = self._own_data(folder) if system is None else self._data(folder, kind, system)
        return train(
            data,
            self.law,
            order=self.order,
            config=self.mechanical
            if kind.form == "mechanical" and self.mechanical
            else self.config,
            folder=path,
            progress=progress,
            **kind.settings,
        )

    def _opened(self) -> xr.Dataset:
        return open_data(self.source, **self.reading)

    def _own_data(self, folder: Path) -> Path:
        """The user's file; or its copy, where columns were chosen, or there are several files."""
        if not self.reading and Path(self.source).is_file():
            return Path(self.source)
        path = folder / _DATA[False]
        if leads() and not path.exists():
            save_data(self._opened(), path)
        meet()
        return path

    def _data(self, folder: Path, kind: ModelKind, system: System) -> Path:
        angular = kind.coordinates == "angular"
        path = folder / _DATA[angular]
        if leads() and not path.exists():
            if angular:
                system = angular_twin(system)
            save_data(simulate(system, self.config), path)
        meet()
        return path


def system_for(source: str, parameters: dict[str, Any]) -> System | None:
    """The system of a name or a power grid's file; `None` for a data file."""
    if source in systems.names():
        return systems.get(source, **parameters)
    if is_grid_file(source):
        return systems.power_grid(source, **parameters)
    return None


def preset_for(source: str, system: System | None) -> str:
    """What the presets of a source are called, whose system is `system_for` it."""
    if isinstance(system, systems.power_grid):
        return "driven-grid" if system.inputs else "grid"
    return "data" if system is None else source


def angular_twin(system: System) -> System:
    """The same pendulum in angular coordinates.

    **Raises:** `pnde.errors.ConfigError` if the system has none.
    """
    if not isinstance(system, systems.pendulum) or system.inputs:
        raise ConfigError(f"{system.name} has no angular coordinates; leave out angular- models")
    return systems.pendulum(**system.parameters | {"coordinates": "angular"})


def simulate(system: System, config: Config) -> xr.Dataset:
    """The data set of a system that a configuration asks for, with its splits."""
    data = config.data
    counts = [int(count) for count in (data.train, data.valid, data.test)]
    ds = system.simulate(sum(counts), data.t_end, data.dt, config.seed, data.initial_conditions)
    return split_data(ds, *counts)


def evaluate(runs: dict[str, Run], folder: Path, system: System | None) -> pd.DataFrame:
    """Forecast the test trajectories with each run; write forecasts, table and figures, and return the table.

    The last rows of the table are of models that have learned nothing; see `pnde.forecast.straight_lines`.
    """
    import matplotlib.pyplot as plt

    from pnde import plot

    truth, forecasts, measures, plain = None, {}, {}, None
    for run in runs.values():
        own_truth, forecast = _forecast(run, folder, system)
        if truth is None or run.model.kind.coordinates == "given":
            truth, plain = own_truth, run.data
        forecasts[run.label] = forecast
        measures[run.label] = {} if system is None else system.measures(forecast)
        save_data(forecast, folder / f"forecast-{run.model.kind.slug}.nc")
    assert truth is not None and plain is not None
    # The state error is told at the end of the training horizon, the constraint error over all of the test horizon.
    times = next(iter(runs.values())).data.coords.get("time")
    horizon = None if times is None else min(float(times.max()), _end(truth))
    rows = dict(forecasts)
    if list(plain["state"].values) == list(truth["state"].values):
        rows |= straight_lines(plain, truth)
    results = table(rows, at=horizon).join(pd.DataFrame.from_dict(measures, orient="index"))
    write_bytes(folder / "table.csv", results.to_csv().encode())
    with plot.style():
        figures = {"errors": plot.errors(forecasts)}
        if any("margin" in forecast for forecast in forecasts.values()):
            figures["margins"] = plot.margins(forecasts)
        if system is not None:
            figures |= plot.system(system, truth, forecasts)
        else:
            if truth.sizes["state"] > 1:
                figures["phase"] = plot.phase(truth, forecasts)
            if "w" in truth:
                figures["trajectories"] = plot.trajectories({"truth": truth, **forecasts})
        for name, axes in figures.items():
            plot.save(axes, folder / f"{name}.png")
    plt.close("all")
    return results


def _forecast(run: Run, folder: Path, system: System | None) -> tuple[xr.Dataset, xr.Dataset]:
    """The test trajectories and their forecast; both in Cartesian coordinates for a model of angles."""
    angular = run.model.kind.coordinates == "angular"
    if system is None:
        truth = select(run.data, "test")
        return truth, run.rollout(truth)
    path = folder / ("truth-angular.nc" if angular else "truth.nc")
    if not path.exists():
        own = angular_twin(system) if angular else system
        save_data(own.continued(select(run.data, "test"), system.test_t_end), path)
    truth = open_data(path)
    return cartesian(run, run.rollout(truth), truth)


def cartesian(
    run: Run, forecast: xr.Dataset, truth: xr.Dataset | None = None
) -> tuple[xr.Dataset, xr.Dataset]:
    """Truth (the run's test trajectories by default) and forecast, with a pendulum's angles turned into positions."""
    truth = select(run.data, "test") if truth is None else truth
    system = system_of(run.data)
    if isinstance(system, systems.pendulum) and run.model.kind.coordinates == "angular":
        truth, forecast = system.cartesian(truth), system.cartesian(forecast)
        forecast["state_error"] = state_error(truth, forecast)
    return truth, forecast


def _end(ds: xr.Dataset) -> float:
    return float(np.nanmax(time_matrix(ds)))


def write(folder: Path, experiment: Experiment, law: str | None) -> list[Path]:
    """Begin a folder, and note in it what the experiment is, for `pnde resume`; the folders that were made.

    **Arguments:**

    - `law`: as `FILE.py:NAME`.
    """
    made = make_folder(folder)
    write_json(
        folder / FILE,
        {
            "source": experiment.source,
            "models": list(experiment.models),
            "config": _dumped(experiment.config),
            "mechanical": _dumped(experiment.mechanical),
            "parameters": experiment.parameters,
            "law": law,
            "order": experiment.order,
            "reading": experiment.reading,
        },
    )
    return made


def _dumped(config: Config | None) -> dict[str, Any] | None:
    return None if config is None else config.model_dump(exclude_none=True)


def take_back(folder: Path, made: list[Path]) -> None:
    """Remove what an experiment that came to nothing has written, and the folders `made` for it; nothing else.

    Where a model has been trained, or has a checkpoint to go on from, everything stays.
    """
    if any(is_run(path) for path in folder.iterdir()):
        return
    for name in (FILE, *_DATA):
        (folder / name).unlink(missing_ok=True)
    for path in made[::-1]:
        with contextlib.suppress(OSError):  # it holds something of the user's
            path.rmdir()


def read(folder: Path, law: Any = None) -> Experiment:
    """The experiment in a folder.

    **Raises:** `pnde.errors.RunError` if there is none, or what it holds is damaged.
    """
    if not (folder / FILE).exists():
        raise RunError(f"{folder} is neither a run folder nor an experiment folder")
    facts = read_json(folder / FILE)
    if facts.get("law") and law is None:
        raise RunError(
            f"{folder} uses the law {str(facts['law'])[:80]!r}, which is code of its own: pass it again with --law"
        )
    try:
        experiment = Experiment(
            str(facts["source"]),
            tuple(str(name) for name in facts["models"]),
            Config.make(**facts["config"]),
            dict(facts["parameters"]),
            law,
            facts["order"],
            dict(facts["reading"]),
            None if facts.get("mechanical") is None else Config.make(**facts["mechanical"]),
        )
        # The names are parts of paths: only those of models pass.
        _ = experiment.kinds
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise damaged(folder / FILE, error) from None
    if experiment.order not in (None, 1, 2):
        raise damaged(folder / FILE, ValueError(f"order {experiment.order!r}"))
    return experiment


def runs_in(
    folder: Path, law: Any = None, engine: Literal["auto", "jax", "julia"] | None = None
) -> list[Run]:
    """The run in a run folder, or those of an experiment; `engine` as for `pnde.load`."""
    if is_run(folder):
        return [load(folder, law, engine=engine)]
    if not folder.is_dir():
        raise RunError(f"there is no run folder {folder}")
    experiment = read(folder, law)
    paths = [folder / kind.slug for kind in experiment.kinds]
    runs = [load(path, law, engine=engine) for path in paths if has_weights(path)]
    if not runs:
        raise RunError(f"no model in {folder} has been trained yet; pnde resume {folder} goes on")
    return runs
