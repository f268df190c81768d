"""The command that reproduces the paper."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pnde.cli.options import folder_argument, parameters_of, spreading_options


@click.group(invoke_without_command=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="folder, new or to go on with; paper-PRESET",
)
@click.option(
    "--preset",
    type=click.Choice(["quick", "medium", "full"]),
    default="quick",
    show_default=True,
    help="quick: half an hour on two cores; medium: an hour a seed; full: the paper's Table IV, for a GPU",
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
@spreading_options
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
    jobs: int,
    scheduler: str | None,
) -> None:
    """Reproduce the paper: train, evaluate, measure, draw its figures, write its tables, check its claims."""
    if context.invoked_subcommand is not None:
        return
    from pnde.paper import Plan, reproduce
    from pnde.paper.studies import chosen

    studies = chosen(only.split(",") if only else None)
    plan = Plan(preset, studies, seeds, variant, horizon, parameters_of(changes))
    folder = output or Path(f"paper-{preset}")
    try:
        results, findings = reproduce(folder, plan, progress, jobs, scheduler)
    except KeyboardInterrupt:
        click.echo(
            f"\nstopped; the same command goes on from the last checkpoint in {folder}", err=True
        )
        sys.exit(130)
    _print_tables(results)
    _print_check(results, findings)


@paper.command("draw")
@folder_argument
def paper_draw(folder: Path) -> None:
    """Draw the figures and write the tables again, from what is in FOLDER."""
    from pnde.paper import Results, draw

    results = Results(folder)
    for path in draw(results):
        click.echo(str(path))
    _print_tables(results)


@paper.command("check")
@folder_argument
def paper_check(folder: Path) -> None:
    """Hold the paper's claims against the results in FOLDER; writes check.md and check.json."""
    from pnde.paper import Results, check

    results = Results(folder)
    _print_check(results, check(results))


def _print_tables(results: Any) -> None:
    for path in sorted((results.folder / "tables").glob("*.txt")):
        click.echo(path.read_text(encoding="utf-8"))


def _print_check(results: Any, findings: Any) -> None:
    from pnde.paper.check import count

    for name, finding in findings.items():
        click.echo(f"{finding.verdict:<40}  {name:<20}  {finding.claim}")
    click.echo(f"\n{count(findings)}; numbers in {results.folder / 'check.md'}")
