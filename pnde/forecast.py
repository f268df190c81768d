"""Forecasts: a model's trajectories from given initial states, and how good they are."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

import pnde
from pnde.data import (
    OntoManifold,
    complete,
    make_dataset,
    mean_velocity,
    select,
    time_label,
    time_matrix,
)
from pnde.engines import Engine, Status, Trajectories
from pnde.errors import ConfigError, DataError, SolveError
from pnde.laws import Conditions, Constraint
from pnde.laws.bounds import check_inside, margins
from pnde.laws.targets import scale_of, targets
from pnde.metrics import constraint_error, state_error
from pnde.models import Model, Weights

logger = logging.getLogger("pnde")

# So many numbers are integrated at a time: a program of one shape serves any number of trajectories in flat memory.
_BLOCK = 2**22
# A forecast of more numbers than this (8 GiB) is refused: nothing could be done with it in memory.
_LARGEST = 2**30


def forecast(
    engine: Engine,
    model: Model,
    weights: Sequence[Weights],
    data: xr.Dataset,
    truth: xr.Dataset,
    times: np.ndarray,
    u0: np.ndarray,
    conditions: Conditions,
) -> xr.Dataset:
    """The trajectories of a model from u0 `(B, n)`, sampled at times `(B, T)`, NaN behind a trajectory's end.

    **Arguments:**

    - `weights`: of the model, or of several members: the forecast is then their mean, back on the law.
    - `data`: what the model was trained on, on which the law has its scale.
    - `truth`: where the initial states are from, with labels, units, and later samples to compare with.

    **Returns:** a data set in the standard layout with `status`, `steps`, `evaluations`; `constraint_error` for a
    model with a law; `margin` `(trajectory, time, bound)`, how far inside of its bounds each row is, for one with
    inequalities; `energy`, the learned one, for a mechanical model; `state_error` where `truth` has more than the
    initial states.

    **Raises:** `pnde.errors.ConfigError` for more samples than memory could hold; `pnde.errors.ConstraintError` if an
    initial state is off the manifold; `pnde.errors.SolveError` if a trajectory fails and `on_failure` is `"raise"`.
    """
    law, config, labels = model.constraint, model.config, truth["trajectory"].values
    check_size(len(u0), times.shape[1], u0.shape[1])
    scale = scale_of(engine, law, data)
    start = conditions.at(times[:, 0])
    c = targets(engine, law, u0, start, scale, config.tolerance, labels)
    check_inside(engine, model.bounds, u0, start, config.tolerance, labels)
    began = time.perf_counter()
    each = [_in_blocks(engine, model, own, u0, _filled(times), c, conditions) for own in weights]
    solution = each[0]
    if len(each) > 1:
        solution = _centre(engine, model, each, _filled(times), c, conditions)
    seconds = time.perf_counter() - began
    failed = bool(solution.status.any())
    if failed and config.on_failure == "raise":
        raise SolveError(_failure(solution, times, labels))
    u = np.where(np.isfinite(times)[..., None], solution.u, np.nan)
    out = make_dataset(
        u,
        times[0] if (times == times[0]).all() else times,
        model.states,
        units=truth["units"].values.tolist() if "units" in truth.coords else None,
        attrs={
            "method": config.method,
            "gamma": model.kind.gamma,
            "rollout_seconds": seconds,
            "pnde_version": pnde.__version__,
        },
        trajectory=labels,
        time_units=time_label(truth),
    )
    _note_conditions(out, model, data, times, conditions)
    if law is not None:
        c = solution.c if solution.c is not None else c[:, None]
        errors = _off_manifold(engine, law, u, times, c, conditions)
        out["constraint_error"] = (("trajectory", "time"), errors)
    if model.bounds is not None:
        slack = margins(engine, model.bounds, u, conditions.at(times))
        out["margin"] = (("trajectory", "time", "bound"), slack)
        out = out.assign_coords(
            bound=list(model.bounds.names), bound_scale=("bound", model.bounds.scale)
        )
    if model.mechanical:
        energies = [_energies(engine, model, own, u, conditions) for own in weights]
        out["energy"] = (("trajectory", "time"), np.mean(energies, axis=0))
    if len(each) > 1:
        spread = np.std([one.u for one in each], axis=0)
        inside = np.isfinite(times)[..., None]
        out["spread"] = (("trajectory", "time", "state"), np.where(inside, spread, np.nan))
    out["status"] = ("trajectory", solution.status)
    out["steps"] = ("trajectory", solution.steps)
    out["evaluations"] = ("trajectory", solution.evaluations)
    if truth.sizes["time"] > 1:
        out["state_error"] = state_error(truth, out)
    if failed:
        logger.warning(_failure(solution, times, labels))
    return out


def straight_lines(data: xr.Dataset, truth: xr.Dataset) -> dict[str, xr.Dataset]:
    """Forecasts that know nothing, to measure others by: the states stand still, or move at their mean velocity.

    **Arguments:**

    - `data`: has the mean velocity, in its train split.
    - `truth`: has the initial states and the times.
    """
    u0, times = first_samples(truth)
    velocity = mean_velocity(select(data, "train"))
    out = {}
    for name, v in {"standing still": np.zeros_like(velocity), "mean velocity": velocity}.items():
        line = u0[:, None] + (times - times[:, :1])[..., None] * v
        ds = make_dataset(
            line,
            times,
            [str(state) for state in truth["state"].values],
            trajectory=truth["trajectory"].values,
            time_units=time_label(truth),
        )
        ds["state_error"] = state_error(truth, ds)
        out[name] = ds
    return out


def first_samples(
    ds: xr.Dataset, onto_manifold: OntoManifold | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Initial states `(B, n)`, and times `(B, T)` from there on, NaN behind a trajectory's end.

    States that were sampled at different times are completed first; see `pnde.data.complete`.
    """
    full = complete(ds, onto_manifold)
    u, times = full["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    known = np.isfinite(u).all(axis=-1) & np.isfinite(times)
    if not known.any(axis=1).all():
        label = ds["trajectory"].values[np.argmin(known.any(axis=1))]
        raise DataError(f"trajectory {label} has no complete sample to start from")
    first = np.argmax(known, axis=1)
    if first.any():
        # Samples before the first complete one are left out of the forecast.
        times = np.stack(
            [np.append(row[k:], np.full(k, np.nan)) for row, k in zip(times, first, strict=True)]
        )
        times = times[:, np.isfinite(times).any(axis=0)]
    return u[np.arange(len(u)), first], times


def sample_times(start: np.ndarray, t_end: float, dt: float, states: int) -> np.ndarray:
    """Times `(B, T)` from each start `(B,)` every `dt`, and at `t_end`; NaN where a trajectory has as many samples.

    **Raises:** `pnde.errors.ConfigError` if `dt` is not positive, `t_end` does not lie behind a start, or there are
    more samples than memory could hold for so many `states`.
    """
    if not 0 < dt < np.inf:
        raise ConfigError(f"dt = {dt:g} is not a time between samples: it must be positive")
    if not np.isfinite(t_end):
        raise ConfigError(f"t_end = {t_end:g} is not a time")
    if not (start < t_end).all():
        raise ConfigError(
            f"a forecast to t_end = {t_end:g} from t = {start.max():g} is empty; name a later t_end"
        )
    # Ends where it was asked, if dt, which may come from differences of times, misses it by rounding.
    counts = np.ceil((t_end - start) / dt - 1e-6)
    check_size(len(start), counts.max() + 1, states)
    grid = start[:, None] + dt * np.arange(int(counts.max()) + 1)
    grid[np.arange(len(start)), counts.astype(int)] = t_end
    grid[np.arange(grid.shape[1]) > counts[:, None]] = np.nan
    return grid


def usual_step(ds: xr.Dataset) -> float:
    """The time between samples that most of the data have: the median, for a few may be crowded together."""
    steps = np.diff(time_matrix(ds), axis=1)
    return float(np.nanmedian(steps))


def check_size(trajectories: float, samples: float, states: int) -> None:
    """Whether memory could hold a forecast.

    **Raises:** `pnde.errors.ConfigError` with the numbers.
    """
    if trajectories * samples * states > _LARGEST:
        raise ConfigError(
            f"a forecast of {trajectories:g} trajectories with {samples:.3g} samples each needs "
            f"{8 * trajectories * samples * states / 2**30:.3g} GiB: name a larger dt or fewer trajectories"
        )


def block_size(samples: int, states: int) -> int:
    """How many trajectories of so many samples and states are integrated at a time."""
    return max(1, _BLOCK // (samples * states))


def _in_blocks(
    engine: Engine,
    model: Model,
    weights: Weights,
    u0: np.ndarray,
    times: np.ndarray,
    c: np.ndarray,
    conditions: Conditions,
) -> Trajectories:
    count, samples = times.shape
    size = min(count, block_size(samples, u0.shape[1]))
    parts = []
    for first in range(0, count, size):
        # The last block is filled up, so that all have one shape.
        rows = np.arange(first, first + size) % count
        own = conditions.rows(rows)
        parts.append(
            engine.rollout(
                model, weights, u0[rows], times[rows], c[rows], model.config.rollout, own
            )
        )
    if len(parts) == 1:
        return parts[0]
    names = ["u", "status", "steps", "evaluations"]
    names += [] if parts[0].c is None else ["c"]
    return Trajectories(
        *(np.concatenate([getattr(part, name) for part in parts])[:count] for name in names)
    )


def _centre(
    engine: Engine,
    model: Model,
    members: Sequence[Trajectories],
    times: np.ndarray,
    c: np.ndarray,
    conditions: Conditions,
) -> Trajectories:
    """The mean of forecasts; of states on a manifold, which is curved, or within bounds, the mean put back there.

    Where members are so far apart that the way back from their mean fails, or leads further than to the nearest of
    them, that one stands for it.
    """
    u = np.mean([member.u for member in members], axis=0)
    status = np.max([member.status for member in members], axis=0)
    of_jumps = None
    if members[0].c is not None:
        of_jumps = np.mean([member.c for member in members if member.c is not None], axis=0)
    law, settings = model.constraint, model.config
    held = law is not None or model.bounds is not None
    if held and settings.method == "pnde" and settings.rollout.retract != "never":
        inside = np.isfinite(u).all(axis=-1)
        target = c[:, None] if of_jumps is None else of_jumps
        target = np.broadcast_to(target, (*inside.shape, target.shape[-1]))
        at = conditions.at(times).pick(inside)
        mean = u[inside]
        on, there = engine.retract(law, model.metric, mean, at, target[inside], model.bounds)
        each = np.stack([member.u[inside] for member in members])
        away = np.linalg.norm((each - mean) / model.std, axis=-1)
        nearest = each[away.argmin(axis=0), np.arange(len(mean))]
        there = there & (np.linalg.norm((on - mean) / model.std, axis=-1) <= away.min(axis=0))
        u[inside] = np.where(there[:, None], on, nearest)
    steps, evaluations = (
        np.sum([getattr(member, name) for member in members], axis=0)
        for name in ("steps", "evaluations")
    )
    return Trajectories(u, status, steps, evaluations, of_jumps)


def _note_conditions(
    out: xr.Dataset, model: Model, data: xr.Dataset, times: np.ndarray, conditions: Conditions
) -> None:
    """Write the inputs at the forecast's times, and the parameters, into it."""
    if conditions.inputs is not None:
        w = np.where(np.isfinite(times)[..., None], conditions.inputs.at(times), np.nan)
        out["w"] = (("trajectory", "time", "input"), w)
        out.coords["input"] = list(model.inputs)
        for name in ("input_units", "interpolation"):
            if name in data.coords:
                out.coords[name] = ("input", data[name].sel(input=list(model.inputs)).values)
        jumps, last = conditions.inputs.jumps, np.nanmax(times, axis=1)[:, None]
        inside = (jumps > times[:, :1]) & (
            jumps <= last
        )  # the inputs may go on behind the forecast
        if inside.any():
            kept = np.sort(np.where(inside, jumps, np.nan), axis=1)
            out["jumps"] = (("trajectory", "jump"), kept[:, : inside.sum(axis=1).max()])
    if conditions.p is not None:
        out["parameters"] = (("trajectory", "parameter"), np.array(conditions.p))
        out.coords["parameter"] = list(model.parameters)
        if "parameter_units" in data.coords:
            units = data["parameter_units"].sel(parameter=list(model.parameters)).values
            out.coords["parameter_units"] = ("parameter", units)


def _off_manifold(
    engine: Engine,
    law: Constraint,
    u: np.ndarray,
    times: np.ndarray,
    c: np.ndarray,
    conditions: Conditions,
) -> np.ndarray:
    """‖h - c‖₂ `(B, T)` with c `(B, T or 1, m)`, NaN where the state is; so many trajectories at a time that memory
    stays flat."""
    errors = np.full(times.shape, np.nan)
    size = max(1, _BLOCK // (times.shape[1] * max(1, c.shape[-1])))
    for first in range(0, len(u), size):
        rows = slice(first, first + size)
        inside = np.isfinite(u[rows]).all(axis=-1)
        if inside.any():
            own = conditions.rows(np.arange(len(u))[rows])
            h = engine.law(law, u[rows][inside], own.at(times[rows]).pick(inside))
            miss = h - np.broadcast_to(c[rows], (*inside.shape, c.shape[-1]))[inside]
            errors[rows][inside] = constraint_error(miss)
    return errors


def _energies(
    engine: Engine, model: Model, weights: Weights, u: np.ndarray, conditions: Conditions
) -> np.ndarray:
    """The learned energy `(B, T)`, NaN where the state `(B, T, n)` is; so many trajectories at a time that memory stays
    flat."""
    energies = np.full(u.shape[:2], np.nan)
    size = max(1, _BLOCK // (u.shape[1] * u.shape[2] ** 2))
    for first in range(0, len(u), size):
        rows = slice(first, first + size)
        inside = np.isfinite(u[rows]).all(axis=-1)
        at = Conditions(p=conditions.p).rows(np.arange(len(u))[rows]).at(np.zeros(inside.shape))
        found = engine.mechanics(model, weights, u[rows][inside], at.pick(inside))
        energies[rows][inside] = found.kinetic + found.potential
    return energies


def _filled(times: np.ndarray) -> np.ndarray:
    """Times that go on by next to nothing behind the end of a short trajectory, so that all have as many."""
    out = times.copy()
    for row in out:
        known = int(np.isfinite(row).sum())
        if known < len(row):
            last = row[known - 1]
            step = max(1e-6 * (last - row[0]) / max(known - 1, 1), 8 * np.spacing(abs(last)))
            row[known:] = last + (step or 1e-6) * np.arange(1, len(row) - known + 1)
    return out


def _failure(solution: Trajectories, times: np.ndarray, labels: np.ndarray) -> str:
    """One sentence about the trajectories that could not be integrated."""
    status = solution.status
    failed = np.flatnonzero(status)
    worst = failed[0]
    reached = np.isfinite(solution.u[worst]).all(axis=-1) & np.isfinite(times[worst])
    last = times[worst][reached][-1] if reached.any() else times[worst, 0]
    return (
        f"{len(failed)} of {len(status)} trajectories failed; trajectory {labels[worst]} after "
        f"t = {last:g}: {Status(int(status[worst])).reason}"
    )


def initial_states(
    initial: Any, states: tuple[str, ...], data: xr.Dataset, t_start: float | None
) -> xr.Dataset:
    """A data set of the initial states alone, `(B, n)`, at `t_start` (the data's first time by default).

    **Raises:** `pnde.errors.DataError` if they are not real numbers for the states of the model.
    """
    u0 = np.atleast_2d(np.asarray(initial))
    n = len(states)
    if u0.ndim != 2 or u0.shape[1] != n:
        raise DataError(
            f"initial states have the shape (B, {n}) for {', '.join(states)}, not {u0.shape}"
        )
    if u0.dtype.kind not in "iuf" or not np.isfinite(u0).all():
        raise DataError("initial states are finite real numbers; these are not")
    start = float(np.nanmin(time_matrix(data))) if t_start is None else float(t_start)
    # Not by make_dataset, for which a trajectory has two samples at least.
    ds = xr.Dataset(
        {"u": (("trajectory", "time", "state"), u0[:, None].astype(float))},
        {"trajectory": np.arange(len(u0)), "time": [start], "state": list(states)},
    )
    ds["time"].attrs["units"] = time_label(data)
    return ds.assign_coords(units=data["units"]) if "units" in data.coords else ds
