"""From nothing to the whole paper, or from where it was stopped."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path

import xarray as xr

from pnde.data import open_data, save_data, select
from pnde.errors import ConfigError
from pnde.experiment import FILE, angular_twin, cartesian, read, write
from pnde.files import make_folder, write_json
from pnde.paper.check import check
from pnde.paper.claims.finding import Finding
from pnde.paper.draw import draw
from pnde.paper.measure import measure
from pnde.paper.plan import FILE as PLAN
from pnde.paper.plan import Plan
from pnde.paper.results import EVALUATION, FAILURES, Results
from pnde.paper.studies import ANGULAR_NDE, Study, slug, study, unconstrained
from pnde.runs import Run
from pnde.sweep import spread

logger = logging.getLogger("pnde")


def reproduce(
    folder: str | Path,
    plan: Plan | None = None,
    progress: bool = True,
    jobs: int = 1,
    scheduler: str | None = None,
) -> tuple[Results, dict[str, Finding]]:
    """Do everything that a plan asks for and that is not in the folder yet.

    **Arguments:**

    - `folder`: a new one, or one to go on with.
    - `plan`: that of the folder, or the quick preset, if absent.
    - `jobs`, `scheduler`: where studies and seeds are trained, see `pnde.sweep.spread`.

    **Returns:** the results, and what came of the paper's claims, by name.

    **Raises:** `pnde.errors.ConfigError` if the folder was made with other settings.
    """
    folder = Path(folder)
    if plan is None:
        plan = Plan.read(folder) if (folder / PLAN).exists() else Plan()
    plan = plan.write(folder)
    results = Results(folder)
    alone = jobs == 1 and scheduler is None
    tasks = [
        (str(folder.resolve()), name, seed, progress and alone)
        for seed in range(1, plan.seeds + 1)
        for name in plan.studies
    ]
    for _, name, seed, _ in tasks:
        _check_begun(results, study(name), seed)
    for (_, name, seed, _), seconds in spread(_timed, tasks, jobs, scheduler):
        logger.info("%s, seed %d: %.0f s", name, seed, seconds)
    measure(results)
    draw(results)
    return results, check(results)


def _timed(task: tuple[str, str, int, bool]) -> float:
    """The seconds that a study takes."""
    folder, name, seed, progress = task
    began = time.perf_counter()
    run_study(Results(Path(folder)), study(name), seed, progress)
    return time.perf_counter() - began


def run_study(results: Results, study: Study, seed: int, progress: bool = True) -> None:
    """Train the models of a study that have not been trained or tried, and forecast its test trajectories."""
    path = results.path(study.name, seed)
    experiment = results.plan.experiment(study, seed)
    todo = _todo(results, study, seed)
    if not (path / FILE).exists():
        write(path, experiment, None)
    for model in todo:
        runs, failures = replace(experiment, models=(model,)).train(path, progress)
        if failures:
            failed = {**results.failures(study.name, seed), model: str(failures[model])}
            write_json(path / FAILURES, failed)
        else:
            _evaluate(results, study, seed, model, runs[model])


def _todo(results: Results, study: Study, seed: int) -> list[str]:
    """The models that have been neither forecast nor tried in vain."""
    done = {*results.models(study.name, seed), *results.failures(study.name, seed)}
    return [model for model in study.models if model not in done]


def _check_begun(results: Results, study: Study, seed: int) -> None:
    """That what is left of a study has the settings of what is there, which a preset of another version may not have.

    **Raises:** `pnde.errors.ConfigError` if not.
    """
    path = results.path(study.name, seed)
    going_on = (path / FILE).exists() and _todo(results, study, seed)
    if going_on and read(path) != results.plan.experiment(study, seed):
        raise ConfigError(
            f"{path} was begun with other settings than the preset {results.plan.preset!r} has now: remove it to "
            "train its models anew, or name another folder with -o"
        )


def _evaluate(results: Results, study: Study, seed: int, model: str, run: Run) -> None:
    folder = results.path(study.name, seed) / EVALUATION
    make_folder(folder)
    if study.long and (unconstrained(model) or model == "pnde"):
        t_end, dt, count = study.long
        start = select(run.data, "test").isel(trajectory=slice(count))
        save_data(run.rollout(start, t_end, dt), folder / f"long-{slug(model)}.nc")
    truth = _truth(results, study, seed, run, angular=model == ANGULAR_NDE)
    _, forecast = cartesian(run, run.rollout(truth), truth)
    # Last, because a model whose forecast is there is done.
    save_data(forecast, folder / f"{slug(model)}.nc")


def _truth(results: Results, study: Study, seed: int, run: Run, angular: bool) -> xr.Dataset:
    """The true test trajectories over the test horizon, in the coordinates of the run."""
    path = (
        results.path(study.name, seed)
        / EVALUATION
        / ("truth-angular.nc" if angular else "truth.nc")
    )
    if not path.exists():
        test, system = select(run.data, "test"), results.system(study.name)
        own = angular_twin(system) if angular else system
        u0 = test["u"].transpose("trajectory", "time", "state").values[:, 0]
        truth = own.simulate(t_end=results.plan.t_end(study), dt=study.dt, u0=u0)
        truth = truth.assign_coords(trajectory=test["trajectory"].values)
        save_data(truth, path)
    return open_data(path)
