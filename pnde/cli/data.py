"""Commands about data: simulate, check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import pnde
from pnde.cli.options import (
    law_of,
    law_option,
    parameter_option,
    parameters_of,
    print_table,
    reading_of,
    reading_options,
    save,
)


@click.command()
@click.argument("system")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
@click.option("-n", "--trajectories", type=click.IntRange(1), default=280, show_default=True)
@click.option("--t-end", type=float, help="length of a trajectory")
@click.option("--dt", type=float, help="time between samples")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--initial-conditions", type=click.Choice(["paper", "code"]), default="paper")
@parameter_option
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

    values = parameters_of(parameters)
    made = system_for(system, values) or systems.get(system, **values)
    ds = made.simulate(trajectories, t_end, dt, seed, initial_conditions)
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
