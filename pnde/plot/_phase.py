"""Phase portraits (the paper's appendix on trajectories)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.data import state_index
from pnde.errors import DataError
from pnde.metrics import matching_rows

from ._style import (
    INITIAL,
    TRUTH,
    WIDTH,
    given,
    legend,
    model_styles,
    named,
    outer_labels,
    panels,
    reach,
    state_label,
    style,
    trajectory_label,
)

# The path of a point that is moved about.
PIVOT: dict[str, Any] = {"color": "#999999", "linestyle": "-"}


def phase(
    truth: xr.Dataset,
    forecasts: xr.Dataset | Mapping[str, xr.Dataset],
    states: tuple[str, str] | None = None,
    trajectories: Sequence[int] = (0, 1, 2, 3),
    axes: Any = None,
    *,
    pivot: tuple[str, str] | None = None,
) -> np.ndarray:
    """One state against another, a panel for each trajectory: truth, forecasts, initial state.

    A forecast that runs away leaves the panel. A title names the trajectory's parameters, if it has any.

    **Arguments:**

    - `truth`: the true trajectories.
    - `forecasts`: forecasts by the name of their model, or a single one.
    - `states`: the names of the two states; the first two if left out.
    - `trajectories`: positions in the forecast; those that it does not have are left out.
    - `axes`: axes to draw on, one for each trajectory.
    - `pivot`: two inputs whose path is drawn too, such as the point that a pendulum hangs on.

    **Returns:** the axes, one for each trajectory.

    **Raises:** `pnde.errors.DataError` if the data have a single state, or none of the trajectories.
    """
    forecasts = named(forecasts)
    first = next(iter(forecasts.values()), truth)
    if states is None:
        if first.sizes["state"] < 2:
            raise DataError("a phase portrait needs two states, the data have one")
        states = (str(first["state"].values[0]), str(first["state"].values[1]))
    chosen = [index for index in trajectories if index < first.sizes["trajectory"]]
    if not chosen:
        raise DataError(f"the forecast has only {first.sizes['trajectory']} trajectories")
    true_rows = matching_rows(truth, first)
    with style():
        own = axes is None
        if own:
            columns = min(2, len(chosen))
            rows = -(-len(chosen) // columns)
            height = rows * WIDTH / columns + 0.25
            grid = panels(rows, columns, WIDTH, height, sharex=True, sharey=True)
            flat = grid.reshape(-1)
        else:
            flat = given(axes, len(chosen))
        lines = model_styles(forecasts)
        shown = {
            name: np.stack([_pair(ds, matching_rows(ds, first)[index], states) for index in chosen])
            for name, ds in forecasts.items()
        }
        true = np.stack([_pair(truth, true_rows[index], states) for index in chosen])
        for ax, index in zip(flat, chosen, strict=False):
            x, y = _pair(truth, true_rows[index], states)
            if pivot is not None:
                moved = truth["w"].sel(input=list(pivot)).transpose("trajectory", "input", "time")
                ax.plot(*moved.values[true_rows[index]], label="pivot", linewidth=0.7, **PIVOT)
            # Wide, so that it is still seen below a forecast that lies on it.
            ax.plot(x, y, label="truth", linewidth=1.7, **TRUTH)
            for name, forecast in forecasts.items():
                row = matching_rows(forecast, first)[index]
                ax.plot(*_pair(forecast, row, states), label=name, linewidth=0.7, **lines[name])
            start = [float(values[0]) for values in _pair(first, index, states)]
            ax.plot(*start, "o", color=INITIAL, markersize=3, zorder=5, label="initial state")
            ax.set_title(trajectory_label(first, index).replace(": ", "\n"))
            ax.set_box_aspect(1)
            for axis, limit in enumerate((ax.set_xlim, ax.set_ylim)):
                limits = reach(true[:, axis], [pairs[:, axis] for pairs in shown.values()])
                if limits is not None:
                    limit(limits)
        x_label, y_label = (state_label(first, state_index(first, name)) for name in states)
        if own:
            outer_labels(grid, len(chosen), x_label, y_label)
        else:
            for ax in flat[: len(chosen)]:
                ax.set(xlabel=x_label, ylabel=y_label)
        legend(flat, own)
    return flat[: len(chosen)]


def _pair(ds: xr.Dataset, row: int, states: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    u = ds["u"].transpose("trajectory", "time", "state").values[row]
    return u[:, state_index(ds, states[0])], u[:, state_index(ds, states[1])]
