"""Imported before NumPy, which starts threads: freed arrays stay with the process, as under the command line."""

from pnde.cli.process import keep_freed

keep_freed()
