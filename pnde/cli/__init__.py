"""The command line."""

from pnde.cli.process import prepare


def start() -> None:
    """The `pnde` command. The process is prepared before anything large is imported."""
    prepare()
    from pnde.cli.main import main

    main(prog_name="pnde")
