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
@click.option("--gpu", is_flag=True, help="also install CUDA.jl")
@click.option("--magma", type=click.Path(), help="a MAGMA library to factor with on the GPU")
@click.option("--powerdynamics", is_flag=True, help="also install PowerDynamics.jl")
def julia(gpu: bool, magma: str | None, powerdynamics: bool) -> None:
    """Download Julia and the packages of the julia engine (needs a network)."""
    from pnde.engines import set_up

    set_up("julia", gpu=gpu, powerdynamics=powerdynamics, magma=magma)
