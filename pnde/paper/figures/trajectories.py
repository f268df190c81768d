"""Trajectories of the first four test initial states: Figures 8 to 11."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from pnde import plot
from pnde.data import time_matrix
from pnde.paper.results import Results
from pnde.paper.studies import study
from pnde.plot._style import WIDTH, legend, outer_labels, panels


def quartic(results: Results) -> Figure:
    """Figure 8: the first 50 time units in the plane."""
    return _four(results, "quartic", ("x", "y"), 50.0, ("x", "y"))


def lotka_volterra(results: Results) -> Figure:
    """Figure 9: prey and predators, over all of the test horizon."""
    return _four(results, "lotka-volterra", ("x", "y"), np.inf, ("prey x", "predators y"))


def four_pendulum(results: Results) -> Figure:
    """Figure 10: the last bob of the 4-pendulum in its first 3 s."""
    return _four(results, "pendulum-4", ("x_4", "y_4"), 3.0, ("$x_4$ (m)", "$y_4$ (m)"))


def eight_pendulum(results: Results) -> Figure:
    """Figure 11: the last bob of the 8-pendulum in its first 3 s."""
    return _four(results, "pendulum-8", ("x_8", "y_8"), 3.0, ("$x_8$ (m)", "$y_8$ (m)"))


def _four(
    results: Results, name: str, states: tuple[str, str], t_end: float, labels: tuple[str, str]
) -> Figure:
    baseline = study(name).baseline
    forecasts = results.forecasts(name, (baseline, "pnde"))
    renamed = {
        ("NDE (angular)" if key == "angular NDE" else key): _until(ds, t_end)
        for key, ds in forecasts.items()
    }
    truth = _until(results.truth(name), t_end)
    axes = panels(2, 2, WIDTH, 270 / 72, sharex=True, sharey=True)
    flat = plot.phase(truth, renamed, states=states, axes=axes)
    for index, ax in enumerate(flat):
        if (old := ax.get_legend()) is not None:
            old.remove()
        for line in ax.get_lines():
            if line.get_label() == "truth":
                line.set_linewidth(1.1)  # many turns in one panel
        ax.set(title=f"initial state {index + 1}", xlabel="", ylabel="")
    _limits(axes, truth, states)
    outer_labels(axes, len(flat), *labels)
    legend(axes, True)
    return axes[0, 0].figure


def _until(ds: xr.Dataset, t_end: float) -> xr.Dataset:
    return ds.isel(time=time_matrix(ds)[0] <= t_end + 1e-9)


def _limits(axes: np.ndarray, truth: xr.Dataset, states: tuple[str, str]) -> None:
    """Half as wide again as the truth: a forecast that is lost leaves the panel instead of setting its scale."""
    four = truth.isel(trajectory=slice(4))["u"]
    x, y = (four.sel(state=name).values for name in states)
    for values, limits in ((x, axes[0, 0].set_xlim), (y, axes[0, 0].set_ylim)):
        low, high = np.nanmin(values), np.nanmax(values)
        limits(low - 0.25 * (high - low), high + 0.25 * (high - low))
