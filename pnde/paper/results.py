"""What is in the folder of a reproduction: forecasts, truth, runs, failures, measurements."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde.data import open_data, time_matrix
from pnde.errors import RunError
from pnde.experiment import system_for
from pnde.files import read_json
from pnde.paper.plan import Plan
from pnde.paper.studies import Study, label, slug, study
from pnde.runs import Run, load
from pnde.runs import folder as disk

EVALUATION = "evaluation"
FAILURES = "failures.json"
MEASURED = "measured"


class Results:
    """The results in a folder. Forecasts are read when they are first asked for, and kept.

    - `folder`, `plan`.

    **Raises:** `pnde.errors.RunError` if the folder holds no reproduction of the paper.
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.plan = Plan.read(self.folder)
        self._open = functools.cache(open_data)
        self._seeds = tuple(range(1, self.plan.seeds + 1))

    def of(self, seed: int) -> Results:
        """The results of one seed alone."""
        one = copy.copy(self)
        one._seeds = (seed,)
        return one

    @property
    def studies(self) -> tuple[Study, ...]:
        """The studies of which some forecast is there."""
        return tuple(study(name) for name in self.plan.studies if self.seeds(name))

    def has(self, *names: str) -> bool:
        """Whether some forecast of each of these studies is there."""
        return all(name in self.plan.studies and self.seeds(name) for name in names)

    def path(self, name: str, seed: int) -> Path:
        """The experiment folder of a study."""
        return self.folder / "runs" / f"seed-{seed}" / name

    def seeds(self, name: str, model: str | None = None) -> tuple[int, ...]:
        """The seeds of which a forecast is there: of `model`, or of any."""
        every = {seed: self.models(name, seed) for seed in self._seeds}
        return tuple(s for s, there in every.items() if (model in there if model else there))

    def models(self, name: str, seed: int) -> tuple[str, ...]:
        """The models whose forecasts are there, in the order of the paper."""
        folder = self.path(name, seed) / EVALUATION
        return tuple(m for m in study(name).models if (folder / f"{slug(m)}.nc").exists())

    def forecasts(
        self, name: str, models: tuple[str, ...] | None = None, seed: int | None = None
    ) -> dict[str, xr.Dataset]:
        """Forecasts by the label of their model; those that are there of `models`, of all if absent.

        The first seed if absent.
        """
        seed = self.seeds(name)[0] if seed is None else seed
        folder = self.path(name, seed) / EVALUATION
        chosen = [m for m in self.models(name, seed) if models is None or m in models]
        return {label(m): self._open(folder / f"{slug(m)}.nc") for m in chosen}

    def forecast(self, name: str, model: str) -> xr.Dataset:
        """The forecast of a model, of the first seed of which there is one."""
        seed = self.seeds(name, model)[0]
        return self._open(self.path(name, seed) / EVALUATION / f"{slug(model)}.nc")

    def long(self, name: str, seed: int | None = None) -> dict[str, xr.Dataset]:
        """The long rollouts by the label of their model."""
        seed = self.seeds(name)[0] if seed is None else seed
        folder = self.path(name, seed) / EVALUATION
        paths = {m: folder / f"long-{slug(m)}.nc" for m in study(name).models}
        return {label(m): self._open(path) for m, path in paths.items() if path.exists()}

    def truth(self, name: str, seed: int | None = None) -> xr.Dataset:
        """The true test trajectories, over the test horizon."""
        seed = self.seeds(name)[0] if seed is None else seed
        return self._open(self.path(name, seed) / EVALUATION / "truth.nc")

    def system(self, name: str) -> Any:
        """The system of a study."""
        experiment = self.plan.experiment(study(name), 1)
        return system_for(experiment.source, experiment.parameters)

    def run(self, name: str, model: str, seed: int | None = None) -> Run:
        """A trained model."""
        seed = self.seeds(name)[0] if seed is None else seed
        return load(self.path(name, seed) / slug(model))

    def report(self, name: str, model: str, seed: int) -> tuple[dict[str, Any], pd.DataFrame]:
        """What was written of a training: report and history."""
        path = self.path(name, seed) / slug(model)
        return read_json(path / disk.REPORT), disk.frame_of(disk.read_history(path))

    def failures(self, name: str, seed: int | None = None) -> dict[str, str]:
        """Why models could not be trained, by model; of the first seed if absent."""
        seed = self._seeds[0] if seed is None else seed
        path = self.path(name, seed) / FAILURES
        return read_json(path) if path.exists() else {}

    def measured(self, name: str) -> pd.DataFrame:
        """A table of measurements.

        **Raises:** `pnde.errors.RunError` if it has not been measured.
        """
        path = self.folder / MEASURED / f"{name}.csv"
        if not path.exists():
            raise RunError(f"{path} is missing; pnde paper -o {self.folder} measures it")
        return pd.read_csv(path)

    def curves(self, name: str, model: str, variable: str) -> tuple[np.ndarray, np.ndarray]:
        """Times `(T,)` and the mean of a variable over the trajectories, `(seed, T)`.

        A trajectory that failed is missing from the mean from there on. The mean ends, in NaN, where fewer than half of
        the trajectories are left.
        """
        rows, times = [], np.zeros(0)
        for seed in self.seeds(name, model):
            forecast = self.forecasts(name, (model,), seed)[label(model)]
            times = time_matrix(forecast)[0]
            rows.append(mean_curve(forecast[variable].transpose("trajectory", "time").values))
        return times, np.array(rows).reshape(-1, len(times))

    def failed(self, name: str, model: str) -> tuple[int, int]:
        """How many trajectories of a model's forecasts failed, of how many, over all seeds."""
        status = np.concatenate(
            [
                self.forecasts(name, (model,), seed)[label(model)]["status"].values
                for seed in self.seeds(name, model)
            ]
        )
        return int((status != 0).sum()), len(status)


def mean_curve(values: np.ndarray) -> np.ndarray:
    """The mean `(T,)` over the trajectories `(B, T)` that are left; NaN where fewer than half are."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(2 * count >= len(values), total / np.maximum(count, 1), np.nan)
