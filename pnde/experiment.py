"""What `pnde train` does: several models on the same data, trained, evaluated on unseen trajectories and drawn.

An experiment folder holds `experiment.json`, `data.nc` (or the path of the user's file), `truth.nc` (the test
trajectories), a run folder for each model, and the results: `table.csv`, `errors.png`, `phase.png`. Every part that is
there already is used as it is, so an experiment that was stopped goes on by running it again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from pnde import folder as disk
from pnde import systems
from pnde.config import Config
from pnde.data import open_data, save_data, select, split_data
from pnde.errors import ConfigError, RunError, SolveError
from pnde.metrics import table
from pnde.run import Run, load, resume, train

logger = logging.getLogger("pnde")

FILE = "experiment.json"


@dataclass(frozen=True)
class Experiment:
    """Models on one data set.

    - `source`: the name of a built-in system, or the path of a data file.
    - `models`: such as `("nde", "snde:10", "pnde")`; the number is γ.
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

    def run(self, folder: Path, progress: bool = True) -> pd.DataFrame:
        """Do everything that has not been done yet; the table of results."""
        data = self._data(folder)
        runs = []
        for name in self.models:
            try:
                runs.append(self._model(folder, name, data, progress))
            except SolveError as error:
                # A model that cannot be trained is a result too (SNDE on Lotka-Volterra in the paper).
                logger.warning("%s could not be trained: %s", name, error)
        if not runs:
            raise SolveError("none of the models could be trained")
        return evaluate(runs, folder, self._truth(folder, data, runs[0]))

    def _data(self, folder: Path) -> Path:
        if self.source not in systems.names():
            return Path(self.source)
        path = folder / "data.nc"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            save_data(simulate(self.source, self.config, self.parameters), path)
        return path

    def _truth(self, folder: Path, data: Path, run: Run) -> xr.Dataset:
        path = folder / "truth.nc"
        if not path.exists():
            truth = select(run.data, "test")
            if self.source in systems.names():
                system = systems.get(self.source, **self.parameters)
                truth = system.continued(truth, system.test_t_end)
            save_data(truth, path)
        return open_data(path)

    def _model(self, folder: Path, name: str, data: Path, progress: bool) -> Run:
        path = folder / slug(name)
        if (path / "config.toml").exists():
            return resume(path, self.law, progress=progress)
        return train(
            data,
            self.law,
            order=self.order,
            config=self.config,
            folder=path,
            progress=progress,
            **settings(name),
        )


def simulate(source: str, config: Config, parameters: dict[str, Any]) -> xr.Dataset:
    """The data set of a built-in system that a configuration asks for, with its splits."""
    data = config.data
    counts = [int(count) for count in (data.train, data.valid, data.test)]
    ds = systems.get(source, **parameters).simulate(
        sum(counts), data.t_end, data.dt, config.seed, data.initial_conditions
    )
    return split_data(ds, *counts)


def settings(name: str) -> dict[str, Any]:
    """`"snde:10"` as settings: method and γ.

    **Raises:** `pnde.errors.ConfigError` if the name is not a method, or γ is missing or not a number.
    """
    method, _, gamma = name.partition(":")
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


def evaluate(runs: list[Run], folder: Path, truth: xr.Dataset) -> pd.DataFrame:
    """Forecast the test trajectories with each run; write forecasts, table and figures, and return the table."""
    import matplotlib.pyplot as plt

    from pnde import plot

    forecasts = {}
    for run in runs:
        forecasts[run.label] = run.rollout(truth)
        save_data(forecasts[run.label], folder / f"forecast-{_file_name(run)}.nc")
    # The state error is told at the end of the training horizon, the constraint error over all of the test horizon.
    horizon = float(runs[0].data["time"].max()) if "time" in runs[0].data.coords else None
    results = table(forecasts, at=horizon)
    disk.write_bytes(folder / "table.csv", results.to_csv().encode())
    with plot.style():
        axes = plot.errors(forecasts)
        axes[0].figure.savefig(folder / "errors.png")
        if truth.sizes["state"] > 1:
            figure = plot.phase(truth, forecasts).flat[0].figure
            figure.savefig(folder / "phase.png")
    plt.close("all")
    return results


def _file_name(run: Run) -> str:
    config = run.model.config
    return slug(config.method + (f":{config.gamma:g}" if config.method == "snde" else ""))


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
