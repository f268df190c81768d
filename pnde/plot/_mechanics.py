"""What a mechanical model has learned: its energy along forecasts, its masses, its dissipation."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pnde.data import time_matrix
from pnde.runs import Run

from ._style import WIDTH, given, letters, panels, style, time_axis_label

# So many forecasts can be told apart.
_FEW = 8


def mechanics(run: Run, forecast: xr.Dataset | None = None, axes: Any = None) -> np.ndarray:
    """The learned energy over time, and masses and dissipation as matrices.

    The energy is drawn for the first eight trajectories, and in grey along their true states, where the
    truth is the run's own test split. Masses and dissipation that depend on the state are those at the
    first state of the first trajectory.

    **Arguments:**

    - `run`: of a model with `network.form = "mechanical"`.
    - `forecast`: of that model; of the run's test split by default.
    - `axes`: three axes to draw on.

    **Returns:** the three axes `(3,)`.

    **Raises:** `pnde.errors.ConfigError` for a model of another form.
    """
    own_truth = forecast is None
    forecast = run.rollout() if forecast is None else forecast
    parts = run.mechanics(forecast.isel(trajectory=[0]))
    with style():
        own = axes is None
        trio = panels(1, 3, 1.5 * WIDTH, 1.9)[0] if own else given(axes, 3)[:3]
        shown = forecast.isel(trajectory=slice(0, _FEW))
        if own_truth:
            energy = run.energy()[:_FEW]
            for times, row in zip(time_matrix(run.data), energy.values, strict=False):
                trio[0].plot(times[: len(row)], row, color="0.8", linewidth=2)
        for times, row in zip(time_matrix(shown), shown["energy"].values, strict=True):
            trio[0].plot(times, row, color="#0072B2")
        trio[0].set_xlabel(time_axis_label(forecast))
        trio[0].set_ylabel("learned energy")
        trio[0].margins(x=0)
        for ax, name in zip(trio[1:], ("masses", "dissipation"), strict=True):
            _matrix(ax, parts[name][0, 0], name)
        if own:
            letters(trio)
    return trio


def _matrix(ax: Any, values: xr.DataArray, title: str) -> None:
    """A matrix with its numbers, red for positive and blue for negative entries."""
    matrix = values.values
    size = np.abs(matrix).max() or 1.0
    ax.imshow(matrix, cmap="RdBu_r", vmin=-1.5 * size, vmax=1.5 * size)
    names = [str(name) for name in values["position"].values]
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    ax.set_title(title)
    if len(names) <= 4:
        for (i, j), value in np.ndenumerate(matrix):
            ax.text(j, i, f"{value:.2g}", ha="center", va="center", fontsize=5)
