"""The claim of Appendix E."""

from __future__ import annotations

import numpy as np

from pnde.errors import RunError
from pnde.paper.claims.finding import Finding
from pnde.paper.complexity import slope
from pnde.paper.results import Results

TOLERANCE = 0.1


def infinite_gamma(results: Results) -> Finding:
    """The slope of SNDE's distance from PNDE over γ."""
    claim = (
        "As γ grows SNDE tends to PNDE: its velocity behind the boundary layer differs by O(1/γ)."
    )
    rule = (
        "With fixed weights (the quartic PNDE's) the slope of the velocity's difference in log γ is -1 "
        f"within {TOLERANCE}."
    )
    try:
        table = results.measured("limit")
    except RunError:
        return Finding(claim, rule, None)
    slopes = {
        column: slope(table["gamma"], table[column])
        for column in ("velocity", "path", "constraint")
    }
    shown = table.assign(gamma=table["gamma"].map("{:g}".format))
    shown.loc[len(shown)] = {"gamma": "slope", **slopes}
    return Finding(claim, rule, bool(np.abs(slopes["velocity"] + 1) <= TOLERANCE), shown)
