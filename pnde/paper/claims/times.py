"""Claims on what the projection costs, at the paper's network sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pnde.errors import RunError
from pnde.paper.claims import quantities
from pnde.paper.claims.finding import Finding, finding
from pnde.paper.results import Results
from pnde.paper.studies import Study, label
from pnde.published import TIMES

#: The columns of Table I.
TRAIN, FORWARD, SOLVE = range(3)
SIZE = "at the paper's network sizes with random weights"
PAPER = (
    "(the paper's largest ratio, on an NVIDIA H100); less than the paper's smallest is no failure."
)


def training_ratio(results: Results) -> Finding:
    """PNDE / NDE in a training step."""
    most = 2.58
    return _ratio(
        results,
        "Training PNDE takes 1.15 to 2.58 times as long as NDE.",
        f"In every system a training step {SIZE}, of as many steps of the solver, takes at most {most:g} times as long "
        + PAPER,
        TRAIN,
        "train",
        most,
    )


def forward_ratio(results: Results) -> Finding:
    """PNDE / NDE in a forward pass."""
    most = 2.81
    return _ratio(
        results,
        "A forward pass of PNDE takes 1.23 to 2.81 times as long.",
        f"In every system a forward pass {SIZE} takes at most {most:g} times as long {PAPER}",
        FORWARD,
        "forward",
        most,
    )


def solve_ratio(results: Results) -> Finding:
    """PNDE / NDE in a solve: in a forward pass, times the steps that the trained models take."""
    most = 2.13
    return _ratio(
        results,
        "Solving PNDE takes 1.00 to 2.13 times as long as NDE.",
        f"In every system the ratio of a forward pass {SIZE}, times the ratio of the steps that the trained models "
        f"take, is at most {most:g} {PAPER}",
        SOLVE,
        "forward",
        most,
    )


def snde_is_slower(results: Results) -> Finding:
    """A forward pass of PNDE and of the SNDE, which on a processor the network hides."""
    rows, holds = [], True
    for one, device, times in _measured(results, "forward"):
        others = times.filter(like="SNDE")
        if times.attrs["platform"] == "cpu" or "PNDE" not in times or others.empty:
            continue
        holds = holds and bool(times["PNDE"] < others.min())
        row = {"system": one.title, "device": device}
        rows.append({**row, "PNDE (ms)": times["PNDE"], "fastest SNDE (ms)": others.min()})
    return finding(
        "A forward pass of PNDE is faster than one of SNDE.",
        f"On a GPU, in every system, PNDE's median {SIZE} is below that of every SNDE.",
        rows,
        holds,
        want="a GPU",
    )


def _ratio(results: Results, claim: str, rule: str, column: int, what: str, most: float) -> Finding:
    """The ratio for every system and device, beside the paper's."""
    rows: list[dict[str, Any]] = []
    for one, device, times in _measured(results, what):
        base = label(one.baseline)
        if base not in times or "PNDE" not in times:
            continue
        ratio = float(times["PNDE"] / times[base])
        if column == SOLVE:
            ratio *= _steps(results, one, "pnde") / _steps(results, one, one.baseline)
        theirs = TIMES[one.name, "PNDE"][column] / TIMES[one.name, base][column]
        rows.append({"system": one.title, "device": device, "PNDE / NDE": ratio, "paper": theirs})
    holds = all(row["PNDE / NDE"] <= most for row in rows)  # never of a NaN
    return finding(claim, rule, rows, holds)


def _measured(results: Results, what: str) -> list[tuple[Study, str, pd.Series]]:
    """Milliseconds by model for each study and device."""
    out = []
    for one in results.studies:
        try:
            table = results.measured(f"costs-{one.name}")
        except RunError:
            continue
        own = table[table["what"] == what]
        for device, rows in own.groupby("device", sort=False):
            times = rows.set_index("model")["median_ms"]
            times.attrs["platform"] = rows["platform"].iloc[0]
            out.append((one, str(device), times))
    return out


def _steps(results: Results, one: Study, model: str) -> float:
    """The median over seeds of the steps of the solver in a forecast."""
    seeds = results.seeds(one.name, model)
    steps = [quantities.solver_steps(results.of(seed), one.name, model) for seed in seeds]
    return float(np.median(steps)) if steps else np.nan
