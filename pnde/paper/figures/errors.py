"""Errors over time: Figures 2, 4 and 6."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from pnde.paper.results import Results
from pnde.paper.studies import Study, label, study
from pnde.plot._style import WIDTH, floored, legend, letters, model_styles, panels

#: A relative error above this says only that the forecast is lost; larger ones leave the panel.
LOST = 2.0


def conservation_errors(results: Results) -> Figure:
    """Figure 2: the quartic potential and Lotka-Volterra."""
    return _rows(results, ("quartic", "lotka-volterra"), 252 / 72)


def pendulum_errors(results: Results) -> Figure:
    """Figure 4: the 4- and the 8-pendulum, in Cartesian coordinates."""
    return _rows(results, ("pendulum-4", "pendulum-8"), 240 / 72)


def grid_errors(results: Results) -> Figure:
    """Figure 6: the 14-bus grid, both axes logarithmic; SNDE with γ = 10 is computed but not drawn, as in the paper."""
    models = tuple(m for m in study("ieee14").models if m != "snde:10")
    axes = panels(1, 2, WIDTH, 155 / 72)
    _pair(results, study("ieee14"), axes[0], models, log_state=True)
    letters(axes[0])
    legend(axes, True)
    return axes[0, 0].figure


def _rows(results: Results, names: tuple[str, ...], height: float) -> Figure:
    shown = [study(name) for name in names if results.has(name)]
    axes = panels(len(shown), 2, WIDTH, height if len(shown) == 2 else 0.6 * height)
    for row, one in zip(axes, shown, strict=True):
        _pair(results, one, row, one.models, log_state=False)
        row[0].annotate(
            one.title,
            (0, 0.5),
            (-4, 0),
            xycoords=row[0].yaxis.label,
            textcoords="offset points",
            rotation=90,
            va="center",
            ha="right",
            fontweight="bold",
        )
    for row in axes[:-1]:
        for ax in row:
            ax.set_xlabel("")
    letters(axes.reshape(-1))
    legend(axes.reshape(-1)[::-1], True)  # in the order of the first panel
    return axes[0, 0].figure


def _pair(
    results: Results, one: Study, axes: np.ndarray, models: tuple[str, ...], log_state: bool
) -> None:
    """State error on the left, constraint error on the right."""
    there = [m for m in models if results.seeds(one.name, m)]
    # By the γ of the study, so that a model keeps its line where others could not be trained.
    looks = model_styles({label(m): xr.Dataset() for m in one.models})
    notes = []
    highest, lowest = 0.0, np.inf
    for model in there:
        for ax, variable in zip(axes, ("state_error", "constraint_error"), strict=True):
            times, curves = results.curves(one.name, model, variable)
            if variable == "constraint_error":
                curves = floored(curves)
            middle = _band(ax, times, curves, looks[label(model)], _name(model))
            if variable == "state_error" and np.isfinite(middle).any():
                highest = max(highest, float(np.nanmax(middle)))
                lowest = min(lowest, float(np.nanmin(np.where(middle > 0, middle, np.inf))))
        failed, count = results.failed(one.name, model)
        if failed:
            notes.append(f"{_name(model)}: {failed} of {count} failed")
    unit = " (s)" if one.source in ("pendulum", "ieee14") else ""
    for ax in axes:
        ax.set_xlabel(f"time{unit}")
        ax.margins(x=0)
        ax.set_box_aspect(1)
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes[0].set_ylabel("relative state error")
    axes[1].set_ylabel("constraint error")
    if log_state:
        axes[0].set_yscale("log")
        axes[0].set_ylim(bottom=max(1e-4, lowest / 2) if lowest < 1e-4 else None)
        _log_axis(axes[0])
    else:
        # Room for what has to be noted.
        axes[0].set_ylim(0, (1.2 if notes else 1.05) * min(highest, LOST) or 1.0)
    axes[1].set_yscale("log")
    _log_axis(axes[1])
    if notes:
        axes[0].text(
            0.03,
            0.97,
            "\n".join(notes),
            transform=axes[0].transAxes,
            ha="left",
            va="top",
            fontsize=5.5,
        )


def _band(ax: Axes, times: np.ndarray, curves: np.ndarray, look: dict, name: str) -> np.ndarray:
    """The median over seeds, and with several of them their range; the median `(T,)`."""
    known = np.isfinite(curves).any(axis=0)
    middle = np.full(len(times), np.nan)
    middle[known] = np.nanmedian(curves[:, known], axis=0)
    ax.plot(times, middle, label=name, **look)
    if len(curves) > 1:
        low, high = np.nanmin(curves[:, known], axis=0), np.nanmax(curves[:, known], axis=0)
        ax.fill_between(times[known], low, high, color=look["color"], alpha=0.2, linewidth=0)
    return middle


def _name(model: str) -> str:
    return "NDE (angular)" if model.startswith("angular") else label(model)


def _log_axis(ax: Axes) -> None:
    ax.yaxis.set_major_locator(LogLocator(numticks=7))
    ax.yaxis.set_minor_formatter(NullFormatter())
