"""`python -m pnde` is the `pnde` command."""

from pnde.cli import main

if __name__ == "__main__":
    main(prog_name="pnde")
