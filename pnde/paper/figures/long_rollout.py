"""Rollouts of the 14-bus grid fifty times longer than its data: Figures 7, 12 and 13."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pnde import plot
from pnde.data import time_label, time_matrix
from pnde.paper.results import Results
from pnde.plot._style import WIDTH, legend, panels


def long_rollout(results: Results) -> Figure:
    """Figure 7: active power at the loads 4 and 10, voltage at the sources 1 and 3."""
    axes = panels(2, 2, WIDTH, 258 / 72, sharex=True)
    _bundles(results, plot.active_power, (4, 10), axes[0])
    _bundles(results, plot.voltage, (1, 3), axes[1])
    for ax, letter in zip(axes.reshape(-1), "abcd", strict=True):
        ax.set_title(f"({letter}) {ax.get_title()}")
        ax.set_box_aspect(1)
    axes[0, 0].set_ylabel("active power (p.u.)")
    axes[1, 0].set_ylabel("voltage magnitude (p.u.)")
    return _finished(results, axes)


def all_loads(results: Results) -> Figure:
    """Figure 12: active power at all loads."""
    buses = tuple(int(b) for b in _numbers(results, "loads"))
    return _all(results, plot.active_power, buses, 3, 330 / 72, "active power (p.u.)")


def all_sources(results: Results) -> Figure:
    """Figure 13: voltage at all sources."""
    buses = tuple(int(b) for b in _numbers(results, "sources"))
    return _all(results, plot.voltage, buses, 2, 258 / 72, "voltage magnitude (p.u.)")


def _numbers(results: Results, kind: str) -> np.ndarray:
    grid = results.system("ieee14").grid
    return grid.buses.number[getattr(grid, kind)]


def _all(
    results: Results,
    draw: Callable[..., Any],
    buses: tuple[int, ...],
    columns: int,
    height: float,
    name: str,
) -> Figure:
    axes = panels(-(-len(buses) // columns), columns, WIDTH, height, sharex=True)
    _bundles(results, draw, buses, axes)
    axes[0, 0].figure.supylabel(name, fontsize=7)
    return _finished(results, axes)


def _bundles(
    results: Results, draw: Callable[..., Any], buses: tuple[int, ...], axes: np.ndarray
) -> None:
    system = results.system("ieee14")
    flat = draw(system, results.long("ieee14"), buses=buses, axes=axes)
    for ax, bus in zip(flat, buses, strict=True):
        if (old := ax.get_legend()) is not None:
            old.remove()
        for line in ax.get_lines():
            if line.get_label() == "set-point":
                line.remove()  # PNDE stays on it, and would be hidden below it
        ax.set(title=f"Bus {bus}", xlabel="", ylabel="")


def _finished(results: Results, axes: np.ndarray) -> Figure:
    first = next(iter(results.long("ieee14").values()))
    end, unit = float(np.nanmax(time_matrix(first))), time_label(first)
    for ax in axes[-1]:
        ax.set_xlabel(f"time ({unit})" if unit else "time")
    for ax in axes.reshape(-1):
        ax.set_xticks([0.0, end / 2, end])
        ax.set_xlim(0.0, end)
        _few_ticks(ax)
    legend(axes, True)
    return axes[0, 0].figure


def _few_ticks(ax: Axes) -> None:
    ax.locator_params(axis="y", nbins=4)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
