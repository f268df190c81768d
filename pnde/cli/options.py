"""Options that commands share, and what they stand for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import click

from pnde.errors import ConfigError, nearest

law_option = click.option(
    "--law",
    metavar="FILE.py:NAME",
    help="a law of your own; rods: a chain of rods as long as the data show",
)
parameter_option = click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="of the system"
)
folder_argument = click.argument("folder", type=click.Path(path_type=Path))


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


def law_of(reference: str | None) -> Any:
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
        raise ConfigError(f"{file} has no {name!r}{nearest(name, vars(module))}")
    return getattr(module, name)


def print_table(table: Any) -> None:
    """A table on standard output."""
    click.echo(table.to_string(float_format=lambda x: f"{x:.3g}"))


def save(axes: Any, path: Path) -> None:
    """A picture as a file, whose name is told."""
    from pnde import plot

    click.echo(str(plot.save(axes, path)))
