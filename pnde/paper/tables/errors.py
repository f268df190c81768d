"""The errors behind the figures, which the paper does not print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pnde.metrics import valid_time
from pnde.paper.results import Results
from pnde.paper.studies import Study, label
from pnde.paper.tables.writing import Table, banded, number

#: Of the quantities: the parts of the distribution that are shown, and what the columns of its ends are called.
OVER_SEEDS = {0.5: "", 0.0: ", smallest", 1.0: ", largest"}
OVER_TRAJECTORIES = {0.5: "", 0.25: ", 25 %", 0.75: ", 75 %"}
QUANTITIES = {
    "state error, mean": OVER_SEEDS,
    "state error at t": OVER_SEEDS,
    "valid time": OVER_TRAJECTORIES,
    "constraint error": OVER_SEEDS,
    "solver steps": OVER_SEEDS,
}


def errors(results: Results) -> Table | None:
    """State and constraint errors, valid times and solver steps of each model."""
    rows = []
    for one in results.studies:
        for model in one.models:
            row = {"system": one.title, "model": label(model)}
            if results.seeds(one.name, model):
                rows.append(row | _row(results, one, model))
            elif any(model in results.of(s).failures(one.name) for s in results.seeds(one.name)):
                rows.append(row | {"note": "could not be trained"})
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    shown = frame.drop(
        columns=[f"{q}{end}" for q, ends in QUANTITIES.items() for end in ends.values() if end]
    )
    for quantity, ends in QUANTITIES.items():
        columns = (frame[f"{quantity}{end}"] for end in ends.values())
        shown[quantity] = [banded(*three) for three in zip(*columns, strict=True)]
    return Table(
        "Errors on unseen trajectories. State error: mean over trajectories, and over time or at t. Valid time: until "
        "the state error of a trajectory passes 0.1, median and quartiles over trajectories. Constraint error: mean "
        "over trajectories, the largest over time. Of seeds the median (smallest to largest).",
        frame,
        shown.map(number),
    )


def _row(results: Results, one: Study, model: str) -> dict[str, Any]:
    by_seed = [results.of(seed) for seed in results.seeds(one.name, model)]
    times, state = results.curves(one.name, model, "state_error")
    _, constraint = results.curves(one.name, model, "constraint_error")
    forecasts = [one_seed.forecast(one.name, model) for one_seed in by_seed]
    at = np.searchsorted(times, min(one.table_t_end, times[-1]))
    values = {
        "state error, mean": np.nanmean(state, axis=1),
        "state error at t": state[:, at],
        "valid time": np.concatenate([valid_time(forecast).values for forecast in forecasts]),
        "constraint error": np.nanmax(constraint, axis=1),
        "solver steps": np.array([float(forecast["steps"].mean()) for forecast in forecasts]),
    }
    failed, count = results.failed(one.name, model)
    row: dict[str, Any] = {"t": float(times[at])}
    for quantity, ends in QUANTITIES.items():
        row |= {
            f"{quantity}{end}": float(np.quantile(values[quantity], q)) for q, end in ends.items()
        }
    return row | {"failed": f"{failed} of {count}", "note": ""}
