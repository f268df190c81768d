"""What came of a claim."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True)
class Finding:
    """A claim held against results.

    - `claim`: what the paper says; `rule`: when it counts as holding here.
    - `holds`: whether it does; `None` if the results to tell are not there.
    - `numbers`: what the verdict rests on.
    """

    claim: str
    rule: str
    holds: bool | None
    numbers: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return {True: "holds", False: "does not hold", None: "not tested"}[self.holds]


def finding(claim: str, rule: str, rows: list[dict], holds: bool) -> Finding:
    """A finding; not tested if there are no numbers."""
    return Finding(claim, rule, holds if rows else None, pd.DataFrame(rows))
