"""What all figures share: size, fonts, colours, legends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pnde.data import time_label
from pnde.errors import PndeError

# One column of the paper, in inches (245 pt); two columns with the gutter between them.
WIDTH = 245 / 72
FULL_WIDTH = 510 / 72
TICK_SIZE = 6.5

# The colours of the paper's figures, from Wong, Nature Methods 8, 441 (2011). The dashes are ours:
# the colours alone cannot be told apart in grey.
NDE: dict[str, Any] = {"color": "#E69F00", "linestyle": (0, (4, 1.5))}
PNDE: dict[str, Any] = {"color": "#0072B2", "linestyle": "-"}
SNDE: tuple[dict[str, Any], ...] = (
    {"color": "#56B4E9", "linestyle": (0, (1, 1))},
    {"color": "#009E73", "linestyle": (0, (4, 1, 1, 1))},
    {"color": "#CC79A7", "linestyle": (0, (4, 1, 1, 1, 1, 1))},
)
TRUTH: dict[str, Any] = {"color": "black", "linestyle": "-"}
OTHERS: tuple[dict[str, Any], ...] = (
    {"color": "#D55E00", "linestyle": (0, (6, 1))},
    {"color": "#666666", "linestyle": (0, (2, 1))},
    {"color": "#F0E442", "linestyle": "-"},
)
INITIAL = "#B22222"

# What a logarithmic axis shows of an exact zero.
FLOOR = 1e-17


@contextmanager
def style() -> Iterator[None]:
    """The look of the figures, for your own drawing beside them: `with pnde.plot.style(): ...`"""
    settings: Any = {
        "font.size": 7,
        "axes.titlesize": 7,
        "axes.labelsize": 7,
        "legend.fontsize": 7,
        "xtick.labelsize": TICK_SIZE,
        "ytick.labelsize": TICK_SIZE,
        "lines.linewidth": 1.0,
        "axes.linewidth": 0.5,
        "axes.formatter.limits": (-3, 4),
        "axes.formatter.use_mathtext": True,
        "legend.frameon": False,
        "legend.handlelength": 2.4,
        "legend.columnspacing": 1.2,
        "figure.dpi": 200,
        "savefig.bbox": None,
    }
    with mpl.rc_context(settings):
        yield


def panels(rows: int, columns: int, width: float, height: float, **options: Any) -> np.ndarray:
    """New axes `(rows, columns)` in a new figure of `width` times `height` inches."""
    # Ticks are made when the figure is drawn, outside of `style`, so their look is set here.
    _, axes = plt.subplots(
        rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **options
    )
    for ax in axes.reshape(-1):
        ax.tick_params(labelsize=TICK_SIZE, width=0.5, length=2.5)
        ax.tick_params(which="minor", width=0.3, length=1.5)
    return axes


def given(axes: Any, count: int) -> np.ndarray:
    """The axes that the caller gave, as a flat array of at least `count`.

    **Raises:** `pnde.errors.PndeError` if they are fewer.
    """
    flat = np.atleast_1d(np.asarray(axes, dtype=object)).reshape(-1)
    if len(flat) < count:
        raise PndeError(f"the figure has {count} panels, but only {len(flat)} axes are given")
    return flat


def legend(axes: np.ndarray, own: bool) -> None:
    """One legend for all panels: below a figure of our own, else in the first of the axes."""
    entries: dict[str, Any] = {}
    for ax in axes.reshape(-1):
        handles, labels = ax.get_legend_handles_labels()
        entries = dict(zip(labels, handles, strict=True)) | entries
    if not entries:
        return
    if not own:
        axes.reshape(-1)[0].legend(entries.values(), entries.keys())
        return
    figure: Figure = axes.reshape(-1)[0].figure
    # Points that an entry takes: handle, gaps, and the letters of a 7 point font.
    sizes = [31 + 4.4 * len(label) for label in entries]
    room = 72 * figure.get_figwidth()
    columns = len(sizes)
    if sum(sizes) > room:
        columns = max(1, min(columns, int(room / max(sizes))))
        columns = -(-len(sizes) // -(-len(sizes) // columns))  # as even as the rows allow
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)


def outer_labels(axes: np.ndarray, used: int | Sequence[int], x: str, y: str | None = None) -> None:
    """Labels of a grid of axes `(rows, columns)` of which the first few, or those at some positions, are used.

    The rest are hidden, and the time axis is labelled below the last used panel of each column. A
    `y` label is shared: it stands on the left only.
    """
    columns = axes.shape[1]
    shown = set(range(used) if isinstance(used, int) else used)
    last = {index % columns: index for index in sorted(shown)}
    for index, ax in enumerate(axes.reshape(-1)):
        if index not in shown:
            ax.set_visible(False)
        elif last[index % columns] == index:
            ax.set_xlabel(x)
            ax.tick_params(labelbottom=True)
        if y is not None and index % columns == 0:
            ax.set_ylabel(y)


def named(forecasts: xr.Dataset | Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Forecasts by name; a single one is called by its method."""
    if isinstance(forecasts, xr.Dataset):
        return {str(forecasts.attrs.get("method", "forecast")).upper(): forecasts}
    return dict(forecasts)


def model_styles(forecasts: Mapping[str, xr.Dataset]) -> dict[str, dict[str, Any]]:
    """A line for each model: the paper's for NDE, SNDE (by rising γ) and PNDE, others after them; `truth` is black.

    The method is the forecast's attribute `method`, or is read from the name; γ is the attribute
    `gamma`, or the first number in the name.
    """
    methods = {name: _method(name, forecast) for name, forecast in forecasts.items()}
    stabilised = sorted(
        (name for name, method in methods.items() if method == "snde"),
        key=lambda name: _gamma(name, forecasts[name]),
    )
    others = [*OTHERS, *SNDE[::-1]]
    out: dict[str, dict[str, Any]] = {}
    for name, method in methods.items():
        if name.lower() == "truth":
            line = TRUTH
        elif method == "snde" and stabilised.index(name) < len(SNDE):
            line = SNDE[stabilised.index(name)]
        elif method in ("nde", "pnde"):
            line = {"nde": NDE, "pnde": PNDE}[method]
        else:
            line = others[0]
        if line in out.values():
            line = next((other for other in others if other not in out.values()), line)
        out[name] = line
    return out


def with_unit(name: str, unit: str) -> str:
    """`name (unit)`, or the name where there is no unit."""
    return f"{name} ({unit})" if unit else name


def time_axis_label(ds: xr.Dataset) -> str:
    """The label of a time axis."""
    return with_unit("time", time_label(ds))


def state_label(ds: xr.Dataset, index: int) -> str:
    """The name of a state with its unit."""
    unit = str(ds["units"].values[index]) if "units" in ds.coords else ""
    return with_unit(str(ds["state"].values[index]), unit)


def trajectory_label(ds: xr.Dataset, row: int) -> str:
    """What a trajectory is called, with its parameters where it has up to three: `trajectory 3: L 0.8 m, m 2 kg`."""
    label = f"trajectory {ds['trajectory'].values[row]}"
    if "parameters" not in ds or ds.sizes["parameter"] > 3:
        return label
    values = ds["parameters"].transpose("trajectory", "parameter").values[row]
    names = [str(name) for name in ds["parameter"].values]
    units = ds["parameter_units"].values if "parameter_units" in ds.coords else [""] * len(names)
    parts = [
        f"{name} {value:.4g} {unit}".rstrip()
        for name, value, unit in zip(names, values, units, strict=True)
    ]
    return f"{label}: {', '.join(parts)}"


def letters(axes: Iterable[Axes]) -> None:
    """(a), (b), ... above the panels."""
    for letter, ax in zip("abcdefghijklmnopqrstuvwxyz", axes, strict=False):
        ax.set_title(f"({letter})", loc="left")


def floored(values: np.ndarray) -> np.ndarray:
    """Values for a logarithmic axis: zeros at the floor, NaN kept."""
    return np.where(values < FLOOR, FLOOR, values)


def reach(truth: np.ndarray, forecasts: Iterable[np.ndarray]) -> tuple[float, float] | None:
    """Limits of an axis from which forecasts that run away are let go, so that the truth is seen; `None` if none do."""
    every = np.concatenate([np.ravel(truth), *map(np.ravel, forecasts)])
    known, shown = every[np.isfinite(every)], truth[np.isfinite(truth)]
    span = np.ptp(shown) if shown.size else 0.0
    if not 0 < 4 * span < np.ptp(known):
        return None
    return float(shown.min() - 0.5 * span), float(shown.max() + 0.5 * span)


def _method(name: str, forecast: xr.Dataset) -> str:
    text = str(forecast.attrs.get("method", name)).lower()
    return next((method for method in ("pnde", "snde", "nde") if method in text), "")


def _gamma(name: str, forecast: xr.Dataset) -> float:
    if "gamma" in forecast.attrs:
        return float(forecast.attrs["gamma"])
    number = re.search(r"\d+(\.\d*)?([eE][-+]?\d+)?", name)
    return float(number.group()) if number else 0.0
