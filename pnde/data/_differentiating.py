"""Velocities of measured positions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy  # of which only what is used is loaded: scipy.interpolate takes a quarter of a second
import xarray as xr

from pnde.errors import DataError

from ._angles import describe_jumps
from ._interpolating import is_gap
from ._layout import rebuilt, state_index, time_label, time_matrix

# Of the polynomial that a sample is compared with to tell the noise, and the fewest samples that tell it.
_NEIGHBOURS = 8
_FEWEST_FOR_NOISE = 3 * _NEIGHBOURS
_FEWEST = 4
# Times at random have intervals seven times the median of those around; the ends of a spline are its worst part.
_GAP = 20.0


def differentiate(
    ds: xr.Dataset, names: str | Sequence[str] | None = None, noise: float | None = None
) -> xr.Dataset:
    """The data set of a second-order system: positions as measured, then their velocities, x, y, x_dot, y_dot.

    A velocity is the derivative of a quintic spline (SciPy's `UnivariateSpline`, FITPACK), through the positions where
    they are without noise, and as near to them as their noise is large otherwise. Times may be uneven. The spline is
    cut at gaps: where an interval is more than twenty times as long as those around it. A velocity is unknown where
    its position is, and in stretches of fewer than four samples. Inputs and parameters stay as they are.

    **Arguments:**

    - `ds`: a data set in the standard layout.
    - `names`: the states that are positions, all by default; other states are left out.
    - `noise`: standard deviation of the positions' noise, in their unit. By default it is estimated for each trajectory
        from the differences between samples and polynomials through their neighbours.

    **Raises:** `DataError` for a name that is no state, a negative noise, or an angle that jumps by a full turn.
    """
    every = [str(name) for name in ds["state"].values]
    positions = every if names is None else [names] if isinstance(names, str) else list(names)
    columns = [state_index(ds, name) for name in positions]
    if noise is not None and not 0 <= noise < np.inf:
        raise DataError(f"the noise of positions is a standard deviation, not {noise:g}")
    chosen = ds.isel(state=columns)
    jumps = describe_jumps(chosen, inputs=False)
    if jumps is not None:
        raise DataError(jumps)
    q, t = chosen["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    velocity = np.full_like(q, np.nan)
    for row, times in enumerate(t):
        for column in range(len(columns)):
            velocity[row, :, column] = derivative(q[row, :, column], times, noise)
    units = [str(unit) for unit in chosen["units"].values] if "units" in ds.coords else None
    return rebuilt(
        ds,
        np.concatenate([q, velocity], axis=-1),
        [*positions, *(f"{name}_dot" for name in positions)],
        None if units is None else [*units, *(_rate(unit, time_label(ds)) for unit in units)],
    )


def derivative(x: np.ndarray, t: np.ndarray, noise: float | None = None) -> np.ndarray:
    """dx/dt `(time,)` of one state `(time,)` at its known samples; see `differentiate`."""
    out = np.full(x.shape, np.nan)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(t))
    sigma = estimated_noise(x[known], t[known]) if noise is None else noise
    for stretch in np.split(known, np.flatnonzero(is_gap(np.diff(t[known]), _GAP)) + 1):
        count = len(stretch)
        degree: Literal[3, 5] = 5 if count > 5 else 3  # of the spline: its derivative is smooth
        if count < _FEWEST:
            continue
        # Times in units of the mean step, from the first on: FITPACK's normal equations depend on them.
        origin, step = t[stretch[0]], (t[stretch[-1]] - t[stretch[0]]) / (count - 1)
        times, values = (t[stretch] - origin) / step, x[stretch]
        # The sum of squares of `count` errors is below this, but for once in forty times.
        allowed = sigma**2 * (count + 2 * np.sqrt(2 * count))
        with warnings.catch_warnings():
            # It says so where rounding keeps it from coming nearer than to 0.1 % of `allowed`, which does not matter.
            warnings.simplefilter("ignore", UserWarning)
            spline = scipy.interpolate.UnivariateSpline(times, values, k=degree, s=allowed)
        out[stretch] = spline.derivative()(times) / step
    return out


def estimated_noise(x: np.ndarray, t: np.ndarray) -> float:
    """Standard deviation of the noise of samples `(k,)`; 0 where there are too few to tell.

    Divided differences of order seven vanish for polynomials of degree six, and are weighted sums of eight samples: for
    noise alone, divided by the norm of the weights they have its standard deviation. Their median is not upset by the
    few places where the state itself moves too fast.
    """
    if len(x) < _FEWEST_FOR_NOISE:
        return 0.0
    window = np.lib.stride_tricks.sliding_window_view
    # Times in units of their mean step: products of seven distances would under- or overflow.
    times = window((t - t[0]) * (len(t) - 1) / (t[-1] - t[0]), _NEIGHBOURS)
    values = window(x, _NEIGHBOURS)
    distances = times[:, :, None] - times[:, None, :] + np.eye(_NEIGHBOURS)
    weights = 1 / distances.prod(axis=2)
    differences = (weights * values).sum(axis=1) / np.linalg.norm(weights, axis=1)
    # 0.6745: the median of the size of a normal number.
    return float(np.median(np.abs(differences)) / 0.6745)


def _rate(unit: str, time: str) -> str:
    """The unit of a change per time, as far as both are known."""
    if not time:
        return ""
    if "/" in unit or " " in unit:
        unit = f"({unit})"
    return f"{unit or '1'}/{time}"
