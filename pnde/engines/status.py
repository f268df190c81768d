"""How an integration ended."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How the integration of a trajectory ended."""

    OK = 0
    MAX_STEPS = 1
    NON_FINITE = 2
    LEFT_DOMAIN = 3
    RANK_DEFICIENT = 4
    OFF_MANIFOLD = 5
    INFEASIBLE = 6

    @property
    def reason(self) -> str:
        """The status in words, with the remedy."""
        return {
            Status.OK: "ok",
            Status.MAX_STEPS: "the solver needed more than max_steps steps; raise max_steps or the tolerances, or use "
            "kvaerno5 for stiff equations",
            Status.NON_FINITE: "the state became infinite or NaN; train longer, or use smaller tolerances",
            Status.LEFT_DOMAIN: "the state left the domain of the law",
            Status.RANK_DEFICIENT: "rows of the law became dependent; "
            'use projection.method = "truncated", or "qr" and solver.precision = "float64" if they are nearly so',
            Status.INFEASIBLE: "the bounds contradict one another, or the law, at the state; widen the bounds, or "
            "correct the law",
            Status.OFF_MANIFOLD: "the state could not be put back on the manifold; use smaller tolerances",
        }[self]
