"""Figure 5: the 14-bus grid as a one-line diagram."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pnde.grids import layout
from pnde.grids.ieee14 import ieee14
from pnde.paper.results import Results
from pnde.plot._style import INITIAL, NDE, PNDE, WIDTH, panels

#: Where the symbol of a bus stands, seen from it: free of branches.
SIDES = {
    1: (-1.0, 0.0), 2: (-1.0, 0.0), 3: (1.0, 0.0), 4: (0.75, -0.55), 5: (-0.7, 0.7), 6: (-1.0, 0.0), 7: (0.25, -1.0),
    8: (1.0, 0.0), 9: (0.95, 0.1), 10: (0.1, -1.0), 11: (0.0, 1.0), 12: (-1.0, 0.1), 13: (-0.3, 1.0), 14: (1.0, 0.3),
}  # fmt: skip
SIZE = 0.52


def fourteen_buses(results: Results | None = None) -> Figure:
    """Buses, branches, sources (circles), the slack (a diamond) and loads (arrows); bus 7 draws nothing."""
    grid = ieee14()
    points, line = layout(grid), grid.branches
    ax = panels(1, 1, WIDTH, 215 / 72)[0, 0]
    for a, b in zip(line.start, line.end, strict=True):
        ax.plot(*points[[a, b]].T, color="#777777", linewidth=0.8, zorder=1)
    for number, kind, power, point in zip(
        grid.buses.number, grid.buses.kind, grid.buses.active, points, strict=True
    ):
        side = np.array(SIDES[int(number)]) / np.linalg.norm(SIDES[int(number)])
        if kind != "load" or power != 0:
            _symbol(ax, kind, point, side)
        ax.plot(*point, "o", color="white", markeredgecolor="black", markersize=10, zorder=3)
        ax.annotate(str(number), point, ha="center", va="center_baseline", fontsize=6.5, zorder=4)
    entries: tuple[tuple[str, dict[str, Any]], ...] = (
        ("source", {"marker": "o", "markerfacecolor": NDE["color"]}),
        ("slack", {"marker": "D", "markerfacecolor": INITIAL}),
        ("load", {"marker": "v", "markerfacecolor": PNDE["color"]}),
    )
    for name, look in entries:
        ax.plot([], [], linestyle="", markersize=5, markeredgecolor="black", label=name, **look)
    ax.figure.legend(loc="outside lower center", ncols=3, handletextpad=0.2)
    ax.set_aspect("equal")
    ax.margins(0.04)
    ax.axis("off")
    return ax.figure


def _symbol(ax: Any, kind: str, point: np.ndarray, side: np.ndarray) -> None:
    end = point + (SIZE + 0.12) * side
    if kind == "load":
        ax.annotate(
            "",
            end + 0.15 * side,
            point,
            arrowprops={
                "arrowstyle": "-|>,head_width=0.22,head_length=0.4",
                "color": PNDE["color"],
                "linewidth": 1.2,
                "shrinkA": 5,
                "shrinkB": 0,
            },
            zorder=2,
        )
        return
    ax.plot(*np.stack([point, end]).T, color="black", linewidth=1.0, zorder=2)
    marker, color = ("o", NDE["color"]) if kind == "source" else ("D", INITIAL)
    ax.plot(
        *end,
        marker=marker,
        markersize=9 if kind == "source" else 7,
        color=color,
        markeredgecolor="black",
        markeredgewidth=0.7,
        zorder=3,
    )
    if kind == "source":
        ax.annotate("~", end, ha="center", va="center", fontsize=8, zorder=4)
