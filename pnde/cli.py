"""The `pnde` command."""

from __future__ import annotations

import gc
import importlib.util
import json
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import pnde
from pnde.errors import ConfigError, PndeError

if TYPE_CHECKING:
    from pnde.experiment import Experiment


class _Commands(click.Group):
    """Turns what a user can mend into one sentence and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PndeError as error:
            click.echo(f"pnde: {error}", err=True)
            sys.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(pnde.__version__)
def main() -> None:
    """Learn dynamics from data while known laws hold to machine precision."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("pnde").setLevel(logging.INFO)
    # The second start of a command finds its programs compiled.
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pnde" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    # JAX does not keep programs that call back to Python, as equinox's checks do; what they check has been checked.
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    # Tracing makes small objects by the million, and looking for garbage after each 700 is a tenth of the start.
    gc.set_threshold(100_000, 50, 50)


def _parameters(pairs: tuple[str, ...]) -> dict[str, Any]:
    """`name=value` pairs, the values read as TOML where they are, else as text."""
    import tomllib

    out = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ConfigError(f"write a setting as name=value, not {pair!r}")
        try:
            out[name.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            out[name.strip()] = text.strip()
    return out


def _law(reference: str | None) -> Any:
    """The function or Constraint that `FILE.py:NAME` names; `rods` is known by its name."""
    if reference is None or reference == "rods":
        return reference
    file, colon, name = reference.rpartition(":")
    if not colon:
        raise ConfigError(f"name a law as FILE.py:NAME, or rods; not {reference!r}")
    path = Path(file)
    if not path.exists():
        raise ConfigError(f"there is no file {file} to take the law {name!r} from")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        from pnde.errors import nearest

        raise ConfigError(f"{file} has no {name!r}{nearest(name, vars(module))}")
    return getattr(module, name)


_law_option = click.option(
    "--law",
    metavar="FILE.py:NAME",
    help="a law of your own; rods: a chain of rods as long as the data show",
)
_parameter_option = click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="of the system"
)
_folder = click.argument("folder", type=click.Path(path_type=Path))


@main.command()
@click.argument("system")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@click.option("-n", "--trajectories", type=click.IntRange(1), default=280, show_default=True)
@click.option("--t-end", type=float, help="length of a trajectory")
@click.option("--dt", type=float, help="time between samples")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--initial-conditions", type=click.Choice(["paper", "code"]), default="paper")
@_parameter_option
def simulate(
    system: str,
    output: Path,
    trajectories: int,
    t_end: float | None,
    dt: float | None,
    seed: int,
    initial_conditions: Any,
    parameters: tuple[str, ...],
) -> None:
    """Make a data set (.nc, .csv or .npz) of a built-in SYSTEM."""
    from pnde import systems
    from pnde.data import save_data, summary
    from pnde.experiment import system_for

    values = _parameters(parameters)
    made = system_for(system, values) or systems.get(system, **values)
    ds = made.simulate(trajectories, t_end, dt, seed, initial_conditions)
    save_data(ds, output)
    click.echo(summary(ds))


@main.command()
@click.argument("data")
@_law_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="picture of the deviations")
def check(data: str, law: str | None, output: Path | None) -> None:
    """Show how far DATA themselves stray from a law."""
    from pnde.metrics import deviation_table

    report = pnde.check(data, _law(law))
    _print_table(deviation_table(report))
    if output is not None:
        from pnde import plot

        with plot.style():
            _save(plot.check(report), output)


@main.command()
@click.argument("source")
@click.option("--preset", type=click.Choice(["quick", "paper"]), default="quick", show_default=True)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="settings (TOML)")
@click.option(
    "-s", "--set", "changes", multiple=True, metavar="NAME=VALUE", help="change a setting"
)
@click.option("--models", help="such as nde,snde:10,pnde; the system's own by default")
@_law_option
@click.option("--order", type=click.Choice(["1", "2"]), help="2 if the states are (q, dq/dt)")
@click.option("--n", type=int, help="bobs of a pendulum; short for -p n=N")
@_parameter_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="folder; runs/SOURCE-PRESET")
@click.option("--progress/--no-progress", default=True)
def train(
    source: str,
    preset: str,
    config_file: Path | None,
    changes: tuple[str, ...],
    models: str | None,
    law: str | None,
    order: str | None,
    n: int | None,
    parameters: tuple[str, ...],
    output: Path | None,
    progress: bool,
) -> None:
    """Train models on a built-in system or a data file SOURCE, evaluate them on unseen trajectories and draw them."""
    from pnde import systems
    from pnde.config import Config
    from pnde.errors import nearest
    from pnde.experiment import Experiment, settings, system_for, write

    names = systems.names()
    if source not in names and not Path(source).exists():
        raise ConfigError(
            f"{source!r} is neither a file nor a built-in system{nearest(source, names)}; "
            f"the systems are {', '.join(names)}"
        )
    values = _parameters(parameters) | ({} if n is None else {"n": n})
    system = system_for(source, values)
    kind = (
        "data" if system is None else "grid" if isinstance(system, systems.power_grid) else source
    )
    base = Config.preset(kind, preset) if config_file is None else Config.read(config_file)
    config = Config.make(base, **_parameters(changes))
    default = ("nde", "pnde") if system is None else system.models
    chosen = tuple(models.split(",")) if models else default
    for name in chosen:
        settings(name)
    experiment = Experiment(
        source, chosen, config, values, _law(law), None if order is None else int(order)
    )
    folder = output or Path("runs") / f"{Path(source).stem}-{preset}"
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            f"{folder} is not empty: go on with it by pnde resume {folder}, or name another folder with -o"
        )
    write(folder, experiment, law)
    _run(experiment, folder, progress)


@main.command()
@_folder
@_law_option
@click.option("--progress/--no-progress", default=True)
def resume(folder: Path, law: str | None, progress: bool) -> None:
    """Go on with a training that was stopped."""
    from pnde.experiment import read

    if (folder / "config.toml").exists():
        run = pnde.resume(folder, _law(law), progress=progress)
        _print_table(run.evaluate())
    else:
        _run(read(folder, _law(law)), folder, progress)


@main.command()
@_folder
@_law_option
@click.option("--data", type=click.Path(), help="other trajectories than the test ones")
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("--at", type=float, multiple=True, help="times at which to tell the state error")
def evaluate(
    folder: Path, law: str | None, data: str | None, t_end: float | None, at: tuple[float, ...]
) -> None:
    """Print the errors of the run or runs in FOLDER on their test trajectories."""
    import pandas as pd

    from pnde.experiment import runs_in

    runs = runs_in(folder, _law(law))
    _print_table(pd.concat([run.evaluate(data, t_end, at=at or None) for run in runs]))


@main.command()
@_folder
@_law_option
@click.option(
    "--initial", type=click.Path(), help="data whose first samples are the initial states"
)
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("--dt", type=float, help="time between samples")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="file; forecast.nc in FOLDER")
def rollout(
    folder: Path,
    law: str | None,
    initial: str | None,
    t_end: float | None,
    dt: float | None,
    output: Path | None,
) -> None:
    """Forecast with the run or runs in FOLDER and save the result (.nc, .csv, .npz)."""
    from pnde.data import save_data
    from pnde.experiment import file_name, runs_in
    from pnde.metrics import table

    forecasts = {run.label: run.rollout(initial, t_end, dt) for run in runs_in(folder, _law(law))}
    target = output or folder / "forecast.nc"
    for label, forecast in forecasts.items():
        # One file for each of several runs.
        stem = f"{target.stem}-{file_name(label)}"
        path = target if len(forecasts) == 1 else target.with_stem(stem)
        save_data(forecast, path)
        click.echo(f"{label}: {path}")
    _print_table(table(forecasts))


@main.command()
@_folder
@_law_option
@click.option("--t-end", type=float, help="end of the forecast")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="folder; FOLDER by default")
@click.option("--animate", is_flag=True, help="film a pendulum too: animation.gif")
def plot(
    folder: Path, law: str | None, t_end: float | None, output: Path | None, animate: bool
) -> None:
    """Draw the errors, trajectories and training history of the run or runs in FOLDER."""
    from pnde import plot as draw
    from pnde.experiment import cartesian, file_name, runs_in

    runs, output = runs_in(folder, _law(law)), output or folder
    pairs = [cartesian(run, run.rollout(t_end=t_end)) for run in runs]
    forecasts = {run.label: forecast for run, (_, forecast) in zip(runs, pairs, strict=True)}
    truth = pairs[-1][0]
    output.mkdir(parents=True, exist_ok=True)
    with draw.style():
        _save(draw.errors(forecasts), output / "errors.png")
        if truth.sizes["state"] > 1:
            _save(draw.phase(truth, forecasts), output / "phase.png")
        for run in runs:
            name = "history" if len(runs) == 1 else f"history-{file_name(run.label)}"
            _save(draw.history(run.history), output / f"{name}.png")
    if animate:
        click.echo(str(draw.animate(truth, forecasts, output / "animation.gif")))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="for programs to read")
def doctor(as_json: bool) -> None:
    """Show versions, devices and the state of both engines, and solve a small problem."""
    from pnde.doctor import examine

    findings = examine()
    if as_json:
        click.echo(json.dumps(findings, indent=2))
    else:
        width = max(len(name) for name in findings)
        for name, value in findings.items():
            click.echo(f"{name:<{width}}  {value}")


@main.group()
def setup() -> None:
    """Prepare an engine."""


@setup.command()
def julia() -> None:
    """Download Julia and the packages of the julia engine (needs a network)."""
    from pnde.engines.julia.setup import setup as set_up

    set_up()


@main.group(invoke_without_command=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="folder, new or to go on with; paper-PRESET",
)
@click.option(
    "--preset",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="quick: half an hour on two cores; full: the paper's Table IV, for a GPU",
)
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True)
@click.option("--only", metavar="STUDY,…", help="such as quartic,pendulum-4; all by default")
@click.option(
    "--variant",
    type=click.Choice(["text", "code"]),
    default="text",
    show_default=True,
    help="the paper's text or its authors' code, where they differ",
)
@click.option(
    "--horizon",
    type=click.Choice(["figures", "table"]),
    default="figures",
    show_default=True,
    help="of the test rollouts: as in the paper's figures, or T of its Table IV",
)
@click.option(
    "-s", "--set", "changes", multiple=True, metavar="NAME=VALUE", help="a setting of all studies"
)
@click.option("--progress/--no-progress", default=True)
@click.pass_context
def paper(
    context: click.Context,
    output: Path | None,
    preset: str,
    seeds: int,
    only: str | None,
    variant: str,
    horizon: str,
    changes: tuple[str, ...],
    progress: bool,
) -> None:
    """Reproduce the paper: train, evaluate, measure, draw its figures, write its tables, check its claims."""
    if context.invoked_subcommand is not None:
        return
    from pnde.paper import Plan, reproduce
    from pnde.paper.studies import chosen

    studies = chosen(only.split(",") if only else None)
    plan = Plan(preset, studies, seeds, variant, horizon, _parameters(changes))
    folder = output or Path(f"paper-{preset}")
    try:
        results = reproduce(folder, plan, progress)
    except KeyboardInterrupt:
        click.echo(
            f"\nstopped; the same command goes on from the last checkpoint in {folder}", err=True
        )
        sys.exit(130)
    _print_tables(results)
    _print_check(results)


@paper.command("draw")
@_folder
def paper_draw(folder: Path) -> None:
    """Draw the figures and write the tables again, from what is in FOLDER."""
    from pnde.paper import Results, draw

    results = Results(folder)
    for path in draw(results):
        click.echo(str(path))
    _print_tables(results)


@paper.command("check")
@_folder
def paper_check(folder: Path) -> None:
    """Hold the paper's claims against the results in FOLDER; writes check.md and check.json."""
    from pnde.paper import Results

    _print_check(Results(folder))


def _print_tables(results: Any) -> None:
    for path in sorted((results.folder / "tables").glob("*.txt")):
        click.echo(path.read_text(encoding="utf-8"))


def _print_check(results: Any) -> None:
    from pnde.paper import check
    from pnde.paper.check import count

    findings = check(results)
    for name, finding in findings.items():
        click.echo(f"{finding.verdict:<14}  {name:<20}  {finding.claim}")
    click.echo(f"\n{count(findings)}; numbers in {results.folder / 'check.md'}")


def _run(experiment: Experiment, folder: Path, progress: bool) -> None:
    try:
        results = experiment.run(folder, progress)
    except PndeError:
        # Nothing was trained: leave nothing behind.
        if not any(folder.rglob("state.safetensors")):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except KeyboardInterrupt:
        click.echo(f"\nstopped; pnde resume {folder} goes on from the last checkpoint", err=True)
        sys.exit(130)
    _print_table(results)
    click.echo(f"\n{folder}: " + ", ".join(sorted(p.name for p in folder.iterdir())))


def _print_table(table: Any) -> None:
    click.echo(table.to_string(float_format=lambda x: f"{x:.3g}"))


def _save(axes: Any, path: Path) -> None:
    import numpy as np

    figure = np.atleast_1d(axes).flat[0].figure
    figure.savefig(path)
    click.echo(str(path))
