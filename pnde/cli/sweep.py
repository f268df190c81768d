"""The command that trains many runs."""

from __future__ import annotations

from pathlib import Path

import click

from pnde.cli.joining import end
from pnde.cli.options import law_option, print_table, spreading_options


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="folder, new or to go on with; sweep-FILE",
)
@law_option
@spreading_options
def sweep(
    file: Path, output: Path | None, law: str | None, jobs: int, scheduler: str | None
) -> None:
    """Train all runs that FILE asks for, a grid or a list of settings, and compare them.

    The same command goes on with a sweep that was stopped.
    """
    from pnde.sweep import sweep

    folder = output or Path(f"sweep-{file.stem}")
    try:
        table = sweep(file, folder, law, jobs, scheduler)
    except ExceptionGroup as group:
        for error in group.exceptions:
            click.echo(f"pnde: {error}", err=True)
        end(2)
    except KeyboardInterrupt:
        click.echo(f"\nstopped; the same command goes on with {folder}", err=True)
        end(130)
    print_table(table)
    click.echo(f"\n{folder}: table.csv, sweep.png, and a folder for each run")
