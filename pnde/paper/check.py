"""The paper's claims, held against the results."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from pnde import __version__
from pnde.files import write_bytes, write_json
from pnde.paper.claims import OF_MEASUREMENTS, OF_MODELS
from pnde.paper.claims.finding import Finding, over_seeds
from pnde.paper.results import Results
from pnde.paper.tables.writing import banded, markdown, number


def check(results: Results) -> dict[str, Finding]:
    """Hold every claim against the results, and write `check.md` and `check.json` in the folder.

    **Returns:** the findings by name. A claim that does not hold is a finding like any other.
    """
    seeds = [results.of(seed) for seed in range(1, results.plan.seeds + 1)]
    findings = {
        name: over_seeds([claim(one) for one in seeds]) for name, claim in OF_MODELS.items()
    }
    findings |= {name: claim(results) for name, claim in OF_MEASUREMENTS.items()}
    write_bytes(results.folder / "check.md", report(results, findings).encode())
    write_json(results.folder / "check.json", _record(results, findings))
    return findings


def count(findings: dict[str, Finding]) -> str:
    """How many claims hold, in a sentence."""
    verdicts = [finding.holds for finding in findings.values()]
    held, broken, untested = (verdicts.count(value) for value in (True, False, None))
    text = f"{held} of {held + broken} claims hold"
    return text + (f"; {untested} not tested here" if untested else "")


def report(results: Results, findings: dict[str, Finding]) -> str:
    """The report in Markdown."""
    plan = results.plan
    lines = [
        "# The paper's claims",
        "",
        f"{count(findings)} (preset {plan.preset}, {plan.seeds} seed{'s' if plan.seeds > 1 else ''}, as the paper's "
        f"{plan.variant} has it, test horizons of its {plan.horizon}"
        + (f", settings {json.dumps(plan.settings)}" if plan.settings else "")
        + ").",
        "",
        "| claim | verdict |",
        "|---|---|",
        *(f"| [{f.claim}](#{name}) | {_bold(f)} |" for name, f in findings.items()),
    ]
    for name, finding in findings.items():
        lines += [
            "",
            f"## {name}",
            "",
            f"{finding.claim} {finding.rule}",
            "",
            f"**{finding.verdict}**",
        ]
        if len(finding.numbers):
            lines += ["", markdown(_shown(finding))]
    return "\n".join([*lines, ""])


def _shown(finding: Finding) -> pd.DataFrame:
    """The numbers as a reader sees them, with their bands."""
    low, high = finding.smallest, finding.largest
    if low is None or high is None:
        return finding.numbers.map(number)
    return pd.DataFrame(
        {
            name: [banded(*three) for three in zip(column, low[name], high[name], strict=True)]
            for name, column in finding.numbers.items()
        }
    )


def _bold(finding: Finding) -> str:
    return finding.verdict if finding.holds else f"**{finding.verdict}**"


def _record(results: Results, findings: dict[str, Finding]) -> dict[str, Any]:
    return {
        "pnde": __version__,
        "preset": results.plan.preset,
        "seeds": results.plan.seeds,
        "claims": {
            name: {
                "claim": finding.claim,
                "rule": finding.rule,
                "holds": finding.holds,
                "seeds": finding.seeds,
                **{
                    name: [
                        {str(key): _plain(value) for key, value in row.items()}
                        for row in table.to_dict("records")
                    ]
                    for name in ("numbers", "smallest", "largest")
                    if (table := getattr(finding, name)) is not None
                },
            }
            for name, finding in findings.items()
        },
    }


def _plain(value: Any) -> Any:
    """A value that JSON knows; what is not finite becomes text."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
