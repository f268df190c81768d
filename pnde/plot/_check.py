"""How far data stray from a law."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.ticker import LogLocator, NullFormatter

from pnde.data import time_matrix
from pnde.metrics import deviation_table

from ._style import (
    FULL_WIDTH,
    INITIAL,
    PNDE,
    WIDTH,
    floored,
    given,
    legend,
    outer_labels,
    panels,
    style,
    time_axis_label,
)

# More rows than this are too small to read; the worst are shown.
MOST_ROWS = 12


def check(report: xr.Dataset, axes: Any = None) -> np.ndarray:
    """The relative deviation of data from a law over time, a panel for each row of the law.

    Thin lines are trajectories, the dashed line is the one that strays farthest; a grey line marks
    1 %. Samples without any deviation (the start, where the target is the initial value) are left
    out; a row without any is drawn at 1e-17. Of a law with more than 12 rows, the 12 that are
    broken most are shown.

    **Arguments:**

    - `report`: a data set as `pnde.metrics.deviation` makes it: `relative`
      `(trajectory, time, row)`.
    - `axes`: axes to draw on, one for each row.

    **Returns:** the axes, one for each row that is shown, in the order of the law.
    """
    summary = deviation_table(report)
    worst = summary["max"].sort_values(ascending=False, na_position="last").index[:MOST_ROWS]
    largest_of = dict(zip(summary.index, summary["max"].to_numpy(float), strict=True))
    rows = [str(name) for name in report["row"].values if str(name) in worst]
    times = time_matrix(report)
    labels = report["trajectory"].values.tolist()
    with style():
        own = axes is None
        grid = _panels(len(rows)) if own else given(axes, len(rows))[None]
        flat = grid.reshape(-1)
        for ax, name in zip(flat, rows, strict=False):
            relative = report["relative"].sel(row=name).transpose("trajectory", "time").values
            shown = (
                floored(relative)
                if not (relative > 0).any()
                else np.where(relative == 0, np.nan, relative)
            )
            ax.axhline(0.01, color="#AAAAAA", linewidth=0.5, zorder=0, label="1 %")
            for own_times, values in zip(times, shown, strict=True):
                ax.plot(own_times, values, color=PNDE["color"], linewidth=0.4, alpha=_alpha(labels))
            title = f"{name}\nno samples"
            largest = float(largest_of[name])
            if np.isfinite(largest):
                at = labels.index(summary["worst trajectory"][name])
                ax.plot(times[at], shown[at], color=INITIAL, linestyle=(0, (4, 1)), linewidth=0.8)
                title = f"{name}\nat most {_share(largest)}, trajectory {labels[at]}"
            if largest == 0:
                title = f"{name}\nno deviation"
            ax.set_title(title)
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(numticks=6))
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.set_xlim(np.nanmin(times), np.nanmax(times))
            if not own:
                ax.set(xlabel=time_axis_label(report), ylabel="relative deviation")
        if own:
            outer_labels(grid, len(rows), time_axis_label(report), "relative deviation")
        flat[0].plot([], [], color=PNDE["color"], linewidth=0.6, label="trajectories")
        flat[0].plot(
            [], [], color=INITIAL, linestyle=(0, (4, 1)), label="the one that strays farthest"
        )
        legend(flat, own)
        if own and len(rows) < report.sizes["row"]:
            flat[0].figure.suptitle(
                f"the {len(rows)} rows of {report.sizes['row']} that are broken most"
            )
    return flat[: len(rows)]


def _panels(count: int) -> np.ndarray:
    columns = 1 if count == 1 else 2 if count <= 4 else 3
    rows = -(-count // columns)
    width = WIDTH if columns == 1 else FULL_WIDTH
    return panels(rows, columns, width, 1.4 * rows + 0.5, sharex=True, sharey=True)


def _alpha(labels: list[Any]) -> float:
    return 0.8 if len(labels) <= 5 else 0.35


def _share(value: float) -> str:
    """5.1 %, or 3e-13 where a per cent would not be read, or 12 times."""
    if value >= 10:
        return f"{value:.3g} times"
    return f"{100 * value:.3g} %" if value >= 1e-5 else f"{value:.1e}"
