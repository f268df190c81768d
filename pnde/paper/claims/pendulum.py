"""Claims on the pendulums."""

from __future__ import annotations

from typing import Any

from pnde.paper.claims import quantities
from pnde.paper.claims.finding import Finding, finding
from pnde.paper.results import Results
from pnde.paper.studies import ANGULAR_NDE, label, study

NAMES = ("pendulum-4", "pendulum-8")


def cartesian_beats_angular(results: Results) -> Finding:
    """State errors of the constrained models in Cartesian coordinates and of the NDE of the angles."""
    rows, holds = [], True
    for name in NAMES:
        one = study(name)
        models = [
            m for m in one.of_paper if results.has(name) and quantities.there(results, name, m)
        ]
        if ANGULAR_NDE not in models or len(models) < 2:
            continue
        errors = {m: quantities.state_error(results, name, m) for m in models}
        holds = holds and all(
            error < errors[ANGULAR_NDE] for m, error in errors.items() if m != ANGULAR_NDE
        )
        rows += [
            {"system": one.title, "model": label(m), "state error": e} for m, e in errors.items()
        ]
    return finding(
        "Constrained models in Cartesian coordinates predict better than an NDE of the angles.",
        "For each N, SNDE and PNDE have smaller state errors than the angular NDE, mean over trajectories and the "
        "whole test horizon.",
        rows,
        holds,
    )


def gap_grows(results: Results) -> Finding:
    """The ratio of the angular NDE's error to PNDE's, for both N."""
    rows: list[dict[str, Any]] = []
    for name in NAMES:
        if results.has(name) and quantities.there(results, name, ANGULAR_NDE, "pnde"):
            angular = quantities.state_error(results, name, ANGULAR_NDE)
            own = quantities.state_error(results, name, "pnde")
            rows.append(
                {
                    "system": study(name).title,
                    "angular NDE": angular,
                    "PNDE": own,
                    "ratio": angular / own,
                    "difference": angular - own,
                }
            )
    if len(rows) < 2:
        rows = []
    return finding(
        "The difference becomes more pronounced as N grows.",
        "The ratio of the angular NDE's state error to PNDE's is larger for N = 8 than for N = 4.",
        rows,
        len(rows) == 2 and rows[1]["ratio"] > rows[0]["ratio"],
    )
