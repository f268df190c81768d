"""The values of a law on data, and the targets of trajectories."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import xarray as xr

from pnde.data import time_matrix
from pnde.errors import ConstraintError
from pnde.laws.conditions import Conditions
from pnde.laws.constraint import Constraint
from pnde.laws.instant import Instant
from pnde.metrics import law_scale, unrelated_states


class Evaluator(Protocol):
    """What evaluates laws: an engine."""

    def law(self, constraint: Constraint, u: np.ndarray, at: Instant) -> np.ndarray:
        """h `(B, m)` of states `(B, n)` at as many instants."""


def evaluate_law(
    engine: Evaluator,
    law: Constraint | None,
    u: np.ndarray,
    at: Instant,
    labels: np.ndarray | None = None,
) -> np.ndarray:
    """h `(..., m)` of states `(..., n)` at instants `(...)`; NaN where the state is, m = 0 without a law.

    `labels` are what the trajectories, along the first axis, are called in messages.

    **Raises:** `pnde.errors.ConstraintError` naming the first state at which the law is not defined.
    """
    if law is None:
        return np.zeros((*u.shape[:-1], 0))
    t = at.t
    known = np.isfinite(u).all(axis=-1) & np.isfinite(t)
    values = engine.law(law, u[known], at.pick(known))
    law.row_names(values.shape[-1])  # there is a name for each row
    undefined = np.flatnonzero(~np.isfinite(values).all(axis=-1))
    if undefined.size:
        row = np.argwhere(known)[undefined[0]][0]
        state = ", ".join(f"{x:g}" for x in u[known][undefined[0]])
        raise ConstraintError(
            f"the law {law.label!r} is not defined at the state ({state}), trajectory "
            f"{row if labels is None else labels[row]} at t = {t[known][undefined[0]]:g}: it is outside "
            "the law's domain; correct the data or leave the trajectory out"
        )
    out = np.full((*u.shape[:-1], values.shape[-1]), np.nan)
    out[known] = values
    return out


def targets(
    engine: Evaluator,
    law: Constraint | None,
    u0: np.ndarray,
    at: Instant,
    scale: np.ndarray,
    tolerance: float,
    labels: np.ndarray | None = None,
) -> np.ndarray:
    """The targets c `(B, m)` of trajectories that start at u0 `(B, n)` at as many instants, once they are seen to be on
    the manifold.

    **Arguments:**

    - `scale`: what a deviation of each row is measured by, `(m,)`; `tolerance`: the largest one, relative to it.
    - `labels`: what the trajectories are called in messages.

    **Raises:** `pnde.errors.ConstraintError` naming the row, its value and target, and the trajectory.
    """
    h0 = evaluate_law(engine, law, u0, at, labels)
    if law is None:
        return h0
    c = law.targets(h0)
    free, fixed = law.may_jump(), law.fixed_rows(c.shape[1]).sum()
    if "w" in law.takes and free is not None and free.sum() < fixed:
        raise ConstraintError(
            f"the law {law.label!r} lets {int(free.sum())} states jump with an input, but has {fixed} rows with a "
            "fixed target to meet again: name as many states in jumps="
        )
    excess = np.abs(h0 - c) / np.maximum(np.abs(c), scale)
    if (excess > tolerance).any():
        worst, row = np.unravel_index(np.argmax(excess), excess.shape)
        label = worst if labels is None else labels[worst]
        bad = int((excess > tolerance).any(axis=1).sum())
        raise ConstraintError(
            f"{bad} of {len(c)} initial states are off the manifold; the worst is trajectory {label} "
            f"at t = {at.t[worst]:g}, where row {law.row_names(c.shape[1])[row]!r} is {h0[worst, row]:.6g} "
            f"instead of {c[worst, row]:.6g} (relative deviation {excess[worst, row]:.1e}, tolerance "
            f"{tolerance:g}); correct the data or the target, or raise the tolerance"
        )
    return c


def scale_of(engine: Evaluator, law: Constraint | None, ds: xr.Dataset) -> np.ndarray:
    """The size `(m,)` of each row of the law on states like those of the data, but unrelated to each other."""
    if law is None:
        return np.zeros(0)
    size = law_scale(np.zeros((1, 1)), unrelated_values(engine, law, ds))[0]
    return np.where(size > 0, size, 1.0)


def unrelated_values(engine: Evaluator, law: Constraint, ds: xr.Dataset) -> np.ndarray:
    """The law on states that obey none, `(B, m)`; at instants of the data, and the time 0."""
    u, t = unrelated_states(ds), time_matrix(ds)
    at, random = Conditions.of(ds).at(t), np.random.default_rng(1)
    known = np.flatnonzero(np.isfinite(t if at.w is None else at.w.sum(axis=-1)))
    driven, of_family = (
        at.pick(np.unravel_index(random.choice(known, len(u)), t.shape)) for _ in range(2)
    )
    at = driven._replace(t=np.zeros(len(u)), p=of_family.p)
    values = engine.law(law, u, at)
    if law.of_velocities and "w" in law.takes:
        _check_cubic(engine, law, ds, u, at, values)
    return values


def _check_cubic(
    engine: Evaluator,
    law: Constraint,
    ds: xr.Dataset,
    u: np.ndarray,
    at: Instant,
    values: np.ndarray,
) -> None:
    """Whether the inputs that a law of positions and velocities depends on have an acceleration."""
    for k, name in enumerate(ds["input"].values):
        kind = str(ds["interpolation"].values[k])
        moved = np.array(at.w)
        moved[:, k] += 1 + np.abs(moved[:, k])
        if kind != "cubic" and (engine.law(law, u, at._replace(w=moved)) != values).any():
            raise ConstraintError(
                f"the law {law.label!r} has velocities in it, so the input {str(name)!r} needs an acceleration, but it "
                f'is {kind} between samples: pass interpolation="cubic"'
            )
