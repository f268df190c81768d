"""Power grids: powers, voltages, and a one-line diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm

from pnde.data import time_label, time_matrix
from pnde.grids import layout

from ._style import (
    FULL_WIDTH,
    WIDTH,
    floored,
    given,
    legend,
    model_styles,
    named,
    outer_labels,
    panels,
    style,
    time_axis_label,
)

POINT: dict[str, Any] = {"color": "#D55E00", "linestyle": (0, (4, 2))}
MARKERS = {"slack": "D", "source": "s", "load": "o"}
COLOURS = colormaps["viridis"]
MOST_BUSES = 12
# Up to this many buses every bus is drawn with its number.
SMALL_GRID = 40


def active_power(
    system: Any,
    forecasts: xr.Dataset | Mapping[str, xr.Dataset],
    buses: Sequence[int | str] | None = None,
    axes: Any = None,
) -> np.ndarray:
    """Active power injected over time, a panel for each bus, a thin line for each trajectory.

    The dashed line is the set-point, which a load draws whatever happens, of a driven load that of
    each trajectory; the grey line is zero: a load above it has become a generator.

    **Arguments:**

    - `system`: the grid's system, such as `pnde.systems.ieee14()`.
    - `forecasts`: forecasts by the name of their model, or a single one.
    - `buses`: numbers or names; by default the load buses, of more than 12 those that draw most.
    - `axes`: axes to draw on, one for each bus.

    **Returns:** the axes, one for each bus.
    """
    grid = system.grid
    at = _chosen(grid, grid.loads, buses)
    first = next(iter(named(forecasts).values()))
    set_point, driven = system.set_point(first).values, set(system.constraint.driven.tolist())
    set_points: dict[int, Any] = {
        k: set_point[..., k] if k in driven else grid.buses.active[k] for k in at
    }
    values = {name: system.active_power(ds).values for name, ds in named(forecasts).items()}
    axes = _bundles(grid, forecasts, values, set_points, "active power (p.u.)", "set-point", axes)
    for ax in axes:
        ax.axhline(0.0, color="#AAAAAA", linewidth=0.5, zorder=0)
    return axes


def voltage(
    system: Any,
    forecasts: xr.Dataset | Mapping[str, xr.Dataset],
    buses: Sequence[int | str] | None = None,
    axes: Any = None,
) -> np.ndarray:
    """Voltage magnitude over time, a panel for each bus, with the operation point dashed.

    The arguments are those of `active_power`; by default the sources, of more than 12 those that
    inject most.

    **Returns:** the axes, one for each bus.
    """
    grid = system.grid
    at = _chosen(grid, grid.sources, buses)
    rest = np.abs(grid.voltage(system.operation_point))
    values = {name: system.voltage(ds).values for name, ds in named(forecasts).items()}
    points = {k: rest[k] for k in at}
    label = "voltage magnitude (p.u.)"
    # Where loads are driven, the grid rests there only as long as they draw what they usually do.
    rests = "rest at the usual demand" if system.inputs else "operation point"
    return _bundles(grid, forecasts, values, points, label, rests, axes)


def diagram(
    system: Any,
    forecasts: xr.Dataset | Mapping[str, xr.Dataset] | None = None,
    time: float | None = None,
    axes: Any = None,
) -> np.ndarray:
    """One-line diagram of a grid; loads and slack are coloured by their constraint error.

    A load's error is the distance of its complex power from the set-point, the slack's that of its
    voltage; the colour is the median over trajectories, on one scale for all forecasts. Errors
    below 1e-17 have the colour of 1e-17. Sources have no law and stay white.

    **Arguments:**

    - `system`: the grid's system, such as `pnde.systems.ieee14()`.
    - `forecasts`: forecasts by the name of their model, or a single one; without any the grid
      alone is drawn.
    - `time`: when; the last time by default.
    - `axes`: axes to draw on, one for each forecast.

    **Returns:** the axes, one for each forecast.
    """
    grid = system.grid
    sets = {"": None} if forecasts is None else named(forecasts)
    errors = {name: _bus_errors(system, ds, time) for name, ds in sets.items()}
    known = np.concatenate([error[np.isfinite(error)] for error in errors.values()])
    norm = _decades(known) if known.size else None
    with style():
        own = axes is None
        if own:
            wide = len(sets) > 1 or grid.size > SMALL_GRID
            width = FULL_WIDTH if wide else WIDTH
            across, up = np.ptp(layout(grid), axis=0)
            # Room for the colour bar, the title and the legend.
            height = (width - 0.8) / len(sets) * min(1.2, up / max(across, 1e-9)) + 0.7
            axes = panels(1, len(sets), width, height)
        flat = given(axes, len(sets))[: len(sets)]
        for ax, (name, ds) in zip(flat, sets.items(), strict=True):
            _draw(ax, grid, errors[name], norm)
            if ds is not None:
                moment = np.nanmax(time_matrix(ds)) if time is None else time
                ax.set_title(f"{name}, {moment:g} {time_label(ds)}".rstrip())
        if norm is not None:
            bar = flat[0].figure.colorbar(
                ScalarMappable(norm, COLOURS), ax=list(flat), shrink=0.85, pad=0.02, aspect=30
            )
            bar.set_label("constraint error of the bus (p.u.)")
            bar.ax.tick_params(width=0.5, length=2.5)
            bar.ax.tick_params(which="minor", length=0)
        legend(flat, own)
    return flat


def _chosen(grid: Any, default: np.ndarray, buses: Sequence[int | str] | None) -> list[int]:
    """Positions of the buses to draw."""
    if buses is not None:
        return [grid.index(bus) for bus in buses]
    largest = np.argsort(-np.abs(grid.buses.active[default]), kind="stable")[:MOST_BUSES]
    return sorted(default[largest].tolist())


def _bundles(
    grid: Any,
    forecasts: xr.Dataset | Mapping[str, xr.Dataset],
    values: Mapping[str, np.ndarray],
    points: Mapping[int, Any],
    label: str,
    point_label: str,
    axes: Any,
) -> np.ndarray:
    """Bundles of thin lines, a panel for each bus of `points`, and the value it should have, or `(trajectory, time)`
    values."""
    sets = named(forecasts)
    lines = model_styles(sets)
    first = next(iter(sets.values()))
    count = len(points)
    with style():
        own = axes is None
        columns = count if count <= 2 else 2 if count == 4 else 3
        rows = -(-count // columns)
        width = WIDTH if columns < 3 else FULL_WIDTH
        grid_of_axes = (
            panels(rows, columns, width, 1.25 * rows + 0.4, sharex=True)
            if own
            else given(axes, count)[None]
        )
        flat = grid_of_axes.reshape(-1)[:count]
        for ax, (k, point) in zip(flat, points.items(), strict=True):
            for name, ds in sets.items():
                bundle = len(values[name]) > 1
                thin = {"linestyle": "-", "linewidth": 0.5, "alpha": 0.3} if bundle else {}
                look = {**lines[name], **thin}
                for times, row in zip(time_matrix(ds), values[name], strict=True):
                    ax.plot(times, row[:, k], **look)
                key = {"color": lines[name]["color"]} if bundle else lines[name]
                ax.plot([], [], label=name, **key)
            _draw_point(ax, first, point, point_label)
            _limit(ax, [values[name][..., k] for name in sets], point)
            bus = grid.bus_label(k)
            ax.set_title(bus[0].upper() + bus[1:])
            ax.margins(x=0)
        if own:
            outer_labels(grid_of_axes, count, time_axis_label(first))
            figure = grid_of_axes[0, 0].figure
            figure.supylabel(label, fontsize=7)
            if first.sizes["trajectory"] == 1:
                figure.suptitle(f"trajectory {first['trajectory'].values[0]}", fontsize=7)
        else:
            for ax in flat:
                ax.set(xlabel=time_axis_label(first), ylabel=label)
        legend(flat, own)
    return flat


def _draw_point(ax: Axes, ds: xr.Dataset, point: Any, label: str) -> None:
    """The value that a bus should have, or values `(trajectory, time)`."""
    if np.ndim(point) == 0:
        if np.isfinite(point):
            ax.axhline(point, linewidth=0.8, zorder=3, label=label, **POINT)
        return
    for row, (times, values) in enumerate(zip(time_matrix(ds), point, strict=True)):
        look = {"linewidth": 0.8 if len(point) == 1 else 0.4, "zorder": 3, **POINT}
        ax.plot(times, values, label=None if row else label, **look)


def _limit(ax: Axes, values: Sequence[np.ndarray], point: Any) -> None:
    """Let a few trajectories that run away leave the panel instead of setting its scale.

    `values` are `(trajectory, time)`; all of them are seen at their start.
    """
    every = np.concatenate([part[np.isfinite(part)] for part in values])
    starts = np.concatenate([part[:, 0] for part in values])
    seen = np.concatenate([np.quantile(every, [0.02, 0.98]), starts, np.ravel(point)])
    low, high = np.nanmin(seen), np.nanmax(seen)
    if np.ptp(every) > 4 * (high - low) > 0:
        ax.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))


def _bus_errors(system: Any, ds: xr.Dataset | None, time: float | None) -> np.ndarray:
    """The median error of each bus at a time, `(N,)`; NaN where there is none."""
    if ds is None:
        return np.full(system.grid.size, np.nan)
    values, times = system.bus_error(ds).values, time_matrix(ds)
    moments = np.full(len(times), np.nanmax(times)) if time is None else np.full(len(times), time)
    nearest = np.nanargmin(np.abs(times - moments[:, None]), axis=1)
    picked = values[np.arange(len(values)), nearest]
    # Failed trajectories are missing from the median; a source has no error in any.
    some = np.isfinite(picked).any(axis=0)
    out = np.full(picked.shape[1], np.nan)
    out[some] = np.nanmedian(picked[:, some], axis=0)
    return floored(out)


def _decades(errors: np.ndarray) -> LogNorm:
    """A logarithmic scale of whole decades, three at least, so that colours can be read."""
    low = np.floor(np.log10(errors.min()))
    high = max(np.ceil(np.log10(errors.max())), low + 3)
    return LogNorm(10.0**low, 10.0**high)


def _draw(ax: Axes, grid: Any, error: np.ndarray, norm: LogNorm | None) -> None:
    points, line, kinds = layout(grid), grid.branches, np.array(grid.buses.kind)
    small = grid.size <= SMALL_GRID
    for a, b in zip(line.start, line.end, strict=True):
        ax.plot(*points[[a, b]].T, color="#888888", linewidth=0.8, zorder=1)
    colours = [
        COLOURS(norm(value)) if norm is not None and np.isfinite(value) else (1.0, 1.0, 1.0, 1.0)
        for value in error
    ]
    for kind, marker in MARKERS.items():
        mine = np.flatnonzero(kinds == kind)
        ax.scatter(
            points[mine, 0],
            points[mine, 1],
            s=105 if small else 24,
            c=[colours[k] for k in mine],
            marker=marker,
            edgecolors="black",
            linewidths=0.6,
            zorder=2,
        )
        ax.plot([], [], marker, color="white", markeredgecolor="black", markersize=5, label=kind)
    # Of a large grid only the buses that stand out can be named.
    shown = range(grid.size) if small else np.argsort(-np.nan_to_num(error))[:5]
    for k in shown:
        dark = np.dot(colours[k][:3], (0.299, 0.587, 0.114)) < 0.5
        ax.annotate(
            str(grid.buses.number[k]),
            points[k],
            xytext=(0, 0) if small else (4, 4),
            textcoords="offset points",
            ha="center" if small else "left",
            va="center_baseline" if small else "bottom",
            fontsize=5.5,
            color="white" if dark and small else "black",
            zorder=3,
        )
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.axis("off")
