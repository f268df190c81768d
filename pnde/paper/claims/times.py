"""Claims on what the projection costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pnde.paper.claims.finding import Finding, finding
from pnde.paper.results import Results
from pnde.paper.tables.times import time_table


def training_ratio(results: Results) -> Finding:
    """PNDE / NDE in training, without compilation."""
    return _ratio(
        results, "train_min", "Training PNDE takes 1.15 to 2.58 times as long as NDE.", 2.58
    )


def forward_ratio(results: Results) -> Finding:
    """PNDE / NDE in a forward pass."""
    return _ratio(
        results,
        "forward_median_ms",
        "A forward pass of PNDE takes 1.23 to 2.81 times as long.",
        2.81,
    )


def solve_ratio(results: Results) -> Finding:
    """PNDE / NDE in a solve."""
    return _ratio(
        results, "solve_median_ms", "Solving PNDE takes 1.00 to 2.13 times as long as NDE.", 2.13
    )


def snde_is_slower(results: Results) -> Finding:
    """A forward pass of PNDE and of the SNDE."""
    table, rows, holds = _table(results), [], True
    for (system, device), own in table.groupby(["system", "device"], sort=False):
        by_model = own.set_index("model")["forward_median_ms"]
        others = by_model[by_model.index.str.startswith("SNDE")]
        if "PNDE" not in by_model or others.empty:
            continue
        holds = holds and bool(by_model["PNDE"] < others.min())
        rows.append(
            {
                "system": system,
                "device": device,
                "PNDE (ms)": by_model["PNDE"],
                "fastest SNDE (ms)": others.min(),
            }
        )
    return finding(
        "A forward pass of PNDE is faster than one of SNDE.",
        "In every system PNDE's median is below that of every SNDE.",
        rows,
        holds,
    )


def _ratio(results: Results, column: str, claim: str, most: float) -> Finding:
    """The ratio for every system and device, beside the paper's; it holds if none is above the paper's largest."""
    table, rows = _table(results), list[dict[str, Any]]()
    for (system, device), own in table.groupby(["system", "device"], sort=False):
        base = own[own["model"].isin(["NDE", "angular NDE"])]
        projected = own[own["model"] == "PNDE"]
        if base.empty or projected.empty:
            continue
        paper = f"paper_{column.replace('_median', '')}"
        ratio = float(projected[column].iloc[0] / base[column].iloc[0])
        theirs = float(projected[paper].iloc[0] / base[paper].iloc[0])
        rows.append({"system": system, "device": device, "PNDE / NDE": ratio, "paper": theirs})
    return finding(
        claim,
        f"In every system PNDE takes at most {most:g} times as long as NDE (the paper's largest ratio, on an NVIDIA "
        "H100 with larger networks); taking less than the paper's smallest is no failure.",
        rows,
        all(row["PNDE / NDE"] <= most and np.isfinite(row["PNDE / NDE"]) for row in rows),
    )


def _table(results: Results) -> pd.DataFrame:
    columns = ["system", "device", "model", "train_min", "forward_median_ms", "solve_median_ms"]
    table = time_table(results)
    return pd.DataFrame(columns=columns) if table.empty else table
