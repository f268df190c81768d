"""How far inside of its bounds a forecast stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from pnde.data import time_matrix
from pnde.errors import DataError

from ._style import (
    FULL_WIDTH,
    INITIAL,
    WIDTH,
    given,
    legend,
    model_styles,
    named,
    outer_labels,
    panels,
    style,
    time_axis_label,
)

# More rows than this are too small to read; those that come nearest to a bound are shown.
MOST_ROWS = 12


def margins(forecasts: xr.Dataset | Mapping[str, xr.Dataset], axes: Any = None) -> np.ndarray:
    """How far inside of its bounds each row of a model's inequalities is over time.

    Lines are the least over the trajectories; below the red line at 0 a trajectory is outside. Of more
    than 12 rows, the 12 that come nearest to a bound, in units of their size in the data, are shown.

    **Arguments:**

    - `forecasts`: forecasts by the name of their model, or a single forecast, with the variable
      `margin`; others are left out.
    - `axes`: axes to draw on, one for each row.

    **Returns:** the axes, one for each row that is shown.

    **Raises:** `pnde.errors.DataError` where no forecast has margins.
    """
    forecasts = {name: ds for name, ds in named(forecasts).items() if "margin" in ds}
    if not forecasts:
        raise DataError(
            "no forecast has margins: they are those of models that were trained with inequalities"
        )
    first = next(iter(forecasts.values()))
    rows = _nearest(forecasts, first)
    with style():
        own = axes is None
        grid = _panels(len(rows)) if own else given(axes, len(rows))[None]
        flat = grid.reshape(-1)
        lines = model_styles(forecasts)
        for ax, row in zip(flat, rows, strict=False):
            ax.axhline(0, color=INITIAL, linewidth=0.6, zorder=0)
            for name, forecast in forecasts.items():
                margin = forecast["margin"].sel(bound=row).transpose("trajectory", "time").values
                times, least = _least(time_matrix(forecast), margin)
                ax.plot(times, least, **{**lines[name], "label": name})
            ax.set_title(row)
            ax.margins(x=0)
            if not own:
                ax.set(xlabel=time_axis_label(first), ylabel="margin")
        if own:
            outer_labels(grid, len(rows), time_axis_label(first), "margin")
        legend(flat, own)
        if own and len(rows) < first.sizes["bound"]:
            flat[0].figure.suptitle(
                f"the {len(rows)} rows of {first.sizes['bound']} that come nearest to a bound"
            )
    return flat[: len(rows)]


def _nearest(forecasts: Mapping[str, xr.Dataset], first: xr.Dataset) -> list[str]:
    """The rows that come nearest to a bound, in their order."""
    least = np.min(
        [
            ds["margin"].min(("trajectory", "time")).values / ds["bound_scale"].values
            for ds in forecasts.values()
        ],
        axis=0,
    )
    chosen = np.sort(np.argsort(least)[:MOST_ROWS])
    return [str(name) for name in first["bound"].values[chosen]]


def _least(times: np.ndarray, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least of the trajectories at each time that any of them has."""
    known = np.isfinite(times) & np.isfinite(margin)
    at, where = np.unique(times[known], return_inverse=True)
    least = np.full(at.shape, np.inf)
    np.minimum.at(least, where, margin[known])
    return at, least


def _panels(count: int) -> np.ndarray:
    columns = min(count, 3)
    rows = -(-count // columns)
    width = WIDTH if columns == 1 else FULL_WIDTH
    return panels(rows, columns, width, 1.4 * rows + 0.5, sharex=True)
