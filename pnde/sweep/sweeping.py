"""A sweep: each run a folder, a table and a picture at the end."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pnde.errors import ConfigError, PndeError, SolveError
from pnde.experiment import angular_twin, simulate, system_for
from pnde.files import make_folder, read_json, write_bytes, write_json
from pnde.laws import law_of
from pnde.runs import Run, is_run, resume, train
from pnde.runs.lock import locked
from pnde.sweep.plan import Planned, Sweep
from pnde.sweep.spreading import spread

logger = logging.getLogger("pnde")

FILE, RESULT, TABLE, PICTURE = "sweep.json", "sweep-result.json", "table.csv", "sweep.png"


class _Task(NamedTuple):
    """What a process has to know of a run."""

    planned: Planned
    folder: str
    law: str | None


def sweep(
    file: str | Path,
    folder: str | Path,
    law: str | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
) -> pd.DataFrame:
    """Do all runs of a sweep that are not done yet, each in a folder of its own inside of `folder`.

    **Arguments:**

    - `file`: see `pnde.sweep.plan`.
    - `folder`: a new one, or that of this sweep, to go on with; on a cluster one that all workers see.
    - `law`: of all runs, as `FILE.py:NAME`; that of the system or the data if absent.
    - `jobs`, `scheduler`: where they run, see `pnde.sweep.spread`.

    **Returns:** a row for each run: what differs in it, losses, and errors on its test trajectories.

    **Raises:** an `ExceptionGroup` of `pnde.errors.ConfigError`s, one for each setting that is wrong, before anything
    is run; `pnde.errors.ConfigError` if the folder is of another sweep; `pnde.errors.RunError` if it is in use.
    """
    runs, folder = Sweep.read(file, law_of(law)).runs, Path(folder).resolve()
    if law is not None and Path(law.rpartition(":")[0]).is_file():
        law = str(Path(law).resolve())
    noted = {run.name: _content(run) | {"law": law} for run in runs}
    _check_folder(folder, noted)
    make_folder(folder)
    with locked(folder):
        write_json(folder / FILE, {"runs": _noted(folder) | noted})
        done = {run.name: _result(folder / run.name) for run in runs}
        todo = [_Task(run, str(folder / run.name), law) for run in runs if done[run.name] is None]
        if len(todo) < len(runs):
            logger.info("%d of %d runs are done already", len(runs) - len(todo), len(runs))
        for task, result in spread(_run, todo, jobs, scheduler):
            name = task.planned.name
            done[name] = result
            count = sum(one is not None for one in done.values())
            logger.info("%d of %d: %s, %s", count, len(runs), name, _brief(result))
        table = pd.DataFrame(
            [{**run.varied, **(done[run.name] or {})} for run in runs],
            index=pd.Index([run.name for run in runs], name="run"),
        )
        write_bytes(folder / TABLE, table.to_csv().encode())
        _draw(table, runs, folder / PICTURE)
    return table


def _run(task: _Task) -> dict[str, Any]:
    """Train a run, or go on with it, and evaluate it; what came of it, which its folder holds too."""
    planned, folder = task.planned, Path(task.folder)
    there = _result(folder)
    if there is not None:  # its worker was killed as it had just ended
        return there
    result: dict[str, Any]
    try:
        with _quiet():
            run = _trained(planned, folder, law_of(task.law))
            row = run.evaluate().iloc[0]
        result = {
            "best loss": run.report["best_loss"],
            "best epoch": run.report["best_epoch"],
            **{str(name): _number(value) for name, value in row.items()},
        }
    except SolveError as error:  # a result too
        result = {"error": str(error)}
        make_folder(folder)
    except PndeError as error:  # tried again by the next call
        return {"error": str(error)}
    write_json(folder / RESULT, result)
    return result


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What each run has to tell is in the table."""
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _trained(planned: Planned, folder: Path, law: Any) -> Run:
    if is_run(folder):
        return resume(folder, law, progress=False)
    config, kind = planned.config(), planned.kind
    system = system_for(planned.source, planned.parameters)
    data: Any = Path(planned.source)
    if system is not None:
        angular = kind is not None and kind.coordinates == "angular"
        data = simulate(angular_twin(system) if angular else system, config)
    return train(data, law, config=config, folder=folder, progress=False)


def _number(value: Any) -> Any:
    """As JSON has it."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value


def _brief(result: Mapping[str, Any]) -> str:
    return str(result["error"]) if "error" in result else f"best loss {result['best loss']:.2e}"


def _content(run: Planned) -> dict[str, Any]:
    return json.loads(json.dumps(dict(run.values), default=str))


def _noted(folder: Path) -> dict[str, Any]:
    return dict(read_json(folder / FILE)["runs"]) if (folder / FILE).exists() else {}


def _check_folder(folder: Path, runs: Mapping[str, Any]) -> None:
    if not (folder / FILE).exists():
        if folder.exists() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} is not empty and holds no sweep: name another folder with -o"
            )
        return
    for name, values in _noted(folder).items():
        if name in runs and values != runs[name]:
            raise ConfigError(
                f"{folder} has a run {name} with other settings: name another folder with -o"
            )


def _result(folder: Path) -> dict[str, Any] | None:
    """What came of a run that is done."""
    return read_json(folder / RESULT) if (folder / RESULT).exists() else None


def _draw(table: pd.DataFrame, runs: tuple[Planned, ...], path: Path) -> None:
    from pnde import plot

    if "best loss" in table:
        plot.save(plot.sweep(table, [key for key in _keys(runs) if key != "seed"]), path)


def _keys(runs: tuple[Planned, ...]) -> list[str]:
    return list(dict.fromkeys(key for run in runs for key in run.varied))
