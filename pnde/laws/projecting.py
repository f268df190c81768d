"""States put on the manifold of a law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np

from pnde.errors import ConstraintError
from pnde.laws.bounds import Bounds
from pnde.laws.conditions import Conditions
from pnde.laws.constraint import Constraint
from pnde.laws.instant import Instant
from pnde.laws.targets import Evaluator, evaluate_law


class Retractor(Evaluator, Protocol):
    """What puts states on manifolds: an engine."""

    def retract(
        self,
        constraint: Constraint | None,
        metric: Any,
        u: np.ndarray,
        at: Instant,
        c: np.ndarray,
        bounds: Bounds | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The states `(B, n)` put on h = c and inside of bounds, and for which of them that succeeded `(B,)`."""


def trajectory_targets(
    law: Constraint,
    h: np.ndarray,
    t: np.ndarray,
    conditions: Conditions,
    labels: np.ndarray | None = None,
    initial: Literal["median", "first"] = "first",
) -> np.ndarray:
    """The targets c `(trajectory, time, m)` of measured trajectories.

    A row whose target is "initial" gets the value of h at the first complete sample of the trajectory, or its median
    over all of them; anew after each jump of an input that the law takes. A fixed target stays.

    **Arguments:**

    - `h`: the law on the samples `(trajectory, time, m)`, NaN where a state is not complete; see `evaluate_law`.
    - `t`: their times `(trajectory, time)`.
    - `labels`: what the trajectories are called in messages.

    **Raises:** `pnde.errors.ConstraintError` naming a trajectory without a complete sample.
    """
    known = np.isfinite(h).all(axis=-1)
    if not known.any(axis=1).all():
        row = int(np.argmin(known.any(axis=1)))
        raise ConstraintError(
            f"the law {law.label!r} cannot be evaluated in trajectory {row if labels is None else labels[row]}: no "
            "sample has all states; pnde.data.complete fills in those that were sampled at different times"
        )
    stretch = np.zeros(t.shape, int)
    if conditions.inputs is not None and "w" in law.takes:
        stretch = (conditions.inputs.jumps[:, None] <= t[..., None]).sum(axis=-1)
    start = np.full(h.shape, np.nan)
    for row in range(len(h)):
        for number in np.unique(stretch[row]):
            own = stretch[row] == number
            values = h[row][own & known[row]]
            if len(values):
                start[row, own] = values[0] if initial == "first" else np.median(values, axis=0)
    return law.targets(start)


def onto_manifold(
    engine: Retractor,
    law: Constraint | None,
    metric: Any,
    conditions: Conditions,
    bounds: Bounds | None = None,
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None:
    """What `pnde.data.segments` and `pnde.data.complete` take: it puts completed samples on the law's manifold and
    inside of bounds. `None` without either.

    `conditions` are those of the trajectories that it is called with.

    Targets that are "initial" are the medians of h over a trajectory, of which no sample may have been complete. A
    sample that Newton's method cannot put on the manifold becomes NaN: nothing starts there.
    """

    if law is None and bounds is None:
        return None

    def put(u: np.ndarray, t: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        if not wanted.any():
            return u
        rows = np.flatnonzero(wanted.any(axis=1))
        at = conditions.at(t)
        found = evaluate_law(engine, law, u[rows], at.pick(rows))
        if law is not None:
            found = trajectory_targets(law, found, t[rows], conditions.rows(rows), initial="median")
        c = found[np.searchsorted(rows, np.nonzero(wanted)[0]), np.nonzero(wanted)[1]]
        out = u.copy()
        moved, converged = engine.retract(law, metric, u[wanted], at.pick(wanted), c, bounds)
        out[wanted] = np.where(converged[:, None], moved, np.nan)
        return out

    return put
