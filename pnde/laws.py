"""Laws and data together: which law belongs to a data set, its targets, and whether the data obey it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from pnde.constraints import Constraint, as_constraint
from pnde.data import open_data, time_matrix
from pnde.engines import Engine, get
from pnde.errors import ConstraintError
from pnde.metrics import deviation, law_scale, unrelated_states


def system_of(ds: xr.Dataset) -> Any:
    """The built-in system that a data set was simulated from, or `None`."""
    from pnde import systems

    name = ds.attrs.get("system")
    if name not in systems.names():
        return None
    return systems.get(str(name), **json.loads(ds.attrs.get("parameters", "{}")))


def law_for(ds: xr.Dataset, constraint: Any) -> Constraint | None:
    """The law for a data set: the one given, or that of its built-in system; bound to its states.

    `"rods"` stands for `pnde.systems.rods.Rods.of_data(ds)`, a chain whose rods have the lengths that the data show.

    **Raises:** `pnde.errors.ConstraintError` if the law knows other states.
    """
    if isinstance(constraint, str) and constraint == "rods":
        from pnde.systems.rods import Rods

        return Rods.of_data(ds)
    law = as_constraint(constraint)
    if law is None:
        system = system_of(ds)
        law = None if system is None else system.constraint
    return None if law is None else law.bind([str(name) for name in ds["state"].values])


def evaluate_law(
    engine: Engine, law: Constraint | None, u: np.ndarray, t: np.ndarray, labels: Any = None
) -> np.ndarray:
    """h(u, t) `(..., m)` of states `(..., n)` at times `(...)`; NaN where the state is, m = 0 without a law.

    `labels` are what the trajectories, along the first axis, are called in messages.

    **Raises:** `pnde.errors.ConstraintError` naming the first state at which the law is not defined.
    """
    if law is None:
        return np.zeros((*u.shape[:-1], 0))
    known = np.isfinite(u).all(axis=-1) & np.isfinite(t)
    values = engine.law(law, u[known], t[known])
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
    engine: Engine,
    law: Constraint | None,
    u0: np.ndarray,
    t0: np.ndarray,
    scale: np.ndarray,
    tolerance: float,
    labels: Any = None,
) -> np.ndarray:
    """The targets c `(B, m)` of trajectories that start at u0 `(B, n)`, once they are seen to be on the manifold.

    **Arguments:**

    - `scale`: what a deviation of each row is measured by, `(m,)`; `tolerance`: the largest one, relative to it.
    - `labels`: what the trajectories are called in messages.

    **Raises:** `pnde.errors.ConstraintError` naming the row, its value and target, and the trajectory.
    """
    h0 = evaluate_law(engine, law, u0, t0, labels)
    if law is None:
        return h0
    c = law.targets(h0)
    excess = np.abs(h0 - c) / np.maximum(np.abs(c), scale)
    if (excess > tolerance).any():
        worst, row = np.unravel_index(np.argmax(excess), excess.shape)
        label = worst if labels is None else labels[worst]
        bad = int((excess > tolerance).any(axis=1).sum())
        raise ConstraintError(
            f"{bad} of {len(c)} initial states are off the manifold; the worst is trajectory {label} "
            f"at t = {t0[worst]:g}, where row {law.row_names(c.shape[1])[row]!r} is {h0[worst, row]:.6g} "
            f"instead of {c[worst, row]:.6g} (relative deviation {excess[worst, row]:.1e}, tolerance "
            f"{tolerance:g}); correct the data or the target, or raise the tolerance"
        )
    return c


def scale_of(engine: Engine, law: Constraint | None, ds: xr.Dataset) -> np.ndarray:
    """The size `(m,)` of each row of the law on states like those of the data, but unrelated to each other."""
    if law is None:
        return np.zeros(0)
    u = unrelated_states(ds)
    values = engine.law(law, u, np.zeros(len(u)))
    size = law_scale(np.zeros((1, values.shape[1])), values)[0]
    return np.where(size > 0, size, 1.0)


def check(data: Any, constraint: Any = None) -> xr.Dataset:
    """How far data themselves stray from a law, for each trajectory, time and row.

    **Arguments:**

    - `data`: a data set or a file, as `pnde.train` takes them.
    - `constraint`: a law or a plain function of the state; that of the built-in system if absent.

    **Returns:** a data set with `absolute` |h - c| and `relative`, both `(trajectory, time, row)`. Relative to |c|, or
    where c = 0 to the size of h on unrelated states. `pnde.metrics.deviation_table` sums it up, `pnde.plot.check`
    draws it.

    **Raises:** `pnde.errors.ConstraintError` if the law does not fit the data or is not defined on them.
    """
    ds = open_data(data)
    law = law_for(ds, constraint)
    if law is None:
        raise ConstraintError("there is no law to check: pass constraint=")
    engine = get("jax")
    u, t = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    h = evaluate_law(engine, law, u, t, ds["trajectory"].values)
    first = np.argmax(np.isfinite(h).all(axis=-1), axis=1)
    c = law.targets(h[np.arange(len(h)), first])
    scale = law_scale(c, engine.law(law, unrelated_states(ds), np.zeros(1000)))
    return deviation(h - c[:, None], scale, ds, rows=law.row_names(c.shape[1]))
