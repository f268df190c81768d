"""The `pnde` command."""

from __future__ import annotations

import logging
from typing import Any

import click

import pnde
from pnde.cli.data import check, project, simulate
from pnde.cli.joining import complete, end
from pnde.cli.paper import paper
from pnde.cli.runs import evaluate, export, plot, rollout
from pnde.cli.sweep import sweep
from pnde.cli.tools import doctor, setup
from pnde.cli.training import resume, train
from pnde.errors import PndeError


class _Commands(click.Group):
    """Turns what a user can mend into one sentence and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            complete()
            return result
        except PndeError as error:
            click.echo(f"pnde: {error}", err=True)
            end(2)
        except MemoryError:
            click.echo(
                "pnde: there is not enough memory; take fewer trajectories, a smaller batch_size or a larger dt",
                err=True,
            )
            end(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(pnde.__version__)
def main() -> None:
    """Learn dynamics from data while known laws hold to machine precision."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    logging.getLogger("pnde").setLevel(logging.INFO)


for _command in (
    simulate,
    check,
    project,
    train,
    resume,
    evaluate,
    rollout,
    export,
    plot,
    doctor,
    setup,
    sweep,
    paper,
):
    main.add_command(_command)
