"""The errors behind the figures, which the paper does not print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pnde.paper.results import Results
from pnde.paper.studies import label
from pnde.paper.tables.writing import Table, number


def errors(results: Results) -> Table | None:
    """State and constraint errors and solver steps of each model: medians over the seeds of means over trajectories."""
    rows = []
    for one in results.studies:
        failures = results.failures(one.name)
        for model in one.models:
            seeds = results.seeds(one.name, model)
            row: dict[str, Any] = {"system": one.title, "model": label(model)}
            if not seeds:
                if model in failures:
                    rows.append({**row, "note": "could not be trained"})
                continue
            times, state = results.curves(one.name, model, "state_error")
            _, constraint = results.curves(one.name, model, "constraint_error")
            known = np.isfinite(state)
            middle = np.searchsorted(
                times, one.table_t_end if one.table_t_end < times[-1] else times[-1]
            )
            steps = [
                float(results.forecasts(one.name, (model,), s)[label(model)]["steps"].mean())
                for s in seeds
            ]
            failed, count = results.failed(one.name, model)
            rows.append(
                {
                    **row,
                    "state error, mean over time": float(
                        np.median([s[k].mean() for s, k in zip(state, known, strict=True)])
                    ),
                    "state error at t": float(np.median(state[:, middle])),
                    "t": float(times[middle]),
                    "constraint error, largest mean": float(
                        np.median(np.nanmax(constraint, axis=1))
                    ),
                    "solver steps": float(np.median(steps)),
                    "failed": f"{failed} of {count}",
                    "note": "",
                }
            )
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    return Table(
        "Errors on unseen trajectories: means over trajectories, of seeds the median.",
        frame,
        frame.map(number),
    )
