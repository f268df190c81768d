"""Data held against a law."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import xarray as xr

from pnde.data import Normaliser, open_data, time_matrix
from pnde.engines import get
from pnde.errors import ConfigError, ConstraintError
from pnde.laws import Conditions
from pnde.laws.bounds import margins, settle
from pnde.laws.projecting import trajectory_targets
from pnde.laws.targets import evaluate_law, unrelated_values
from pnde.metrics import deviation, law_scale
from pnde.models import checked_metric
from pnde.systems import inequalities_for, law_for


def check(data: Any, constraint: Any = None) -> xr.Dataset:
    """How far data themselves stray from a law, for each trajectory, time and row.

    **Arguments:**

    - `data`: a data set or a file, as `pnde.train` takes them.
    - `constraint`: a law or a plain function of the state, inequalities too; that of the built-in system if absent.

    **Returns:** a data set with `absolute` |h - c|, of inequalities how far outside, and `relative`, both
    `(trajectory, time, row)`. Relative to |c|, or where c = 0 to the size of h on unrelated states.
    `pnde.metrics.deviation_table` sums it up, `pnde.plot.check` draws it.

    **Raises:** `pnde.errors.ConstraintError` if the law does not fit the data or is not defined on them.
    """
    ds = open_data(data)
    engine, law = get("jax"), law_for(ds, constraint)
    bounds = settle(engine, inequalities_for(ds, constraint), ds)
    if law is None and bounds is None:
        raise ConstraintError("there is no law to check: pass constraint=")
    u, t = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    conditions, labels = Conditions.of(ds), ds["trajectory"].values
    at = conditions.at(t)
    misses: list[np.ndarray] = []
    scales: list[np.ndarray] = []
    names: list[str] = []
    if law is not None:
        h = evaluate_law(engine, law, u, at, labels)
        c = trajectory_targets(law, h, t, conditions, labels)
        misses.append(h - c)
        scale = law_scale(c.reshape(-1, c.shape[-1]), unrelated_values(engine, law, ds))
        scales.append(scale.reshape(c.shape))
        names.extend(law.row_names(c.shape[-1]))
    if bounds is not None:
        misses.append(np.minimum(margins(engine, bounds, u, at), 0))
        scales.append(np.broadcast_to(bounds.scale, misses[-1].shape))
        names.extend(bounds.names)
    scale = np.concatenate(scales, axis=-1)
    return deviation(np.concatenate(misses, axis=-1), scale, ds, rows=names)


def project(
    data: Any,
    constraint: Any = None,
    *,
    metric: Any = None,
    initial: Literal["median", "first"] = "median",
) -> xr.Dataset:
    """Measured data put on the manifold of a law, sample by sample, and how far each sample moved.

    Newton's method moves a state as little as possible, as `pnde.Run.rollout` does. Samples of which states are unknown
    stay as they are.

    **Arguments:**

    - `data`: a data set or a file, as `pnde.train` takes them.
    - `constraint`: a law or a plain function of the state, inequalities too; that of the built-in system if absent.
    - `metric`: M of the norm in which samples move as little as possible: weights `(n,)`, such as 1/σ² of the sensors'
        errors σ, a matrix `(n, n)`, or a function of the state giving either. By default the inverse variances of the
        states in the data, so that the result does not depend on units.
    - `initial`: what a target that is "initial" becomes in a trajectory: the `"median"` of the law over its samples, or
        the value at its `"first"`. A fixed target stays.

    **Returns:** the data set, with two more variables: `moved` `(trajectory, time)`, the length of the step in the norm
    of `metric`, by default in standard deviations; and `moved_by_state` `(trajectory, time, state)`, the step itself in
    units of the states.

    **Raises:** `pnde.errors.ConstraintError` naming the samples that cannot be put on the manifold, or if the law does
    not fit the data or is not defined on them.
    """
    if initial not in ("median", "first"):
        raise ConfigError(f'initial is "median" or "first", not {initial!r}')
    ds = open_data(data)
    engine, labels, law = get("jax"), ds["trajectory"].values, law_for(ds, constraint)
    bounds = settle(engine, inequalities_for(ds, constraint), ds)
    if law is None and bounds is None:
        raise ConstraintError("there is no law to project on: pass constraint=")
    states = ds["u"].transpose("trajectory", "time", "state")
    u, t = states.values, time_matrix(ds)
    conditions = Conditions.of(ds)
    at = conditions.at(t)
    c = evaluate_law(engine, law, u, at, labels)
    if law is not None:
        c = trajectory_targets(law, c, t, conditions, labels, initial)
    M = Normaliser.fit(ds).std ** -2.0 if metric is None else checked_metric(metric, u.shape[-1])
    known = np.isfinite(u).all(axis=-1)
    row = np.nonzero(known)[0]
    out = u.copy()
    out[known], converged = engine.retract(law, M, u[known], at.pick(known), c[known], bounds)
    if not converged.all():
        names = [] if law is None else [law.label]
        names += [] if bounds is None else [part.label for part in bounds.parts]
        what = " & ".join(names)
        raise ConstraintError(_not_converged(converged, labels[row], t[known], what))
    step = np.where(known[..., None], out - u, np.nan)
    moved = np.full(t.shape, np.nan)
    moved[known] = [_length(M, x, dx) for x, dx in zip(u[known], step[known], strict=True)]
    return ds.assign(
        u=(states.dims, out, states.attrs),
        moved=(("trajectory", "time"), moved),
        moved_by_state=(states.dims, step),
    )


def _length(metric: Any, u: np.ndarray, step: np.ndarray) -> float:
    """‖step‖ `(n,)` in the metric at u."""
    M = np.asarray(metric(u) if callable(metric) else metric)
    return float(np.sqrt(step @ (M * step if M.ndim == 1 else M @ step)))


def _not_converged(converged: np.ndarray, labels: np.ndarray, times: np.ndarray, law: str) -> str:
    failed = np.flatnonzero(~converged)
    named = ", ".join(f"{labels[i]} at t = {times[i]:g}" for i in failed[:3])
    more = "" if len(failed) <= 3 else f" and {len(failed) - 3} more"
    return (
        f"{len(failed)} of {len(converged)} samples cannot be put on the manifold of {law!r}: trajectory "
        f"{named}{more}; correct the target, or mark them as missing (NaN)"
    )
