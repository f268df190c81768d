"""Commands about runs: evaluate, rollout, plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import pnde
from pnde.cli.options import (
    folder_argument,
    law_of,
    law_option,
    parameters_of,
    print_table,
    reading_of,
    reading_options,
    save,
    times_of,
)
from pnde.errors import ConfigError


@click.command()
@folder_argument
@law_option
@click.option("--data", type=click.Path(), help="other trajectories than the test ones")
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("--at", type=float, multiple=True, help="times at which to tell the state error")
@reading_options
def evaluate(
    folder: Path,
    law: str | None,
    data: str | None,
    t_end: float | None,
    at: tuple[float, ...],
    **reading: Any,
) -> None:
    """Print the errors of the run or runs in FOLDER on their test trajectories."""
    import pandas as pd

    from pnde.experiment import runs_in

    runs = runs_in(folder, law_of(law))
    other = _opened(data, reading, "--data")
    print_table(pd.concat([run.evaluate(other, t_end, at=at or None) for run in runs]))


@click.command()
@folder_argument
@law_option
@click.option(
    "--initial", type=click.Path(), help="data whose first samples are the initial states"
)
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("--dt", type=float, help="time between samples")
@click.option(
    "--inputs-from",
    type=click.Path(),
    help="data with the model's inputs; those of the initial states by default. --jumps are then theirs",
)
@click.option(
    "-p",
    "--parameter",
    "own_parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="a parameter of all trajectories; those of the initial states by default",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="file; forecast.nc in FOLDER")
@reading_options
def rollout(
    folder: Path,
    law: str | None,
    initial: str | None,
    t_end: float | None,
    dt: float | None,
    inputs_from: str | None,
    own_parameters: tuple[str, ...],
    output: Path | None,
    **reading: Any,
) -> None:
    """Forecast with the run or runs in FOLDER and save the result (.nc, .csv, .npz)."""
    from pnde.data import save_data
    from pnde.experiment import runs_in
    from pnde.metrics import table

    runs = runs_in(folder, law_of(law))
    jumps = times_of(reading.pop("jumps")) if inputs_from and reading["jumps"] else ()
    start = _opened(initial, {"jumps": None, **reading}, "--initial")
    conditions: dict[str, Any] = {
        "inputs": None if inputs_from is None else pnde.open_data(inputs_from),
        "parameters": parameters_of(own_parameters) or None,
        "jumps": jumps,
    }
    forecasts = {run.label: run.rollout(start, t_end, dt, **conditions) for run in runs}
    target = output or folder / "forecast.nc"
    for run in runs:
        # One file for each of several runs.
        stem = f"{target.stem}-{run.model.kind.slug}"
        path = target if len(runs) == 1 else target.with_stem(stem)
        save_data(forecasts[run.label], path)
        click.echo(f"{run.label}: {path}")
    print_table(table(forecasts))


@click.command()
@folder_argument
@law_option
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="folder; FOLDER by default")
@click.option("--animate", is_flag=True, help="film a pendulum too: animation.gif")
def plot(
    folder: Path, law: str | None, t_end: float | None, output: Path | None, animate: bool
) -> None:
    """Draw the errors, trajectories and training history of the run or runs in FOLDER."""
    from pnde import plot as draw
    from pnde.experiment import cartesian, runs_in

    runs, output = runs_in(folder, law_of(law)), output or folder
    pairs = [cartesian(run, run.rollout(t_end=t_end)) for run in runs]
    forecasts = {run.label: forecast for run, (_, forecast) in zip(runs, pairs, strict=True)}
    truth = pairs[-1][0]
    output.mkdir(parents=True, exist_ok=True)
    with draw.style():
        save(draw.errors(forecasts), output / "errors.png")
        if any("margin" in forecast for forecast in forecasts.values()):
            save(draw.margins(forecasts), output / "margins.png")
        if truth.sizes["state"] > 1:
            save(draw.phase(truth, forecasts), output / "phase.png")
        if "w" in truth:
            both = {"truth": truth, **forecasts}
            save(draw.trajectories(both), output / "trajectories.png")
        for run in runs:
            name = "history" if len(runs) == 1 else f"history-{run.model.kind.slug}"
            save(draw.history(run.history), output / f"{name}.png")
    if animate:
        click.echo(str(draw.animate(truth, forecasts, output / "animation.gif")))


def _opened(data: str | None, reading: dict[str, Any], option: str) -> Any:
    """The data that an option names, with their columns chosen; `None` without it."""
    keywords = reading_of(**reading)
    if data is None and keywords:
        raise ConfigError(f"{', '.join(keywords)}: of which data? Name them by {option}")
    return None if data is None else pnde.open_data(data, **keywords)
