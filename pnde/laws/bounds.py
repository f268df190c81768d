"""The inequalities of a model: bound to its states, with a rate for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pnde.data import time_matrix
from pnde.errors import ConstraintError
from pnde.laws.conditions import Conditions
from pnde.laws.constraint import Constraint, Stacked
from pnde.laws.inequality import Inequality
from pnde.laws.instant import Instant
from pnde.laws.targets import Evaluator, evaluate_law, scale_of

# How much faster than anything in the data a row may come closer to its bound.
_FASTER = 2.0


@dataclass(frozen=True, eq=False)
class Bounds:
    """m rows of inequalities lower ≤ h(u, t, w, p) ≤ upper.

    - `parts`: whose rows they are, one below the other, bound to the states.
    - `names`: of the rows; `columns`: which state each is, `(m,)`, -1 for one that is not a state.
    - `lower`, `upper`: `(m,)`, infinite where there is no bound, margins included.
    - `rates`: α in ∂h/∂u p + ∂h/∂t ≥ -α (h - lower), `(m,)`, in 1/time.
    - `scale`: the size of each row in the data, `(m,)`, which deviations are relative to.
    """

    parts: tuple[Inequality, ...]
    names: tuple[str, ...]
    columns: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rates: np.ndarray
    scale: np.ndarray

    @property
    def rows(self) -> Constraint:
        """h of all rows."""
        return rows_of(self.parts)

    def box(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of the n states themselves, `(n,)` each, infinite where they have none."""
        low, high, of = np.full(n, -np.inf), np.full(n, np.inf), self.columns >= 0
        np.maximum.at(low, self.columns[of], self.lower[of])
        np.minimum.at(high, self.columns[of], self.upper[of])
        return low, high

    def slack(self, h: np.ndarray) -> np.ndarray:
        """How far rows `(..., m)` are inside of their bounds; negative outside."""
        return np.minimum(h - self.lower, self.upper - h)


def rows_of(parts: Sequence[Inequality]) -> Constraint:
    """h of several inequalities, as the rows of one law."""
    return parts[0].rows if len(parts) == 1 else Stacked(*(part.rows for part in parts))


def settle(
    engine: Evaluator,
    parts: tuple[Inequality, ...],
    ds: xr.Dataset,
    rate: float | None = None,
    rates: np.ndarray | None = None,
    scale: np.ndarray | None = None,
) -> Bounds | None:
    """The inequalities of a model that is trained on data; `None` if there are none.

    A rate is twice the fastest at which its row approaches a bound in the data: of two samples the share of the
    distance that is gone, per time. So a model can do what the data do, and an explicit solver can still follow it.

    **Arguments:**

    - `parts`: bound to the states of the data.
    - `rate`: for all rows; `rates`, `scale`: those that are known already, `(m,)`.

    **Raises:** `pnde.errors.ConstraintError` if bounds and rows do not fit together.
    """
    if not parts:
        return None
    rows = rows_of(parts)
    u, t = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    at, labels = Conditions.of(ds).at(t), ds["trajectory"].values
    h = evaluate_law(engine, rows, u, at, labels)
    m = h.shape[-1]
    sizes = rows.sizes(m) if isinstance(rows, Stacked) else (m,)
    ends = [part.limits(size) for part, size in zip(parts, sizes, strict=True)]
    lower, upper = (np.concatenate(side) for side in zip(*ends, strict=True))
    names = rows.row_names(m)
    columns = np.concatenate(
        [
            np.full(size, -1) if part.columns is None else part.columns
            for part, size in zip(parts, sizes, strict=True)
        ]
    )
    if rate is not None:
        rates = np.full(m, rate)
    if rates is None:
        rates = _rates(h, t, lower, upper)
    if scale is None:
        scale = scale_of(engine, rows, ds)
    bounds = Bounds(parts, names, columns, lower, upper, rates, scale)
    _check_box(bounds, ds)
    return bounds


def check_inside(
    engine: Evaluator,
    bounds: Bounds | None,
    u0: np.ndarray,
    at: Instant,
    tolerance: float,
    labels: np.ndarray,
) -> None:
    """Whether initial states `(B, n)` are inside of the bounds, or so near that they are put there.

    **Raises:** `pnde.errors.ConstraintError` naming the row, its value and bound, and the trajectory.
    """
    if bounds is None:
        return
    h = evaluate_law(engine, bounds.rows, u0, at, labels)
    excess = -bounds.slack(h) / bounds.scale
    if not (excess > tolerance).any():
        return
    worst, row = np.unravel_index(np.argmax(excess), excess.shape)
    bad, value = int((excess > tolerance).any(axis=1).sum()), h[worst, row]
    below = value < bounds.lower[row]
    side = f"below {bounds.lower[row]:g}" if below else f"above {bounds.upper[row]:g}"
    raise ConstraintError(
        f"{bad} of {len(h)} initial states are outside of the bounds; the worst is trajectory {labels[worst]} at "
        f"t = {at.t[worst]:g}, where {bounds.names[row]!r} is {value:.6g}, {side}; correct the data (pnde.project puts "
        "them inside), or raise the tolerance"
    )


def margins(engine: Evaluator, bounds: Bounds, u: np.ndarray, at: Instant) -> np.ndarray:
    """How far states `(..., n)` are inside of the bounds, `(..., m)`; negative outside, NaN where the state is."""
    known = np.isfinite(u).all(axis=-1) & np.isfinite(at.t)
    out = np.full((*u.shape[:-1], len(bounds.names)), np.nan)
    if known.any():
        out[known] = bounds.slack(engine.law(bounds.rows, u[known], at.pick(known)))
    return out


def _check_box(bounds: Bounds, ds: xr.Dataset) -> None:
    """Whether bounds of one state that is named twice leave something between them."""
    low, high = bounds.box(ds.sizes["state"])
    for k in np.flatnonzero(low > high)[:1]:
        raise ConstraintError(
            f"nothing lies between the bounds {low[k]:g} and {high[k]:g} that are given for the state "
            f"{str(ds['state'].values[k])!r}; correct one of them"
        )


def _rates(h: np.ndarray, t: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Rates `(m,)` from rows `(trajectory, time, m)` of data, at times `(trajectory, time)`."""
    found = np.zeros(h.shape[-1])
    for values, times in zip(h, t, strict=True):
        known = np.isfinite(values).all(axis=-1) & np.isfinite(times)
        values, dt = values[known], np.diff(times[known])[:, None]
        for distance in (values - lower, upper - values):
            # Twice: where they are near the bound, and by their whole range, for rows that only move away.
            with np.errstate(divide="ignore", invalid="ignore"):
                before, speed = distance[:-1], -np.diff(distance, axis=0) / dt
                near = np.where(before > 0, np.minimum(speed / before, 1 / dt), 0.0)
                whole = np.abs(speed) / distance.max(axis=0, initial=0.0)
            for ratio in (near, whole):
                ratio = np.where(np.isfinite(ratio), ratio, 0.0)
                found = np.maximum(found, ratio.max(axis=0, initial=0.0))
    length = float(np.nanmax(t) - np.nanmin(t))
    # A row that does not move at all is as fast as the others.
    return _FASTER * np.where(found > 0, found, found.max() or 1 / length)
