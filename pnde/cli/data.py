"""Commands about data: simulate, check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import pnde
from pnde.cli.options import (
    jumps_option,
    law_option,
    parameter_option,
    parameters_of,
    print_table,
    reading_of,
    reading_options,
    save,
    times_of,
)
from pnde.errors import ConfigError
from pnde.laws import law_of


@click.command()
@click.argument("system")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@click.option(
    "-n", "--trajectories", type=click.IntRange(1), help="280, or as many as there are profiles"
)
@click.option(
    "--t-end", type=float, help="length of a trajectory; the system's own, or that of --loads"
)
@click.option("--dt", type=float, help="time between samples")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--initial-conditions", type=click.Choice(["paper", "code"]), default="paper")
@parameter_option
@click.option(
    "--loads",
    type=click.Path(),
    help="what a grid's loads draw over time: columns time, 'P load 4' (MW), 'Q load 4' (Mvar), …; with a column "
    "trajectory, a profile for each",
)
@click.option(
    "--interpolation",
    type=click.Choice(["linear", "cubic", "held"]),
    default="linear",
    show_default=True,
    help="of --loads between its rows",
)
@jumps_option
def simulate(
    system: str,
    output: Path,
    trajectories: int | None,
    t_end: float | None,
    dt: float | None,
    seed: int,
    initial_conditions: Any,
    parameters: tuple[str, ...],
    loads: str | None,
    interpolation: Any,
    jumps: str | None,
) -> None:
    """Make a data set (.nc, .csv or .npz) of a built-in SYSTEM, or of a power grid's file."""
    from pnde import systems
    from pnde.data import save_data, summary
    from pnde.experiment import system_for

    values = parameters_of(parameters)
    made, driving = system_for(system, values) or systems.get(system, **values), None
    if loads is not None:
        if not isinstance(made, systems.power_grid):
            raise ConfigError(f"{system} is no power grid, so it has no --loads; leave that out")
        moments = times_of(jumps) if jumps else None
        made, driving = systems.driven_by(made, loads, t_end, dt, interpolation, moments)
        assert driving.w is not None
        profiles = 1 if driving.w.ndim == 2 else len(driving.w)
        trajectories = trajectories or (280 if profiles == 1 else profiles)
        if profiles not in (1, trajectories):
            raise ConfigError(
                f"{loads} has {profiles} profiles, but -n asks for {trajectories} trajectories: give one profile for "
                "all of them, or one for each"
            )
    elif jumps or interpolation != "linear":
        raise ConfigError("--jumps and --interpolation are of the profile that --loads names")
    ds = made.simulate(trajectories or 280, t_end, dt, seed, initial_conditions, driving=driving)
    save_data(ds, output)
    click.echo(summary(ds))


@click.command()
@click.argument("data")
@law_option
@reading_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="picture of the deviations")
def check(data: str, law: str | None, output: Path | None, **reading: Any) -> None:
    """Show how far DATA themselves stray from a law."""
    from pnde.metrics import deviation_table

    report = pnde.check(pnde.open_data(data, **reading_of(**reading)), law_of(law))
    print_table(deviation_table(report))
    if output is not None:
        from pnde import plot

        with plot.style():
            save(plot.check(report), output)


@click.command()
@click.argument("data")
@law_option
@reading_options
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
def project(data: str, law: str | None, output: Path, **reading: Any) -> None:
    """Put measured DATA on the manifold of a law, and say how far each sample moved."""
    from pnde.data import save_data

    done = pnde.project(pnde.open_data(data, **reading_of(**reading)), law_of(law))
    save_data(done, output)
    moved = done["moved"]
    click.echo(
        f"{output}: moved by {float(moved.median()):.3g} standard deviations in the median, at most by "
        f"{float(moved.max()):.3g}"
    )
