"""How good a forecast is, and how well data obey a law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pnde.data import state_index, time_label, time_matrix
from pnde.errors import DataError

# The relative state error up to which a forecast is valid.
VALID = 0.1
# A row is at its bound within this share of its size.
AT_BOUND = 1e-3
# A target smaller than this, relative to what unrelated states give, is no scale to measure by.
SMALL_TARGET = 1e-2


def state_error(truth: Any, u: Any) -> Any:
    """Relative state error ‖u − û‖₂ / ‖u‖₂ for each trajectory and time (paper, Sec. IV).

    **Arguments:**

    - `truth`, `u`: arrays ``(..., n)`` of one shape, or data sets, whose trajectories, times and
      states are then matched (see `matching`): ``u`` sets the trajectories and times, and where
      the truth has no sample the error is NaN.

    **Returns:** an array ``(...)``, or a ``DataArray`` ``(trajectory, time)`` for data sets. Where
    only some true states are known (not NaN), the norms are over these. The error is 0 where both
    states vanish, and infinite where only the true one does.
    """
    if isinstance(u, xr.Dataset):
        values = u["u"].transpose("trajectory", "time", "state").values
        errors = state_error(matching(truth, u), values)
        coordinates = {k: u[k] for k in ("trajectory", "time", "split") if k in u.coords}
        return xr.DataArray(errors, coordinates, ("trajectory", "time"), name="state_error")
    truth, u = np.asarray(truth, np.float64), np.asarray(u, np.float64)
    if truth.shape != u.shape:
        raise DataError(f"the truth has the shape {truth.shape}, the forecast {u.shape}")
    # Of states that were sampled at different times, those that were counts.
    known = np.isfinite(truth) | ~np.isfinite(truth).any(axis=-1, keepdims=True)
    difference = np.linalg.norm(np.where(known, truth - u, 0.0), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = difference / np.linalg.norm(np.where(known, truth, 0.0), axis=-1)
    return np.where(difference == 0, 0.0, ratio)


def valid_time(forecast: xr.Dataset, threshold: float = VALID) -> xr.DataArray:
    """For how long each trajectory of a forecast is good: until its state error passes `threshold`.

    It is what a forecast of a chaotic system can be asked for: errors of such a system grow to the
    size of its motion, whatever the model.

    **Arguments:**

    - `forecast`: with ``state_error``.
    - `threshold`: of the relative state error; 0.1 by default.

    **Returns:** times since the start ``(trajectory,)``: of the first sample whose error is above
    the threshold, or that a failed trajectory does not have; of the last sample, where there is
    no such; NaN where no error is known.
    """
    errors = forecast["state_error"].transpose("trajectory", "time").values
    times = time_matrix(forecast)
    u = forecast["u"].transpose("trajectory", "time", "state").values
    known = np.isfinite(times) & ~np.isnan(errors)
    lost = np.isfinite(times) & ~np.isfinite(u).all(axis=-1)
    over = (known & (errors > threshold)) | lost
    first = np.where(over.any(axis=1), over.argmax(axis=1), _last(known | lost))
    valid = times[np.arange(len(times)), first] - times[:, 0]
    valid = np.where(known.any(axis=1), valid, np.nan)
    coordinates = {k: forecast[k] for k in ("trajectory", "split") if k in forecast.coords}
    return xr.DataArray(valid, coordinates, ("trajectory",), name="valid_time")


def constraint_error(g: Any) -> np.ndarray:
    """Constraint error ‖g(û)‖₂ of `g` = h − c ``(..., m)``, for each trajectory and time."""
    return np.linalg.norm(np.asarray(g, np.float64), axis=-1)


def energy_rise(forecast: xr.Dataset) -> xr.DataArray:
    """By how much the learned ``energy`` of each trajectory of a mechanical model rises, at most.

    Without inputs and known forces it cannot rise, but for the errors of the solver.

    **Returns:** ``(trajectory,)``: the largest rise above a value that it had before, in the unit of
    the energy.
    """
    energy = forecast["energy"].transpose("trajectory", "time")
    values = energy.values
    known = np.isfinite(values)
    lowest = np.minimum.accumulate(np.where(known, values, np.inf), axis=1)
    rise = np.where(known, values - lowest, 0.0).max(axis=1)
    coordinates = {k: forecast[k] for k in ("trajectory", "split") if k in forecast.coords}
    return xr.DataArray(rise, coordinates, ("trajectory",), name="energy_rise")


def matching(truth: xr.Dataset, forecast: xr.Dataset) -> np.ndarray:
    """The true states ``(trajectory, time, state)`` at the forecast's trajectories and times.

    Trajectories are matched by label, or by position when the labels differ but the numbers agree.
    Times match when they agree to 1e-6 of the smallest step; samples without a match are NaN.

    **Raises:** `DataError` when the states or the trajectories cannot be matched.
    """
    columns = [state_index(truth, str(name)) for name in forecast["state"].values]
    rows = matching_rows(truth, forecast)
    known = truth["u"].transpose("trajectory", "time", "state").values[rows][..., columns]
    true_times, times = time_matrix(truth)[rows], time_matrix(forecast)
    out = np.full((*times.shape, len(columns)), np.nan)
    for row in range(len(rows)):
        own = true_times[row][np.isfinite(true_times[row])]
        at = np.clip(np.searchsorted(own, times[row]), 1, len(own) - 1)
        at -= times[row] - own[at - 1] < own[at] - times[row]
        same = np.abs(own[at] - times[row]) <= 1e-6 * np.diff(own).min()
        out[row, same] = known[row, at[same]]
    return out


def coverage(truth: xr.Dataset, forecast: xr.Dataset) -> xr.DataArray:
    """The share of known true values inside the bands of a forecast, `(time,)`: over trajectories and states."""
    dims = ("trajectory", "time", "state")
    true = matching(truth, forecast)
    lower, upper = (forecast[name].transpose(*dims).values for name in ("lower", "upper"))
    inside = ((lower <= true) & (true <= upper)).sum(axis=(0, 2))
    known = np.isfinite(true).sum(axis=(0, 2))
    shares = np.where(known > 0, inside / np.maximum(known, 1), np.nan)
    return xr.DataArray(shares, dims=("time",), name="coverage")


def table(
    forecasts: Mapping[str, xr.Dataset], at: float | Sequence[float] | None = None
) -> pd.DataFrame:
    """Models beside each other, one row for each forecast.

    **Arguments:**

    - `forecasts`: forecasts by the name of their model, with ``constraint_error``, and
      ``state_error`` where truth is known.
    - `at`: the times of the state error; by default the last time at which any forecast has one.

    **Returns:** the columns

    - ``state error (t = 25 s)``, one for each time: mean over the trajectories that have a sample
      there;
    - ``valid time, median (s)``, ``valid time, 25 % (s)`` and ``valid time, 75 % (s)``: quartiles
      over the trajectories of how long the state error stays below 0.1, see `valid_time`; at most
      the length of the forecast;
    - ``constraint error, mean`` and ``constraint error, max``: over all trajectories and times;
    - ``outside, max`` and ``at a bound``, if any forecast has ``margin``: how far a row is outside of
      its bounds, at most, and in which share of the samples one is at a bound, see `bounds_table`;
    - ``failed`` and ``trajectories``: how many did not reach the end, of how many;
    - ``train time (s)``, if any forecast has the attribute ``train_seconds``.

    Failed trajectories are masked from where they failed, so they are missing from the means: read
    a mean together with ``failed``. What is unknown is NaN.

    **Raises:** `DataError` when a time of `at` lies outside a forecast, or between its samples.
    """
    if at is None:
        last = [t for t in map(_last_known, forecasts.values()) if t is not None]
        at = [max(last)] if last else []
    times = [float(t) for t in np.atleast_1d(np.asarray(at, float))]
    rows = {}
    for name, forecast in forecasts.items():
        unit = time_label(forecast)
        row: dict[str, Any] = {}
        for t in times:
            label = f"state error (t = {t:g}{' ' if unit else ''}{unit})"
            row[label] = _mean_at(forecast, t, name)
        if any("state_error" in other for other in forecasts.values()):
            row |= _valid_times(forecast, f" ({unit})" if unit else "")
        errors = forecast["constraint_error"].values if "constraint_error" in forecast else np.nan
        row["constraint error, mean"] = _mean(errors)
        row["constraint error, max"] = np.max(errors, where=np.isfinite(errors), initial=-1.0)
        if row["constraint error, max"] < 0:
            row["constraint error, max"] = np.nan
        if any("margin" in other for other in forecasts.values()):
            row |= _at_bounds(forecast)
        row["failed"] = failures(forecast)
        row["trajectories"] = forecast.sizes["trajectory"]
        if any("train_seconds" in other.attrs for other in forecasts.values()):
            row["train time (s)"] = float(forecast.attrs.get("train_seconds", np.nan))
        rows[name] = row
    out = pd.DataFrame.from_dict(rows, orient="index")
    out.index.name = "model"
    return out


def bounds_table(forecast: xr.Dataset) -> pd.DataFrame:
    """The inequalities of a forecast in one line for each row.

    **Returns:** the columns ``least margin`` (how far inside, at least), ``outside, max`` (how far
    outside, at most; 0 if never), and ``at the bound``: the share of the samples that are within a
    thousandth of the row's own size in the data of a bound, or beyond it.
    """
    margin = forecast["margin"].transpose("trajectory", "time", "bound").values
    near = AT_BOUND * np.asarray(forecast["bound_scale"].values, float)
    lines = {}
    for k, name in enumerate(forecast["bound"].values):
        own = margin[..., k][np.isfinite(margin[..., k])]
        least = float(own.min()) if own.size else float("nan")
        lines[str(name)] = {
            "least margin": least,
            "outside, max": max(0.0, -least) if own.size else float("nan"),
            "at the bound": float((own <= near[k]).mean()) if own.size else float("nan"),
        }
    out = pd.DataFrame.from_dict(lines, orient="index")
    out.index.name = "bound"
    return out


def failures(forecast: xr.Dataset) -> int:
    """How many trajectories failed: by ``status``, or else by being NaN at their last time."""
    if "status" in forecast:
        return int((forecast["status"].values != 0).sum())
    u = forecast["u"].transpose("trajectory", "time", "state").values
    last = np.isfinite(time_matrix(forecast)).sum(axis=1) - 1
    return int(np.isnan(u[np.arange(len(u)), last]).any(axis=-1).sum())


def unrelated_states(ds: xr.Dataset, count: int = 1000, seed: int = 0) -> np.ndarray:
    """States ``(count, n)`` that obey no law, but whose components have the sizes of the data's.

    Each component is drawn on its own from the samples of the data. What a law says of these
    states is the scale on which it can be broken; see `law_scale`.
    """
    u = ds["u"].transpose("trajectory", "time", "state").values.reshape(-1, ds.sizes["state"])
    random = np.random.default_rng(seed)
    # State by state: some may never be known at the same time.
    known = (column[np.isfinite(column)] for column in u.T)
    return np.stack([own[random.integers(len(own), size=count)] for own in known], axis=1)


def law_scale(c: np.ndarray, h_unrelated: np.ndarray) -> np.ndarray:
    """What a deviation is measured by: |c|, or where c = 0 the size of h for unrelated states.

    **Arguments:**

    - `c`: targets ``(trajectory, row)``.
    - `h_unrelated`: the law ``(count, row)`` at `unrelated_states`.

    **Returns:** scales ``(trajectory, row)``. A target below 1 % of the other scale counts as 0.
    The spread of h over the data would not do for c = 0: where the data obey the law it is the
    deviation itself, and rounding errors would look like a law that is broken altogether.
    """
    known = np.isfinite(h_unrelated)
    squares = np.where(known, h_unrelated, 0.0) ** 2
    size = np.sqrt(squares.sum(axis=0) / np.maximum(known.sum(axis=0), 1))
    return np.where(np.abs(c) > SMALL_TARGET * size, np.abs(c), size)


def deviation(
    g: np.ndarray,
    scale: Any,
    data: xr.Dataset | None = None,
    rows: Sequence[str] | None = None,
) -> xr.Dataset:
    """How far states stray from a law, by trajectory, time and row.

    **Arguments:**

    - `g`: h(u, t) − c ``(trajectory, time, row)``, NaN where there is no sample.
    - `scale`: what it is measured by, such as `law_scale`; ``(row,)``, ``(trajectory, row)`` or of
      the shape of `g`. Where it is 0, the relative deviation is the absolute one.
    - `data`: the data set that `g` belongs to, for its trajectories and times.
    - `rows`: the names of the rows.

    **Returns:** a data set with the variables ``absolute`` |h − c| and ``relative`` |h − c|/scale,
    both ``(trajectory, time, row)``.
    """
    g = np.asarray(g, np.float64)
    scale = np.abs(np.asarray(scale, np.float64))
    if scale.ndim == 2:
        scale = scale[:, None, :]
    scale = np.where(scale == 0, 1.0, scale)
    dims = ("trajectory", "time", "row")
    names = [f"row {i}" for i in range(g.shape[-1])] if rows is None else [str(r) for r in rows]
    out = xr.Dataset(
        {"absolute": (dims, np.abs(g)), "relative": (dims, np.abs(g) / scale)},
        {"row": names, "trajectory": np.arange(g.shape[0]), "time": np.arange(g.shape[1])},
    )
    if data is None:
        return out
    out = out.drop_vars("time").assign_coords(trajectory=data["trajectory"].values)
    if "t" in data:
        return out.assign(t=(("trajectory", "time"), time_matrix(data), data["t"].attrs))
    return out.assign_coords(time=data["time"])


def deviation_table(ds: xr.Dataset) -> pd.DataFrame:
    """The result of `deviation` in one line for each row of the law.

    **Returns:** the columns ``max`` and ``mean`` (relative), ``max absolute``, and where the
    relative deviation is largest: ``worst trajectory`` (label) and ``worst time``. A row without
    samples has NaN.
    """
    times = time_matrix(ds)
    lines: dict[str, dict[str, Any]] = {}
    for name in ds["row"].values:
        relative = ds["relative"].sel(row=name).transpose("trajectory", "time").values
        absolute = ds["absolute"].sel(row=name).transpose("trajectory", "time").values
        known = np.isfinite(relative)
        line: dict[str, Any] = dict.fromkeys(
            ("max", "mean", "max absolute", "worst trajectory", "worst time"), np.nan
        )
        if known.any():
            worst = np.unravel_index(np.argmax(np.where(known, relative, -1.0)), relative.shape)
            line["max"] = relative[worst]
            line["mean"] = relative[known].mean()
            line["max absolute"] = absolute[known].max()
            line["worst trajectory"] = ds["trajectory"].values[worst[0]]
            line["worst time"] = times[worst]
        lines[str(name)] = line
    out = pd.DataFrame.from_dict(lines, orient="index")
    out.index.name = "row"
    return out


def matching_rows(truth: xr.Dataset, forecast: xr.Dataset) -> list[int]:
    """The positions in `truth` of the forecast's trajectories; see `matching`."""
    labels = truth["trajectory"].values.tolist() if "trajectory" in truth.coords else []
    wanted = forecast["trajectory"].values.tolist() if "trajectory" in forecast.coords else []
    if wanted and set(wanted) <= set(labels):
        return [labels.index(label) for label in wanted]
    count = forecast.sizes["trajectory"]
    if truth.sizes["trajectory"] == count:
        return list(range(count))
    missing = next((label for label in wanted if label not in labels), "0")
    raise DataError(
        f"the truth has no trajectory {missing}, and with {truth.sizes['trajectory']} trajectories "
        f"for {count} forecasts they cannot be matched by position either"
    )


def _at_bounds(forecast: xr.Dataset) -> dict[str, float]:
    if "margin" not in forecast:
        return {"outside, max": float("nan"), "at a bound": float("nan")}
    margin = forecast["margin"].transpose("trajectory", "time", "bound").values
    known = np.isfinite(margin).all(axis=-1)
    at = (margin <= AT_BOUND * forecast["bound_scale"].values).any(axis=-1)
    outside = bounds_table(forecast)["outside, max"].max()
    return {"outside, max": float(outside), "at a bound": _mean(np.where(known, at, np.nan))}


def _last_known(forecast: xr.Dataset) -> float | None:
    if "state_error" not in forecast:
        return None
    known = np.isfinite(forecast["state_error"].transpose("trajectory", "time").values)
    return float(time_matrix(forecast)[known].max()) if known.any() else None


def _valid_times(forecast: xr.Dataset, unit: str) -> dict[str, float]:
    valid = np.full(1, np.nan) if "state_error" not in forecast else valid_time(forecast).values
    valid = valid[np.isfinite(valid)]
    quartiles = np.quantile(valid, [0.5, 0.25, 0.75]) if len(valid) else np.full(3, np.nan)
    names = ("median", "25 %", "75 %")
    return {f"valid time, {name}{unit}": float(t) for name, t in zip(names, quartiles, strict=True)}


def _last(known: np.ndarray) -> np.ndarray:
    """The last true column of each row `(rows, columns)`."""
    return known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)


def _mean_at(forecast: xr.Dataset, t: float, name: str) -> float:
    if "state_error" not in forecast:
        return float("nan")
    times = time_matrix(forecast)
    reach = np.nanmax(times)
    slack = 1e-6 * max(1e-3 * abs(t), reach - np.nanmin(times)) / max(times.shape[1], 1)
    if not np.nanmin(times) - slack <= t <= reach + slack:
        raise DataError(
            f"the forecast {name!r} runs from {np.nanmin(times):g} to {reach:g}; there is no "
            f"state error at t = {t:g}"
        )
    errors = forecast["state_error"].transpose("trajectory", "time").values
    nearest = np.nanargmin(np.abs(times - t), axis=1)
    rows = np.arange(len(times))
    away = np.abs(times[rows, nearest] - t)
    # A trajectory without a sample there, such as one that ends before, has no error there.
    there = away <= slack
    if not there.any():
        around = times[np.nanargmin(away)]
        below, above = around[around < t], around[around > t]
        raise DataError(
            f"the forecast {name!r} has no sample at t = {t:g}; those around it are at "
            f"{np.nanmax(below) if below.size else t:g} and {np.nanmin(above) if above.size else t:g}"
        )
    return _mean(np.where(there, errors[rows, nearest], np.nan))


def _mean(values: Any) -> float:
    values = np.asarray(values, float)
    known = np.isfinite(values)
    return float(values[known].mean()) if known.any() else float("nan")
