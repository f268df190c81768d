"""Figure 3: what the angles and bobs of a pendulum are."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Arc

from pnde.paper.results import Results
from pnde.plot._style import PNDE, WIDTH, panels

ANGLES = np.deg2rad([38.0, -52.0, 30.0, -48.0])


def pendulum_drawing(results: Results | None = None) -> Figure:
    """Four bobs on four rods of one metre, with the angles from the vertical."""
    ax = panels(1, 1, 0.62 * WIDTH, 190 / 72)[0, 0]
    ax.plot([-0.7, 0.7], [0, 0], color="black", linewidth=1.4)
    for x in np.linspace(-0.65, 0.65, 9):
        ax.plot([x, x + 0.1], [0, 0.12], color="black", linewidth=0.5)
    steps = np.stack([np.sin(ANGLES), -np.cos(ANGLES)], axis=1)
    joints = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    for i, (joint, angle) in enumerate(zip(joints[:-1], ANGLES, strict=True), start=1):
        ax.plot(
            [joint[0], joint[0]],
            [joint[1], joint[1] - 0.8],
            color="#999999",
            linestyle=(0, (3, 2)),
            linewidth=0.7,
        )
        low, high = sorted((-90.0, -90.0 + np.rad2deg(angle)))
        ax.add_patch(Arc(joint, 0.9, 0.9, theta1=low, theta2=high, color=PNDE["color"]))
        at = joint + 0.66 * np.array([np.sin(angle / 2), -np.cos(angle / 2)])
        ax.text(*at, rf"$\theta_{i}$", ha="center", va="center", color=PNDE["color"], fontsize=8)
    ax.plot(*joints.T, color="black", linewidth=1.2, zorder=3)
    ax.plot(*joints[1:].T, "o", color="black", markersize=6, zorder=4)
    ax.plot(0, 0, "o", color="white", markeredgecolor="black", markersize=3.5, zorder=4)
    for i, joint in enumerate(joints[1:], start=1):
        side = 1 if ANGLES[i - 1] > 0 else -1
        ax.annotate(
            f"$q_{i}$",
            joint,
            (7 * side, 1),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=8,
        )
    ax.annotate("$O$", (0, 0), (-9, -6), textcoords="offset points", ha="center", fontsize=8)
    ax.set_aspect("equal")
    ax.margins(0.06)
    ax.axis("off")
    return ax.figure
