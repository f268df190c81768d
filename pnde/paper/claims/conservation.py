"""Claims on the quartic potential and on Lotka-Volterra."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.paper.claims import quantities
from pnde.paper.claims.finding import Finding, finding
from pnde.paper.results import Results
from pnde.paper.studies import label, study

#: What the training says of a loss that diverged.
DIVERGED = "loss is not finite"


def beats_nde(results: Results) -> Finding:
    """State errors of PNDE and of NDE."""
    rows, errors = _errors(results)
    return finding(
        "On the quartic potential and on Lotka–Volterra NDE's error grows rapidly; PNDE predicts the state better.",
        "PNDE has a smaller state error than NDE, mean over trajectories and the whole test horizon; a failed "
        "trajectory counts with 1.",
        [row for row in rows if row["model"] in ("NDE", "PNDE")],
        all("nde" in own and own["pnde"] < own["nde"] for own in errors),
    )


def best_state(results: Results) -> Finding:
    """State errors of all models, over the test horizon and over that of the training data."""
    rows, errors = _errors(results)
    return finding(
        "On the quartic potential and on Lotka–Volterra PNDE predicts the state most accurately of all models.",
        "PNDE has the smallest state error, mean over trajectories and the whole test horizon, by however little; "
        "a failed trajectory counts with 1.",
        rows,
        all(min(own, key=lambda m: own[m]) == "pnde" for own in errors),
    )


def _errors(results: Results) -> tuple[list[dict[str, Any]], list[dict[str, float]]]:
    """A row for each model, and for each system the errors by model."""
    rows, every = [], []
    for name in ("quartic", "lotka-volterra"):
        one = study(name)
        models = [m for m in one.models if results.has(name) and quantities.there(results, name, m)]
        if "pnde" not in models or len(models) < 2:
            continue
        errors = {m: quantities.state_error(results, name, m) for m in models}
        every.append(errors)
        rows += [
            {
                "system": one.title,
                "model": label(m),
                "state error": errors[m],
                f"up to t = {one.table_t_end:g}": quantities.state_error(
                    results, name, m, one.table_t_end
                ),
                "failed": results.failed(name, m)[0],
            }
            for m in models
        ]
    return rows, every


def snde_cannot_be_trained(results: Results) -> Finding:
    """What came of the attempts at SNDE on Lotka-Volterra."""
    name, rows, holds = "lotka-volterra", [], True
    failures = results.failures(name)
    for model in study(name).stabilised if results.has(name) else ():
        row: dict[str, Any] = {"model": label(model), "state error": np.nan, "failed": np.nan}
        if model in failures:
            holds = holds and DIVERGED in failures[model]
            rows.append({**row, "outcome": failures[model]})
        elif quantities.there(results, name, model):
            holds = False
            error = quantities.state_error(results, name, model)
            failed, _ = results.failed(name, model)
            rows.append({**row, "state error": error, "failed": failed, "outcome": "trained"})
    return finding(
        "SNDE cannot be trained on Lotka–Volterra, whose constraint diverges at the border of the domain.",
        "Training stops with a loss that is not finite for every γ that was tried; other failures do not count. Of "
        "models that could be trained: state error, and how many test trajectories failed.",
        rows,
        holds,
    )
