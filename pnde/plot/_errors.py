"""State error and constraint error over time (the paper's main figures)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.ticker import LogLocator, NullFormatter

from pnde.data import time_matrix
from pnde.metrics import failures

from ._style import (
    WIDTH,
    floored,
    given,
    legend,
    letters,
    model_styles,
    named,
    panels,
    style,
    time_axis_label,
)


def errors(
    forecasts: xr.Dataset | Mapping[str, xr.Dataset], axes: Any = None, *, band: bool = True
) -> np.ndarray:
    """Relative state error (linear) and constraint error (logarithmic) over time.

    Lines are means over trajectories, as in the paper; bands run from the 10 % to the 90 %
    quantile. Trajectories that failed are missing from the mean from where they failed on, so the
    legend counts them. Constraint errors of exactly 0 are drawn at 1e-17.

    **Arguments:**

    - `forecasts`: forecasts by the name of their model, or a single forecast, with the variables
      `constraint_error` and, where truth is known, `state_error`.
    - `axes`: two axes to draw on.
    - `band`: whether to draw the bands (of several trajectories).

    **Returns:** the two axes `(2,)`.
    """
    forecasts = named(forecasts)
    with style():
        own = axes is None
        pair = panels(1, 2, WIDTH, 2.05)[0] if own else given(axes, 2)[:2]
        lines = model_styles(forecasts)
        for name, forecast in forecasts.items():
            failed, count = failures(forecast), forecast.sizes["trajectory"]
            label = f"{name} ({failed} of {count} failed)" if failed else name
            for ax, variable in zip(pair, ("state_error", "constraint_error"), strict=True):
                if variable in forecast:
                    _line(ax, forecast, variable, {**lines[name], "label": label}, band)
        first = next(iter(forecasts.values()))
        for ax in pair:
            ax.set_xlabel(time_axis_label(first))
            ax.margins(x=0)
        pair[0].set_ylabel("relative state error")
        pair[0].set_ylim(bottom=0)
        pair[1].set_ylabel("constraint error")
        pair[1].set_yscale("log")
        pair[1].yaxis.set_major_locator(LogLocator(numticks=7))
        pair[1].yaxis.set_minor_formatter(NullFormatter())
        if not any("state_error" in forecast for forecast in forecasts.values()):
            pair[0].set_xticks([])
            pair[0].set_yticks([])
            pair[0].text(
                0.5,
                0.5,
                "no truth\nto compare with",
                ha="center",
                va="center",
                transform=pair[0].transAxes,
            )
        if own:
            letters(pair)
        legend(pair, own)
    return pair


def _line(ax: Any, forecast: xr.Dataset, variable: str, line: dict[str, Any], band: bool) -> None:
    times, values = _on_common_times(forecast, variable)
    if variable == "constraint_error":
        values = floored(values)
    with warnings.catch_warnings():
        # Where all trajectories have failed there is no mean, and the line ends.
        warnings.simplefilter("ignore", RuntimeWarning)
        ax.plot(times, np.nanmean(values, axis=0), **line)
        if band and len(values) > 1:
            low, high = np.nanquantile(values, [0.1, 0.9], axis=0)
            ax.fill_between(times, low, high, color=line["color"], alpha=0.15, linewidth=0)


def _on_common_times(forecast: xr.Dataset, variable: str) -> tuple[np.ndarray, np.ndarray]:
    """Times `(time,)` and values `(trajectory, time)`.

    Trajectories with times of their own are set to the time since their start, and interpolated to
    those of the longest one where they differ.
    """
    times = time_matrix(forecast)
    values = forecast[variable].transpose("trajectory", "time").values
    if "t" not in forecast:
        return times[0], values
    times = times - times[:, :1]
    grid = times[np.argmax(np.nanmax(times, axis=1))]
    grid = grid[np.isfinite(grid)]
    rows = []
    for own, row in zip(times, values, strict=True):
        known = np.isfinite(own)
        rows.append(np.interp(grid, own[known], row[known], right=np.nan))
    return grid, np.stack(rows)
