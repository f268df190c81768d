"""States over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.data import state_index, time_matrix

from ._style import (
    FULL_WIDTH,
    NDE,
    OTHERS,
    PNDE,
    SNDE,
    TRUTH,
    WIDTH,
    given,
    legend,
    model_styles,
    outer_labels,
    panels,
    state_label,
    style,
    time_axis_label,
)


def trajectories(
    data: xr.Dataset | Mapping[str, xr.Dataset],
    states: Sequence[str] | None = None,
    trajectories: Sequence[int] | None = None,
    axes: Any = None,
) -> np.ndarray:
    """States over time, a panel for each state.

    **Arguments:**

    - `data`: a data set, or several by name: models get their colours, `truth` is black.
    - `states`: names; all if left out.
    - `trajectories`: positions in the data set; by default the first 5 of a single data set, the
      first of several.
    - `axes`: axes to draw on, one for each state.

    **Returns:** the axes, one for each state. Gaps in the data are gaps in the lines.
    """
    sets = {"": data} if isinstance(data, xr.Dataset) else dict(data)
    first = next(iter(sets.values()))
    names = [str(name) for name in first["state"].values] if states is None else list(states)
    if trajectories is None:
        trajectories = range(min(5, first.sizes["trajectory"]) if len(sets) == 1 else 1)
    models = model_styles({name: ds for name, ds in sets.items() if name.lower() != "truth"})
    with style():
        own = axes is None
        grid = _panels(len(names)) if own else given(axes, len(names))[None]
        flat = grid.reshape(-1)
        for panel, name in zip(flat, names, strict=False):
            for label, ds in sets.items():
                column = state_index(ds, name)
                u = ds["u"].transpose("trajectory", "time", "state").values[..., column]
                times = time_matrix(ds)
                for order, row in enumerate(trajectories):
                    if len(sets) == 1:
                        line = _cycle(order)
                        text = f"trajectory {ds['trajectory'].values[row]}"
                    else:
                        line = models.get(label, TRUTH)
                        text = label
                    panel.plot(times[row], u[row], **line, **_entry(text, row, trajectories, sets))
            panel.set_ylabel(state_label(first, state_index(first, name)))
            panel.margins(x=0)
            panel.set_xlabel("" if own else time_axis_label(first))
        if own:
            outer_labels(grid, len(names), time_axis_label(first))
        legend(flat, own)
    return flat[: len(names)]


def _panels(count: int) -> np.ndarray:
    """One column for a few states, up to four for the many of a grid."""
    columns = 1 if count <= 4 else 2 if count <= 10 else 4
    rows = -(-count // columns)
    width = WIDTH if columns == 1 else FULL_WIDTH
    return panels(rows, columns, width, 0.95 * rows + 0.5, sharex=True)


def _cycle(order: int) -> dict[str, Any]:
    lines = [PNDE, NDE, SNDE[1], SNDE[2], SNDE[0], OTHERS[0]]
    return lines[order % len(lines)]


def _entry(
    text: str, row: int, chosen: Sequence[int], sets: Mapping[str, xr.Dataset]
) -> dict[str, Any]:
    """The label of a line: every trajectory of one data set, each of several sets once."""
    if len(sets) > 1:
        return {"label": text if row == chosen[0] else None}
    # A legend of more than a few trajectories helps nobody; a bundle of lines is drawn thin.
    return {"label": text} if len(chosen) <= 6 else {"linewidth": 0.4, "alpha": 0.6}
