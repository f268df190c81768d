"""States over time, and what drives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.data import state_index, time_matrix
from pnde.errors import DataError, listed, nearest

from ._inputs import input_label, input_lines, input_names, jump_times, own_inputs, step_style
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
    reach,
    state_label,
    style,
    time_axis_label,
    trajectory_label,
)

# Where an input jumps, in all panels.
JUMP: dict[str, Any] = {"color": "#999999", "linewidth": 0.5, "linestyle": (0, (2, 2)), "zorder": 0}


def trajectories(
    data: xr.Dataset | Mapping[str, xr.Dataset],
    states: Sequence[str] | None = None,
    trajectories: Sequence[int] | None = None,
    axes: Any = None,
    *,
    inputs: Sequence[str] | None = None,
) -> np.ndarray:
    """States over time, a panel for each state, and below them one for each input.

    Inputs are drawn as they are between the samples: held ones as steps, others with a gap where they jump. A dashed
    line goes through all panels where a jump was declared. Truth and forecasts of the same inputs show them once.

    **Arguments:**

    - `data`: a data set, or several by name: models get their colours, `truth` is black.
    - `states`, `inputs`: names; all if left out.
    - `trajectories`: positions in the data set; by default the first 5 of a single data set, the
      first of several.
    - `axes`: axes to draw on, one for each state, and as many more as inputs are to be shown.

    Bands of a forecast (`Run.rollout(bands=0.9)`) are shaded.

    **Returns:** the axes, one for each state and then one for each input. Gaps in the data are gaps in the lines.
    """
    sets = {"": data} if isinstance(data, xr.Dataset) else dict(data)
    first = next(iter(sets.values()))
    names = [str(name) for name in first["state"].values] if states is None else list(states)
    if trajectories is None:
        trajectories = range(min(5, first.sizes["trajectory"]) if len(sets) == 1 else 1)
    driven = own_inputs(sets, trajectories)
    drivers = input_names(next(iter(driven.values()))) if driven else []
    drivers = drivers if inputs is None else list(inputs)
    models = model_styles(sets)
    with style():
        own = axes is None
        if own:
            grid, used = _panels(len(names), len(drivers))
            flat = grid.reshape(-1)[used]
        else:
            flat = given(axes, len(names))
            drivers = drivers[: len(flat) - len(names)] if inputs is None else drivers
            flat = given(axes, len(names) + len(drivers))[: len(names) + len(drivers)]
        above, below = flat[: len(names)], flat[len(names) :]
        for panel, name in zip(above, names, strict=True):
            for label, ds in sets.items():
                column = state_index(ds, name)
                u = ds["u"].transpose("trajectory", "time", "state").values[..., column]
                times = time_matrix(ds)
                for order, row in enumerate(trajectories):
                    if len(sets) == 1:
                        line, text = _cycle(order), trajectory_label(ds, row)
                    else:
                        line, text = models[label], label
                    panel.plot(times[row], u[row], **line, **_entry(text, row, trajectories, sets))
                    _draw_bands(panel, ds, row, column, line)
            panel.set_ylabel(state_label(first, state_index(first, name)))
            _let_leave(panel, sets, name, trajectories)
        for order, (label, ds) in enumerate(driven.items()):
            look = TRUTH if order == 0 else models[label]
            _draw_inputs(below, drivers, ds, trajectories, look if len(sets) > 1 else None)
        for panel in flat:
            panel.margins(x=0)
            panel.set_xlabel("" if own else time_axis_label(first))
        for ds in driven.values():
            for moment in jump_times(ds, trajectories):
                for panel in flat:
                    panel.axvline(moment, **JUMP)
        if own:
            outer_labels(grid, used, time_axis_label(first))
            if grid.shape[1] == 1:
                flat[0].figure.align_ylabels(list(flat))
            if len(sets) > 1 and len(trajectories) == 1 and "parameters" in first:
                flat[0].figure.suptitle(trajectory_label(first, trajectories[0]), fontsize=7)
        legend(flat, own)
    return flat


def _draw_bands(panel: Any, ds: xr.Dataset, row: int, column: int, line: Mapping[str, Any]) -> None:
    """The bands of a forecast that has some."""
    if "lower" not in ds or "upper" not in ds:
        return
    lower, upper = (
        ds[name].transpose("trajectory", "time", "state").values[row, :, column]
        for name in ("lower", "upper")
    )
    look = {"color": line.get("color"), "alpha": 0.2, "linewidth": 0}
    panel.fill_between(time_matrix(ds)[row], lower, upper, **look)


def _draw_inputs(
    panels: np.ndarray,
    names: Sequence[str],
    ds: xr.Dataset,
    rows: Sequence[int],
    look: dict[str, Any] | None,
) -> None:
    """The inputs of trajectories, in the look of one model, or each trajectory in its own."""
    for order, row in enumerate(rows):
        lines = input_lines(ds, row)
        for panel, name in zip(panels, names, strict=True):
            if name not in lines:
                raise DataError(
                    f"there is no input {name!r}{nearest(name, lines)}; the inputs are {listed(lines)}"
                )
            thin = {"linewidth": 0.4, "alpha": 0.6} if len(rows) > 6 else {}
            line = {**(_cycle(order) if look is None else look), **step_style(ds, name), **thin}
            panel.plot(*lines[name], **line)
            panel.set_ylabel(input_label(ds, name))


def _let_leave(panel: Any, sets: Mapping[str, xr.Dataset], name: str, rows: Sequence[int]) -> None:
    """Beside a truth, forecasts that run away do not set the scale of a state."""
    values = {
        label: ds["u"]
        .transpose("trajectory", "time", "state")
        .values[list(rows)][..., state_index(ds, name)]
        for label, ds in sets.items()
    }
    truth = [label for label in sets if label.lower() == "truth"]
    limits = reach(values[truth[0]], values.values()) if truth else None
    if limits is not None:
        panel.set_ylim(limits)


def _panels(states: int, inputs: int) -> tuple[np.ndarray, list[int]]:
    """Axes `(rows, columns)` with the positions of those that are used; inputs begin a row of their own.

    One column for a few states, up to four for the many of a grid.
    """
    count = states + inputs
    columns = 1 if count <= 6 else 2 if count <= 12 else 4
    if not inputs:
        columns = 1 if states <= 4 else 2 if states <= 10 else 4
    above, below = -(-states // columns), -(-inputs // columns)
    rows = above + below
    width = WIDTH if columns == 1 else FULL_WIDTH
    axes = panels(rows, columns, width, 0.95 * rows + 0.5, sharex=True)
    used = [*range(states), *range(above * columns, above * columns + inputs)]
    return axes, used


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
