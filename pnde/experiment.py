"""What `pnde train` does: several models on the same data, trained, evaluated on unseen trajectories and drawn.

An experiment folder holds `experiment.json`, `data.nc` (or the path of the user's file), `truth.nc` (the test
trajectories), a run folder for each model, and the results: `table.csv`, `errors.png`, `phase.png`. Every part that is
there already is used as it is, so an experiment that was stopped goes on by running it again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde import systems
from pnde.config import Config
from pnde.data import open_data, save_data, select, split_data, time_matrix
from pnde.errors import ConfigError, RunError, SolveError, nearest
from pnde.metrics import state_error, table
from pnde.runs import Run, load, resume, train
from pnde.runs import folder as disk
from pnde.systems import System, law_for, system_of

logger = logging.getLogger("pnde")

FILE = "experiment.json"
ANGULAR = "angular-"


@dataclass(frozen=True)
class Experiment:
    """Models on one data set.

    - `source`: the name of a built-in system, the file of a power grid, or a data file.
    - `models`: such as `("nde", "snde:10", "pnde")`, the number being γ; `"angular-nde"` learns a pendulum's angles.
    - `config`: the settings that the models share.
    - `parameters`: of the system.
    - `law`, `order`: of the user's own data; see `pnde.train`.
    """

    source: str
    models: tuple[str, ...]
    config: Config
    parameters: dict[str, Any]
    law: Any = None
    order: Any = None

    @cached_property
    def system(self) -> System | None:
        """The system that is simulated, if it is not a data file that is learned from."""
        return system_for(self.source, self.parameters)

    def run(self, folder: Path, progress: bool = True) -> pd.DataFrame:
        """Do everything that has not been done yet; the table of results."""
        system = self.system
        if system is None and law_for(open_data(self.source), self.law) is None:
            constrained = [name for name in self.models if settings(name)["method"] != "nde"]
            if constrained:  # known before an unconstrained model has been trained for minutes
                raise ConfigError(
                    f"the model {constrained[0]} needs a law: name one with --law FILE.py:NAME, or "
                    "train the plain model alone with --models nde"
                )
        runs, _ = self.train(folder, progress)
        if not runs:
            raise SolveError("none of the models could be trained")
        return evaluate(runs, folder, system)

    def train(
        self, folder: Path, progress: bool = True
    ) -> tuple[dict[str, Run], dict[str, SolveError]]:
        """Train what has not been trained yet; the runs, and why the others could not be trained."""
        runs, failures, system = {}, {}, self.system
        for name in self.models:
            try:
                runs[name] = self._model(folder, name, system, progress)
            except SolveError as error:
                # A model that cannot be trained is a result too (SNDE on Lotka-Volterra in the paper).
                logger.warning("%s could not be trained: %s", name, error)
                failures[name] = error
        return runs, failures

    def _model(self, folder: Path, name: str, system: System | None, progress: bool) -> Run:
        path = folder / slug(name)
        if (path / "config.toml").exists():
            return resume(path, self.law, progress=progress)
        data = Path(self.source) if system is None else self._data(folder, name, system)
        return train(
            data,
            self.law,
            order=self.order,
            config=self.config,
            folder=path,
            progress=progress,
            **settings(name),
        )

    def _data(self, folder: Path, name: str, system: System) -> Path:
        angular = name.startswith(ANGULAR)
        path = folder / ("data-angular.nc" if angular else "data.nc")
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            if angular:
                system = angular_twin(system)
            save_data(simulate(system, self.config), path)
        return path


def system_for(source: str, parameters: dict[str, Any]) -> System | None:
    """The system of a name or a power grid's file; `None` for a data file."""
    if source in systems.names():
        return systems.get(source, **parameters)
    if Path(source).suffix in (".m", ".raw", ".json"):
        return systems.power_grid(source, **parameters)
    return None


def angular_twin(system: System) -> System:
    """The same pendulum in angular coordinates.

    **Raises:** `pnde.errors.ConfigError` if the system has none.
    """
    if not isinstance(system, systems.pendulum):
        raise ConfigError(f"{system.name} has no angular coordinates; leave out angular- models")
    return systems.pendulum(**system.parameters | {"coordinates": "angular"})


def simulate(system: System, config: Config) -> xr.Dataset:
    """The data set of a system that a configuration asks for, with its splits."""
    data = config.data
    counts = [int(count) for count in (data.train, data.valid, data.test)]
    ds = system.simulate(sum(counts), data.t_end, data.dt, config.seed, data.initial_conditions)
    return split_data(ds, *counts)


def settings(name: str) -> dict[str, Any]:
    """`"snde:10"` as settings: method and γ.

    **Raises:** `pnde.errors.ConfigError` if the name is not a method, or γ is missing or not a number.
    """
    method, _, gamma = name.removeprefix(ANGULAR).partition(":")
    if method not in ("nde", "snde", "pnde"):
        raise ConfigError(f"there is no model {name!r}{nearest(name, ('nde', 'snde', 'pnde'))}")
    if method != "snde" and gamma:
        raise ConfigError(f"only snde has a γ: write {method!r}, not {name!r}")
    if method == "snde" and not gamma:
        raise ConfigError("snde needs its γ, such as snde:10")
    try:
        return {"method": method, **({"gamma": float(gamma)} if gamma else {})}
    except ValueError:
        raise ConfigError(f"the γ of {name!r} is not a number") from None


def slug(name: str) -> str:
    """The folder name of a model: `snde:10` is `snde-10`."""
    return name.replace(":", "-")


def evaluate(runs: dict[str, Run], folder: Path, system: System | None) -> pd.DataFrame:
    """Forecast the test trajectories with each run; write forecasts, table and figures, and return the table."""
    import matplotlib.pyplot as plt

    from pnde import plot

    truth, forecasts, measures = None, {}, {}
    for name, run in runs.items():
        own_truth, forecast = _forecast(run, name, folder, system)
        if truth is None or not name.startswith(ANGULAR):
            truth = own_truth
        forecasts[run.label] = forecast
        measures[run.label] = {} if system is None else system.measures(forecast)
        save_data(forecast, folder / f"forecast-{slug(name)}.nc")
    assert truth is not None
    # The state error is told at the end of the training horizon, the constraint error over all of the test horizon.
    times = next(iter(runs.values())).data.coords.get("time")
    horizon = None if times is None else min(float(times.max()), _end(truth))
    results = table(forecasts, at=horizon).join(pd.DataFrame.from_dict(measures, orient="index"))
    disk.write_bytes(folder / "table.csv", results.to_csv().encode())
    with plot.style():
        figures = {"errors": plot.errors(forecasts)}
        if system is not None:
            figures |= system.draw(truth, forecasts)
        elif truth.sizes["state"] > 1:
            figures["phase"] = plot.phase(truth, forecasts)
        for name, axes in figures.items():
            np.atleast_1d(axes).flat[0].figure.savefig(folder / f"{name}.png")
    plt.close("all")
    return results


def _forecast(
    run: Run, name: str, folder: Path, system: System | None
) -> tuple[xr.Dataset, xr.Dataset]:
    """The test trajectories and their forecast; both in Cartesian coordinates for a model of angles."""
    angular = name.startswith(ANGULAR)
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
    if isinstance(system, systems.pendulum) and run.model.features == "angles":
        truth, forecast = system.cartesian(truth), system.cartesian(forecast)
        forecast["state_error"] = state_error(truth, forecast)
    return truth, forecast


def file_name(label: str) -> str:
    """A run's label as a part of a file's name."""
    return label.lower().replace(" ", "-").replace("γ=", "")


def _end(ds: xr.Dataset) -> float:
    return float(np.nanmax(time_matrix(ds)))


def write(folder: Path, experiment: Experiment, law: str | None) -> None:
    """Note in the folder what the experiment is, for `pnde resume`; `law` is `FILE.py:NAME`."""
    disk.write_json(
        folder / FILE,
        {
            "source": experiment.source,
            "models": list(experiment.models),
            "config": experiment.config.model_dump(exclude_none=True),
            "parameters": experiment.parameters,
            "law": law,
            "order": experiment.order,
        },
    )


def read(folder: Path, law: Any = None) -> Experiment:
    """The experiment in a folder.

    **Raises:** `pnde.errors.RunError` if there is none.
    """
    if not (folder / FILE).exists():
        raise RunError(f"{folder} is neither a run folder nor an experiment folder")
    facts = disk.read_json(folder / FILE)
    if facts.get("law") and law is None:
        raise RunError(
            f"{folder} uses the law {facts['law']}, which is code of its own: pass it again with --law"
        )
    try:
        return Experiment(
            facts["source"],
            tuple(facts["models"]),
            Config.make(**facts["config"]),
            facts["parameters"],
            law,
            facts["order"],
        )
    except (KeyError, TypeError) as error:
        raise disk.damaged(folder / FILE, error) from None


def runs_in(folder: Path, law: Any = None) -> list[Run]:
    """The run in a run folder, or those of an experiment."""
    if (folder / "config.toml").exists():
        return [load(folder, law)]
    if not folder.is_dir():
        raise RunError(f"there is no run folder {folder}")
    experiment = read(folder, law)
    paths = [folder / slug(name) for name in experiment.models]
    runs = [load(path, law) for path in paths if (path / "weights.safetensors").exists()]
    if not runs:
        raise RunError(f"no model in {folder} has been trained yet; pnde resume {folder} goes on")
    return runs
