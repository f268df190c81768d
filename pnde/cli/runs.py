"""Commands about runs: evaluate, rollout, export, plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import pnde
from pnde.cli.options import (
    folder_argument,
    law_option,
    parameters_of,
    print_table,
    reading_of,
    reading_options,
    save,
    times_of,
)
from pnde.errors import ConfigError, DataError, brief
from pnde.laws import law_of

bands_option = click.option(
    "--bands",
    type=float,
    metavar="SHARE",
    help="bands that hold this share of the truth, such as 0.9, calibrated on the valid trajectories",
)


@click.command()
@folder_argument
@law_option
@click.option("--data", type=click.Path(), help="other trajectories than the test ones")
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("--at", type=float, multiple=True, help="times at which to tell the state error")
@bands_option
@reading_options
def evaluate(
    folder: Path,
    law: str | None,
    data: str | None,
    t_end: float | None,
    at: tuple[float, ...],
    bands: float | None,
    **reading: Any,
) -> None:
    """Print the errors of the run or runs in FOLDER on their test trajectories."""
    import pandas as pd

    from pnde.experiment import runs_in

    runs = runs_in(folder, law_of(law))
    other = _opened(data, reading, "--data")
    tables = [run.evaluate(other, t_end, at=at or None, bands=bands) for run in runs]
    print_table(pd.concat(tables))


@click.command()
@folder_argument
@law_option
@click.option(
    "--initial",
    type=click.Path(),
    help="data whose first samples are the initial states; or these as an array (B, n) of NumPy, FILE.npy",
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
@click.option(
    "--to",
    "stream",
    type=click.Path(path_type=Path),
    help="file (.nc, .zarr) that is written in blocks, for any number of trajectories; goes on where it was stopped",
)
@click.option("--progress/--no-progress", default=True, help="of --to")
@bands_option
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
    stream: Path | None,
    progress: bool,
    bands: float | None,
    **reading: Any,
) -> None:
    """Forecast with the run or runs in FOLDER and save the result (.nc, .csv, .npz)."""
    from pnde.data import save_data
    from pnde.experiment import runs_in
    from pnde.metrics import table

    runs = runs_in(folder, law_of(law))
    jumps = times_of(reading.pop("jumps")) if inputs_from and reading["jumps"] else ()
    start = _initial(initial, {"jumps": None, **reading})
    conditions: dict[str, Any] = {
        "inputs": None if inputs_from is None else pnde.open_data(inputs_from),
        "parameters": parameters_of(own_parameters) or None,
        "jumps": jumps,
    }
    if stream is not None:
        if output is not None:
            raise ConfigError("-o and --to both name the file of the forecast: leave one out")
        if bands is not None:
            raise ConfigError("a forecast that is streamed by --to has no bands: leave --bands out")
        for run in runs:
            path = _own_path(stream, run, len(runs))
            run.rollout_to(path, start, t_end, dt, progress=progress, **conditions)
            click.echo(f"{run.label}: {path}")
        return
    conditions["bands"] = bands
    forecasts = {run.label: run.rollout(start, t_end, dt, **conditions) for run in runs}
    target = output or folder / "forecast.nc"
    for run in runs:
        path = _own_path(target, run, len(runs))
        save_data(forecasts[run.label], path)
        click.echo(f"{run.label}: {path}")
    print_table(table(forecasts))


@click.command()
@folder_argument
@law_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(["stablehlo", "npz"]),
    default="stablehlo",
    show_default=True,
    help="what jax.export writes; npz: the same as an array among weights and names",
)
@click.option(
    "--samples",
    type=click.IntRange(min=2),
    help="at how many times it forecasts; those of the test trajectories by default",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="file; forecast.stablehlo in FOLDER"
)
def export(
    folder: Path, law: str | None, kind: Any, samples: int | None, output: Path | None
) -> None:
    """Write the forecast of the run or runs in FOLDER as a program that JAX alone runs, and its signature."""
    from pnde.experiment import runs_in

    runs = runs_in(folder, law_of(law), engine="jax")
    target = output or folder / f"forecast.{kind}"
    for run in runs:
        path = run.export(_own_path(target, run, len(runs)), kind, samples)
        click.echo(f"{run.label}: {path}, {path.name}.txt")


def _own_path(target: Path, run: Any, count: int) -> Path:
    """One file for each of several runs."""
    return target if count == 1 else target.with_stem(f"{target.stem}-{run.model.kind.slug}")


@click.command()
@folder_argument
@law_option
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="folder; FOLDER by default")
@click.option("--animate", is_flag=True, help="film a pendulum too: animation.gif")
@bands_option
def plot(
    folder: Path,
    law: str | None,
    t_end: float | None,
    output: Path | None,
    animate: bool,
    bands: float | None,
) -> None:
    """Draw the errors, trajectories and training history of the run or runs in FOLDER."""
    from pnde import plot as draw
    from pnde.experiment import cartesian, runs_in

    runs, output = runs_in(folder, law_of(law)), output or folder
    pairs = [cartesian(run, run.rollout(t_end=t_end, bands=bands)) for run in runs]
    forecasts = {run.label: forecast for run, (_, forecast) in zip(runs, pairs, strict=True)}
    truth = pairs[-1][0]
    output.mkdir(parents=True, exist_ok=True)
    with draw.style():
        save(draw.errors(forecasts), output / "errors.png")
        if any("margin" in forecast for forecast in forecasts.values()):
            save(draw.margins(forecasts), output / "margins.png")
        if truth.sizes["state"] > 1:
            save(draw.phase(truth, forecasts), output / "phase.png")
        if "w" in truth or bands is not None:
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


def _initial(path: str | None, reading: dict[str, Any]) -> Any:
    """The data of `--initial`, or the states in an array of NumPy."""
    if path is None or Path(path).suffix.lower() != ".npy":
        return _opened(path, reading, "--initial")
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is no array of NumPy ({brief(error, 120)})") from None
