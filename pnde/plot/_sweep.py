"""The runs of a sweep beside each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pnde.errors import DataError

from ._style import INITIAL, WIDTH, panels, style


def sweep(
    table: pd.DataFrame,
    by: Sequence[str] = (),
    column: str = "best loss",
    ax: Axes | None = None,
) -> Axes:
    """A number of each run: a point each, and the median of those that are alike in some settings.

    **Arguments:**

    - `table`: that of `pnde sweep`.
    - `by`: the settings, columns of the table; runs that differ in others alone, such as seeds, stand above each other.
    - `column`: the number.
    - `ax`: the axes to draw on.

    **Returns:** the axes.

    **Raises:** `pnde.errors.DataError` if a column is missing.
    """
    for name in (*by, column):
        if name not in table:
            raise DataError(
                f"the table has no column {name!r}; it has {', '.join(map(str, table.columns))}"
            )
    labels = [
        "\n".join(f"{name.rpartition('.')[2]} {row[name]}" for name in by)
        for _, row in table.iterrows()
    ]
    groups = list(dict.fromkeys(labels))
    values = table[column].to_numpy(float)
    with style():
        if ax is None:
            ax = panels(1, 1, max(WIDTH, 0.6 * len(groups)), 2.2)[0, 0]
        assert ax is not None
        for place, group in enumerate(groups):
            own = values[[label == group for label in labels]]
            own = own[np.isfinite(own)]
            ax.plot(np.full(len(own), place), own, "o", color="#888888", markersize=3)
            if len(own):
                ends = place - 0.3, place + 0.3
                ax.hlines(np.median(own), *ends, color=INITIAL, label="median")
        ax.set_xticks(range(len(groups)), [group or "all runs" for group in groups])
        shown = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        if shown:
            ax.legend(shown.values(), shown.keys())
        ax.set_xlim(-0.6, len(groups) - 0.4)
        if np.nanmin(values, initial=np.inf) > 0:
            ax.set_yscale("log")
        ax.set_ylabel(column)
    return ax
