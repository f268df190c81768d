"""Claims on the constraint error and on what SNDE pays for a small one."""

from __future__ import annotations

from itertools import pairwise

from pnde.paper.claims import quantities
from pnde.paper.claims.finding import Finding, finding
from pnde.paper.results import Results
from pnde.paper.studies import Study, label

#: What counts as orders of magnitude: two at least.
ORDERS = 100.0


def constraint_error(results: Results) -> Finding:
    """PNDE against the best SNDE of each study."""
    rows, holds = [], True
    for one in results.studies:
        stabilised = [m for m in one.stabilised if quantities.there(results, one.name, m)]
        if not stabilised or not quantities.there(results, one.name, "pnde"):
            continue
        errors = {m: quantities.constraint_error(results, one.name, m) for m in stabilised}
        best = min(errors, key=lambda m: errors[m])
        own = quantities.constraint_error(results, one.name, "pnde")
        holds = holds and ORDERS * own <= errors[best]
        rows.append(
            {
                "system": one.title,
                "PNDE": own,
                "best SNDE": label(best),
                "its error": errors[best],
                "times larger": errors[best] / max(own, 1e-300),
            }
        )
    return finding(
        "PNDE's constraint error is near machine precision, orders of magnitude below that of the best SNDE.",
        f"In every system the largest mean error of PNDE is at most 1/{ORDERS:g} of that of the best SNDE.",
        rows,
        holds,
    )


def larger_gamma(results: Results) -> Finding:
    """SNDE's constraint error over γ."""
    rows, holds = [], True
    for one in _with_several(results):
        errors = {
            m: quantities.constraint_error(results, one.name, m) for m in _there(results, one)
        }
        holds = holds and all(b < a for a, b in pairwise(errors.values()))
        rows += [
            {"system": one.title, "model": label(m), "constraint error": e}
            for m, e in errors.items()
        ]
    return finding(
        "A larger γ enforces the constraint more accurately.",
        "In every system SNDE's largest mean constraint error falls from each γ to the next.",
        rows,
        holds,
    )


def more_steps(results: Results) -> Finding:
    """The solver's steps over γ, and those of PNDE."""
    rows, holds = [], True
    for one in _with_several(results):
        steps = {m: quantities.solver_steps(results, one.name, m) for m in _there(results, one)}
        holds = holds and all(b > a for a, b in pairwise(steps.values()))
        shown = dict(steps)
        if quantities.there(results, one.name, "pnde"):
            shown["pnde"] = quantities.solver_steps(results, one.name, "pnde")
        rows += [{"system": one.title, "model": label(m), "steps": s} for m, s in shown.items()]
    return finding(
        "A larger γ makes SNDE stiff: the solver needs more steps.",
        "In every system the mean number of solver steps rises from each γ to the next.",
        rows,
        holds,
    )


def _there(results: Results, one: Study) -> list[str]:
    return [m for m in one.stabilised if quantities.there(results, one.name, m)]


def _with_several(results: Results) -> list[Study]:
    return [one for one in results.studies if len(_there(results, one)) > 1]
