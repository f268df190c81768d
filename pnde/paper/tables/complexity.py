"""Table II: complexity."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pnde.errors import RunError
from pnde.paper.complexity import THEORY, slope
from pnde.paper.results import Results
from pnde.paper.tables.writing import Table

_POWERS = {0: "", 1: "{}", 2: "{}²", 3: "{}³"}


def complexity(results: Results) -> Table | None:
    """How the cost of each operation grows with m and n: the paper's theory, and the slope that was measured."""
    try:
        measured = results.measured("complexity")
    except RunError:
        return None
    rows = []
    for (operation, method), (of_m, of_n) in THEORY.items():
        rows.append(
            {
                "operation": operation,
                "method": method,
                "theory": f"O({_POWERS[of_m].format('m')}{' ' if of_n else ''}{_POWERS[of_n].format('n')})",
                "exponent of m": of_m,
                "measured in m": _slope(measured, operation, method, "m"),
                "exponent of n": of_n,
                "measured in n": _slope(measured, operation, method, "n"),
            }
        )
    for operation in ("forward pass", "backward pass"):
        rows.append(
            {
                "operation": operation,
                "method": "chain",
                "theory": "O(N)",
                "exponent of m": 1,
                "measured in m": _slope(measured, operation, "chain", "N"),
                "exponent of n": np.nan,
                "measured in n": np.nan,
            }
        )
    frame = pd.DataFrame(rows)
    shown = frame[["operation", "method", "theory"]].copy()
    for letter in "mn":
        shown[f"slope in {letter}"] = [
            "–" if pd.isna(value) else f"{round(value, 2) + 0.0:.2f} ({exponent:g})"
            for value, exponent in zip(
                frame[f"measured in {letter}"], frame[f"exponent of {letter}"], strict=True
            )
        ]
    return Table(
        f"Complexity of the projection: measured exponent (theory). {_sizes(measured)} "
        "The chain of N links (m = 2 N, n = 4 N) is this package's own.",
        frame,
        shown,
    )


def _slope(measured: pd.DataFrame, operation: str, method: str, along: str) -> float:
    own = measured[
        (measured["operation"] == operation)
        & (measured["method"] == method)
        & (measured["along"] == along)
    ]
    # The smallest times: on a busy machine they are the least disturbed.
    return slope(own["m" if along == "N" else along], own["min_s"])


def _sizes(measured: pd.DataFrame) -> str:
    along_m = measured[measured["along"] == "m"]
    along_n = measured[measured["along"] == "n"]
    return (
        f"m from {along_m['m'].min()} to {along_m['m'].max()} at n = {along_m['n'].max()}, "
        f"n from {along_n['n'].min()} to {along_n['n'].max()} at m = {along_n['m'].max()}, double precision."
    )
