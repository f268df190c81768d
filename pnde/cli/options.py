"""Options that commands share, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pnde.errors import ConfigError

law_option = click.option(
    "--law",
    metavar="FILE.py:NAME",
    help="a law of your own; rods: a chain of rods as long as the data show, or rods:1,0.5 of these lengths",
)
parameter_option = click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="of the system"
)
jumps_option = click.option("--jumps", metavar="TIME,…", help="at which inputs jump")
_READING = (
    click.option("--columns", metavar="NAME,…", help="the states, in this order; all by default"),
    click.option("--inputs", metavar="NAME,…", help="the columns that are inputs w(t)"),
    click.option(
        "--parameters",
        "parameter_columns",
        metavar="NAME,…",
        help="the columns that are parameters, the same throughout each trajectory",
    ),
    click.option(
        "--interpolation",
        metavar="KIND|NAME=KIND,…",
        help="of inputs between samples: linear (by default), cubic or held",
    ),
    jumps_option,
    click.option("--rename", "renames", multiple=True, metavar="OLD=NEW", help="of a column"),
    click.option("--time", "time_column", metavar="NAME", help="the column of the times"),
    click.option(
        "--trajectory",
        "trajectory_column",
        metavar="NAME",
        help="the column that tells trajectories apart",
    ),
    click.option(
        "--unwrap", metavar="NAME,…", help="angles that jump by a full turn; all: those that do"
    ),
)


def reading_options(command: Any) -> Any:
    """The options of `reading_of`."""
    for option in reversed(_READING):
        command = option(command)
    return command


def reading_of(
    columns: str | None,
    inputs: str | None,
    parameter_columns: str | None,
    interpolation: str | None,
    jumps: str | None,
    renames: tuple[str, ...],
    time_column: str | None,
    trajectory_column: str | None,
    unwrap: str | None,
) -> dict[str, Any]:
    """The keywords of `pnde.data.open_data` that the options of `reading_options` stand for."""
    pairs = [pair.partition("=") for pair in renames]
    for old, equals, new in pairs:
        if not (old and equals and new):
            raise ConfigError(f"write a new name as OLD=NEW, not {(old + equals + new)[:60]!r}")
    given = {
        "states": columns.split(",") if columns else None,
        "inputs": inputs.split(",") if inputs else None,
        "parameters": _parameter_columns(parameter_columns) if parameter_columns else None,
        "interpolation": _interpolation(interpolation) if interpolation else None,
        "jumps": times_of(jumps) if jumps else None,
        "rename": {old: new for old, _, new in pairs} or None,
        "time": time_column,
        "trajectory": trajectory_column,
        "unwrap": True if unwrap == "all" else unwrap.split(",") if unwrap else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _parameter_columns(text: str) -> list[str]:
    if "=" in text:
        raise ConfigError(
            f"--parameters names columns of the data, such as L,m; a parameter of a built-in system is "
            f"-p {text.partition(',')[0][:60]}"
        )
    return text.split(",")


def _interpolation(text: str) -> str | dict[str, str]:
    """`held` for all inputs, or `F=held,G=linear`."""
    pairs = [pair.partition("=")[::2] for pair in text.split(",")]
    return dict(pairs) if "=" in text else text


def times_of(text: str) -> list[float]:
    """The times that `--jumps` names."""
    try:
        return [float(time) for time in text.split(",")]
    except ValueError:
        raise ConfigError(f"write --jumps as times, such as 3.0,4.5, not {text[:60]!r}") from None


folder_argument = click.argument("folder", type=click.Path(path_type=Path))


def spreading_options(command: Any) -> Any:
    """Where independent trainings run: `jobs` and `scheduler`."""
    jobs = click.option(
        "--jobs", type=click.IntRange(1), default=1, show_default=True, help="processes at a time"
    )
    scheduler = click.option(
        "--scheduler", metavar="ADDRESS", help="of dask.distributed, whose workers train instead"
    )
    return jobs(scheduler(command))


def parameters_of(pairs: tuple[str, ...]) -> dict[str, Any]:
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


def print_table(table: Any) -> None:
    """A table on standard output."""
    click.echo(table.to_string(float_format=lambda x: f"{x:.3g}"))


def save(axes: Any, path: Path) -> None:
    """A picture as a file, whose name is told."""
    from pnde import plot

    click.echo(str(plot.save(axes, path)))
