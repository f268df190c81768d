"""Table I: training and inference times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pnde.errors import RunError
from pnde.paper.results import Results
from pnde.paper.studies import label
from pnde.paper.tables.writing import Table, number
from pnde.published import TIMES

#: What is known of the calls that were timed.
CALLS = ("batch", "median_ms", "min_ms", "max_ms", "calls", "compile_s")


def times(results: Results) -> Table | None:
    """Training, forward pass and solve of each model: medians with their range, compilation apart, by device.

    Training is the sum of the epochs' times without what the first epoch took longer than the median one, which is
    compilation; forward pass and solve as `pnde.paper.measure` measured them. The paper's numbers stand beside them.
    """
    frame = time_table(results)
    if frame.empty:
        return None
    shown = pd.DataFrame(
        {
            "System": frame["system"],
            "Model": frame["model"],
            "Train (min)": frame["train_min"].map(number),
            "Fwd. pass (ms)": _spread(frame, "forward"),
            "Solve (ms)": _spread(frame, "solve"),
            "Compile (s)": [
                " + ".join(
                    number(row[f"{what}_compile_s"], 2) for what in ("train", "forward", "solve")
                )
                for _, row in frame.iterrows()
            ],
            "Paper": [
                "–"
                if pd.isna(row["paper_train_min"])
                else f"{row['paper_train_min']:g} / {row['paper_forward_ms']:g} / {row['paper_solve_ms']:g}"
                for _, row in frame.iterrows()
            ],
        }
    )
    parts = [
        f"{device}: forward pass of {number(rows['forward_batch'].max(), 4)} states, solve of "
        f"{number(rows['solve_batch'].max(), 4)} trajectories"
        for device, rows in frame.groupby("device", sort=False)
    ]
    if frame["device"].nunique() > 1:
        shown.insert(2, "Device", frame["device"])
    return Table(
        f"Times: median (smallest to largest). {'; '.join(parts)}. "
        "Compilation of training, forward pass and solve. Paper: NVIDIA H100, batch 1024, min / ms / ms.",
        frame,
        shown,
    )


def time_table(results: Results) -> pd.DataFrame:
    """The numbers of Table I, a row for each system, model and device."""
    rows: list[dict[str, Any]] = []
    for one in results.studies:
        try:
            measured = results.measured(f"times-{one.name}")
        except RunError:
            continue
        for model in one.models:
            seeds = results.seeds(one.name, model)
            if not seeds:
                continue
            trained = [training_time(results, one.name, model, s) for s in seeds]
            paper = TIMES.get((one.name, label(model)), (np.nan,) * 3)
            own = measured[measured["model"] == label(model)]
            for device, calls in own.groupby("device", sort=False):
                row: dict[str, Any] = {
                    "study": one.name,
                    "system": one.title,
                    "model": label(model),
                    "device": device,
                    "train_min": float(np.median([t for t, _ in trained])) / 60,
                    "train_min_smallest": min(t for t, _ in trained) / 60,
                    "train_min_largest": max(t for t, _ in trained) / 60,
                    "train_compile_s": float(np.median([c for _, c in trained])),
                }
                row |= {f"{what}_{name}": np.nan for what in ("forward", "solve") for name in CALLS}
                for _, call in calls.iterrows():
                    for name in CALLS:
                        row[f"{call['what']}_{name}"] = call[name]
                for name, value in zip(("train_min", "forward_ms", "solve_ms"), paper, strict=True):
                    row[f"paper_{name}"] = value
                rows.append(row)
    return pd.DataFrame(rows)


def training_time(results: Results, name: str, model: str, seed: int) -> tuple[float, float]:
    """Seconds of training without compilation, and of compilation, which a single epoch does not tell."""
    _, history = results.report(name, model, seed)
    seconds = history["seconds"].to_numpy(float)
    usual = float(np.median(seconds[1:] if len(seconds) > 1 else seconds))
    compilation = max(0.0, float(seconds[0]) - usual)
    return float(seconds.sum()) - compilation, compilation


def _spread(frame: pd.DataFrame, what: str) -> list[str]:
    return [
        "not solved"
        if pd.isna(row[f"{what}_median_ms"])
        else f"{number(row[f'{what}_median_ms'])} ({number(row[f'{what}_min_ms'])} to {number(row[f'{what}_max_ms'])})"
        for _, row in frame.iterrows()
    ]
