"""Commands about the installation: doctor, setup."""

from __future__ import annotations

import json

import click


@click.command()
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


@click.group()
def setup() -> None:
    """Prepare an engine."""


@setup.command()
def julia() -> None:
    """Download Julia and the packages of the julia engine (needs a network)."""
    from pnde.engines import set_up

    set_up("julia")
