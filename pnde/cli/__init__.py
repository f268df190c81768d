"""The command line."""

from pnde.cli.main import main

__all__ = ["main"]
