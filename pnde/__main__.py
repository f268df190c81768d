"""`python -m pnde` is the `pnde` command."""

from pnde.cli import start

if __name__ == "__main__":
    start()
