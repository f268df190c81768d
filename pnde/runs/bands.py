"""Bands around a forecast, calibrated on trajectories that the training did not see."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from pnde.data import time_matrix
from pnde.errors import ConfigError, DataError
from pnde.metrics import matching


def check_level(level: float) -> None:
    """Whether a share of the truth that bands are to cover is one.

    **Raises:** `pnde.errors.ConfigError`.
    """
    if not 0 < level < 1:
        raise ConfigError(f"bands = {level:g} is not a share between 0 and 1, such as 0.9")


def band_widths(
    truth: xr.Dataset, forecast: xr.Dataset, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """How far bands reach on each side `(T, n)`, and the times since the start `(T,)`.

    Split-conformal calibration: of n absolute errors at a time, the one of rank ⌈(n + 1) level⌉. A trajectory
    drawn like those of `truth` lies inside with at least that probability, for each time and state (Lei et al. 2018).

    **Raises:** `pnde.errors.DataError` if there are too few trajectories for that rank.
    """
    count, least = forecast.sizes["trajectory"], math.ceil(level / (1 - level) - 1e-9)
    if count < least:
        raise DataError(
            f"bands of {level:g} need {least} trajectories to calibrate on, and the valid split has {count}: give it "
            "more, pass calibration=, or take a smaller share"
        )
    true, u = matching(truth, forecast), forecast["u"].values
    error = np.abs(u - true)
    error[np.isfinite(true) & ~np.isfinite(u)] = np.inf  # a forecast that failed
    times = time_matrix(forecast)
    clocks = times - times[:, :1]
    clock = clocks[int(np.argmax(np.isfinite(clocks).sum(axis=1)))]
    clock = clock[np.isfinite(clock)]
    if not (clocks[:, : len(clock)] == clock).all():
        error = _on_clock(error, clocks, clock)
    known = np.isfinite(error).sum(axis=0) + np.isposinf(error).sum(axis=0)
    rank = np.ceil((known + 1) * level - 1e-9).astype(int)
    ordered = np.sort(np.where(np.isnan(error), np.inf, error), axis=0)
    at_rank = np.take_along_axis(ordered, np.minimum(rank, count)[None] - 1, axis=0)[0]
    return np.where(rank > known, np.inf, at_rank), clock


def add_bands(
    forecast: xr.Dataset, widths: np.ndarray, clock: np.ndarray, level: float
) -> xr.Dataset:
    """A forecast with the variables `lower` and `upper` `(trajectory, time, state)`.

    **Raises:** `pnde.errors.ConfigError` if it goes on for longer than the bands are known.
    """
    times = time_matrix(forecast)
    since = times - times[:, :1]
    longest = float(np.nanmax(since))
    if longest > clock[-1] * (1 + 1e-9):
        raise ConfigError(
            f"bands are known for {clock[-1]:g} from the start, as long as the trajectories of their calibration, not "
            f"for {longest:g}: name an earlier t_end, or pass longer ones as calibration="
        )
    reach = np.stack([np.interp(since, clock, width) for width in widths.T], axis=-1)
    u = forecast["u"].transpose("trajectory", "time", "state").values
    dims = ("trajectory", "time", "state")
    out = forecast.assign(lower=(dims, u - reach), upper=(dims, u + reach))
    return out.assign_attrs(bands=level)


def _on_clock(error: np.ndarray, clocks: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """Errors `(B, T, n)` at times of their own, on one clock; NaN behind a trajectory's end."""
    out = np.full((len(error), len(clock), error.shape[2]), np.nan)
    for row, (own, times) in enumerate(zip(error, clocks, strict=True)):
        for state in range(own.shape[1]):
            known = np.isfinite(times) & ~np.isnan(own[:, state])
            if known.any():
                values = np.interp(clock, times[known], own[known, state])
                inside = clock <= times[known][-1]
                out[row, inside, state] = values[inside]
    return out
