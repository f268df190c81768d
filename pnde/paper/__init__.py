"""The paper, reproduced: every figure, every table and every claim, from data to PDF.

    pnde paper -o paper                 # all of it, small networks: about half an hour on two cores
    pnde paper -o paper --preset full   # the settings of the paper's Table IV, for a GPU
    pnde paper draw paper               # figures and tables again, from what is there
    pnde paper check paper              # the paper's claims, held against the results

The folder holds `paper.json` (what was asked for), `runs/seed-S/STUDY` (an experiment folder of `pnde.experiment` with
the forecasts in `evaluation/`), `measured` (times), `figures`, `tables`, and the report of the check. Whatever is there
is used as it is, so the same command goes on where it was stopped.
"""

from pnde.paper.check import check
from pnde.paper.draw import draw
from pnde.paper.plan import Plan
from pnde.paper.reproduce import reproduce
from pnde.paper.results import Results

__all__ = ["Plan", "Results", "check", "draw", "reproduce"]
