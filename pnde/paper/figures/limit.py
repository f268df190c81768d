"""The limit of Appendix E, which the paper proves and does not draw."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from pnde.paper.results import Results
from pnde.plot._style import NDE, PNDE, SNDE, WIDTH, legend, panels


def limit(results: Results) -> Figure:
    """Distances of SNDE from PNDE over γ, and the slope -1."""
    table = results.measured("limit")
    ax = panels(1, 1, WIDTH, 150 / 72)[0, 0]
    looks = {
        "velocity": ("velocity", PNDE, "o"),
        "path": ("path", NDE, "s"),
        "constraint": ("constraint error", SNDE[1], "^"),
    }
    for column, (name, look, marker) in looks.items():
        ax.plot(table["gamma"], table[column], label=name, marker=marker, markersize=3, **look)
    gammas = table["gamma"].to_numpy()
    top = 2 * table[["velocity", "path", "constraint"]].to_numpy()[0].max()
    ax.plot(
        gammas, top * gammas[0] / gammas, color="#999999", linewidth=0.7, label="slope −1", zorder=0
    )
    ax.set(xscale="log", yscale="log", xlabel=r"stabilisation $\gamma$")
    ax.set_ylabel("distance from PNDE")
    ax.set_xlim(gammas[0] / 1.3, gammas[-1] * 1.3)
    legend(np.array([ax]), True)
    return ax.figure
