"""What came of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

#: Columns that say what a row of numbers is about.
KEYS = ("system", "device", "model")


@dataclass(frozen=True)
class Finding:
    """A claim held against results.

    - `claim`: what the paper says; `rule`: when it counts as holding here.
    - `holds`: whether it does, for every seed; `None` if it could not be told here.
    - `numbers`: what the verdict rests on; of several seeds the medians.
    - `smallest`, `largest`: of several seeds, the numbers' band.
    - `seeds`: for how many seeds the claim holds, of how many.
    - `want`: what it would take to tell, where that is not known.
    """

    claim: str
    rule: str
    holds: bool | None
    numbers: pd.DataFrame = field(default_factory=pd.DataFrame)
    smallest: pd.DataFrame | None = None
    largest: pd.DataFrame | None = None
    seeds: tuple[int, int] = (1, 1)
    want: str = "results"

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.holds is None:
            return f"not tested here, for want of {self.want}"
        held, count = self.seeds
        if count > 1:
            return f"holds for {held} of {count} seeds"
        return "holds" if self.holds else "does not hold"


def finding(claim: str, rule: str, rows: list[dict], holds: bool, want: str = "results") -> Finding:
    """A finding; not tested if there are no numbers."""
    if not rows:
        return Finding(claim, rule, None, want=want)
    return Finding(claim, rule, holds, pd.DataFrame(rows), seeds=(int(holds), 1))


def over_seeds(findings: Sequence[Finding]) -> Finding:
    """One finding of those of several seeds: it holds if it does for all of which it could be told."""
    told = [one for one in findings if one.holds is not None]
    if len(told) < 2:
        return (told or findings)[0]
    held = sum(bool(one.holds) for one in told)
    rows = pd.concat([one.numbers for one in told], ignore_index=True)
    middle, low, high = (_each(rows, what) for what in ("median", "min", "max"))
    seeds = (held, len(told))
    return Finding(told[0].claim, told[0].rule, held == len(told), middle, low, high, seeds)


def _each(rows: pd.DataFrame, what: str) -> pd.DataFrame:
    """A row for each key: of numbers the median, the smallest or the largest, of words all that there are."""
    keys = [name for name in KEYS if name in rows]

    def one(column: pd.Series) -> object:
        if pd.api.types.is_numeric_dtype(column):
            # Not NaN beside infinite ones, of which a median between two would be.
            return getattr(column.dropna(), what)() if column.notna().any() else np.nan
        return "; ".join(dict.fromkeys(column.astype(str)))

    groups = rows.groupby(keys, sort=False, dropna=False)
    return groups.agg({name: one for name in rows if name not in keys}).reset_index()[[*rows]]
