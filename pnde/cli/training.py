"""Commands that train: train, resume."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import pnde
from pnde import engines
from pnde.cli.joining import end, join, joining_options
from pnde.cli.options import (
    folder_argument,
    law_option,
    parameter_option,
    parameters_of,
    print_table,
    reading_of,
    reading_options,
)
from pnde.errors import ConfigError, PndeError
from pnde.laws import law_of

if TYPE_CHECKING:
    from pnde.experiment import Experiment


@click.command()
@click.argument("source")
@click.option(
    "--preset", type=click.Choice(["quick", "medium", "paper"]), default="quick", show_default=True
)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="settings (TOML)")
@click.option(
    "-s", "--set", "changes", multiple=True, metavar="NAME=VALUE", help="change a setting"
)
@click.option("--models", help="such as nde,snde:10,pnde; the system's own by default")
@law_option
@reading_options
@click.option(
    "--tolerance",
    type=float,
    help="how far initial states may be off the law; short for -s tolerance=X",
)
@click.option("--order", type=click.Choice(["1", "2"]), help="2 if the states are (q, dq/dt)")
@click.option("--n", type=int, help="bobs of a pendulum; short for -p n=N")
@parameter_option
@click.option(
    "--voltage-band",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="p.u., of the loads of a power grid, kept by a pnde; short for -p voltage_band=[LOW,HIGH]",
)
@click.option(
    "--angle-limit",
    type=float,
    help="degrees, across the branches of a power grid; short for -p angle_limit=X",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="folder; runs/SOURCE-PRESET")
@joining_options
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
    tolerance: float | None,
    voltage_band: tuple[float, float] | None,
    angle_limit: float | None,
    distributed: bool,
    coordinator: str | None,
    processes: int | None,
    process: int | None,
    **reading: Any,
) -> None:
    """Train models on a built-in system or a data file SOURCE, evaluate them on unseen trajectories and draw them."""
    from pnde import systems
    from pnde.config import Config
    from pnde.errors import nearest
    from pnde.experiment import Experiment, preset_for, system_for, take_back, write
    from pnde.models import ModelKind

    joined = join(distributed, coordinator, processes, process)
    names = systems.names()
    if (
        source not in names
        and not Path(source).exists()
        and not any(mark in source for mark in "*?")
    ):
        raise ConfigError(
            f"{source!r} is neither a file nor a built-in system{nearest(source, names)}; "
            f"the systems are {', '.join(names)}"
        )
    values = parameters_of(parameters) | ({} if n is None else {"n": n})
    limits: dict[str, Any] = {}
    limits |= {} if voltage_band is None else {"voltage_band": list(voltage_band)}
    limits |= {} if angle_limit is None else {"angle_limit": angle_limit}
    if limits and not isinstance(system_for(source, values), systems.power_grid):
        raise ConfigError(
            f"{source} is no power grid, so that it has no limits of one: leave --voltage-band and --angle-limit out"
        )
    values |= limits
    system = system_for(source, values)
    kind = preset_for(source, system)
    settings = (
        joined | parameters_of(changes) | ({} if tolerance is None else {"tolerance": tolerance})
    )
    if config_file is not None:
        config, mechanical = Config.make(Config.read(config_file), **settings), None
    else:
        config = Config.make(Config.preset(kind, preset), **settings)
        mechanical = Config.make(Config.preset(kind, preset, "mechanical"), **settings)
    if values and system is None:
        raise ConfigError(
            f"{source} is a data file, whose system has no {', '.join(values)} to set with -p; columns that are "
            "parameters are named by --parameters"
        )
    default = ("nde", "pnde") if system is None else system.models
    chosen = tuple(models.split(",")) if models else default
    for name in chosen:
        ModelKind.parse(name)
    columns = reading_of(**reading)
    if columns and system is not None:
        raise ConfigError(f"{source} is simulated: it has no {', '.join(columns)} to choose")
    own_order = None if order is None else int(order)
    experiment = Experiment(
        source, chosen, config, values, law_of(law), own_order, columns, mechanical
    )
    stem = Path(source).stem.translate(str.maketrans("*?[]", "----"))
    folder = output or Path("runs") / f"{stem}-{preset}"
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(
            f"{folder} is not empty: go on with it by pnde resume {folder}, or name another folder with -o"
        )
    engines.meet()
    made = write(folder, experiment, law) if engines.leads() else []
    try:
        _run(experiment, folder, progress)
    except PndeError:
        if engines.leads():
            take_back(folder, made)
        raise


@click.command()
@folder_argument
@law_option
@click.option("--progress/--no-progress", default=True)
@joining_options
def resume(folder: Path, law: str | None, progress: bool, **joining: Any) -> None:
    """Go on with a training that was stopped."""
    from pnde.experiment import read
    from pnde.runs import is_run

    join(**joining)
    if is_run(folder):
        run = pnde.resume(folder, law_of(law), progress=progress)
        if engines.leads():
            print_table(run.evaluate())
        engines.meet()
    else:
        _run(read(folder, law_of(law)), folder, progress)


def _run(experiment: Experiment, folder: Path, progress: bool) -> None:
    try:
        results = experiment.run(folder, progress)
    except KeyboardInterrupt:
        click.echo(f"\nstopped; pnde resume {folder} goes on from the last checkpoint", err=True)
        end(130)
    if engines.leads():
        print_table(results)
        click.echo(f"\n{folder}: " + ", ".join(sorted(p.name for p in folder.iterdir())))
