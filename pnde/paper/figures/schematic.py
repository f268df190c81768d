"""Figure 1: what the projection does."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pnde.paper.results import Results
from pnde.plot._style import NDE, PNDE, WIDTH, panels

SURFACE, PLANE, GREY = "#9FC5E8", "#F4B183", "#777777"
POINT = np.array([0.35, -0.25])
AMBIENT = np.array([0.62, 0.62, 0.85])


def schematic(results: Results | None = None) -> Figure:
    """The manifold, its tangent space at u, the network's velocity and its projection, and the path of the state."""
    ax = panels(1, 1, WIDTH, 165 / 72)[0, 0]
    edge = np.linspace(-1.5, 1.5, 60)
    for fixed in np.linspace(-1.5, 1.5, 11):
        for line in ((edge, np.full(60, fixed)), (np.full(60, fixed), edge)):
            ax.plot(*_seen(_on(*line)), color="white", linewidth=0.5, zorder=2)
    rim: list[tuple[Any, Any]] = [(edge, -1.5), (1.5, edge), (edge[::-1], 1.5), (-1.5, edge[::-1])]
    outline = np.concatenate([_seen(_on(*np.broadcast_arrays(x, y))) for x, y in rim], axis=1)
    ax.fill(*outline, facecolor=SURFACE, edgecolor="#5B8DB8", linewidth=0.6, zorder=1)

    u, normal = _on(*POINT), _normal(*POINT)
    across = np.array([1.0, 0.0, -normal[0] / normal[2]])
    across /= np.linalg.norm(across)
    along = np.cross(normal, across)
    corners = [u + 0.95 * (a * across + b * along) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    ax.fill(
        *_seen(np.array(corners).T),
        facecolor=PLANE,
        edgecolor="#B5651D",
        alpha=0.55,
        linewidth=0.6,
        zorder=3,
    )

    velocity = AMBIENT[0] * across + AMBIENT[1] * along + AMBIENT[2] * normal
    projected = velocity - (velocity @ normal) * normal
    path = _path(projected)
    ax.plot(*_seen(path), color="black", linewidth=1.1, zorder=4)
    middle = path.shape[1] // 5
    _arrow(ax, path[:, middle], path[:, middle + 1], "black", 0.8, zorder=4)
    _arrow(ax, u, u + velocity, NDE["color"], 1.4)
    _arrow(ax, u, u + projected, PNDE["color"], 1.4)
    ax.plot(
        *_seen(np.stack([u + velocity, u + projected], axis=1)),
        color=GREY,
        linestyle=(0, (2, 2)),
        linewidth=0.8,
        zorder=5,
    )
    for point, name, shift in ((u, "$u$", (-9, 6)), (path[:, 0], "$u_0$", (-9, -6))):
        ax.plot(*_seen(point), "o", color="black", markersize=3, zorder=7)
        _text(ax, point, name, shift, "black")
    _text(ax, u + velocity, r"$\bar f_\theta(u)$", (-6, 8), "#A66F00")
    _text(ax, u + projected, r"$\mathrm{Proj}_u\,\bar f_\theta(u)$", (-42, -21), PNDE["color"])
    _text(ax, _on(np.array(1.25), np.array(-1.25)), r"$\mathcal{M}$", (-4, 2), "#1F4F7A", 10)
    _text(ax, corners[3], r"$T_u\mathcal{M}$", (-10, -14), "#8A4B12", 10)
    ax.set_aspect("equal")
    ax.margins(0.02)
    ax.axis("off")
    return ax.figure


def _height(x: Any, y: Any) -> Any:
    return 0.75 - 0.24 * x**2 - 0.16 * y**2 + 0.05 * x * y


def _on(x: Any, y: Any) -> np.ndarray:
    """The point(s) of the surface above (x, y), `(3, ...)`."""
    return np.stack([x, y, _height(x, y)]).astype(float)


def _normal(x: float, y: float) -> np.ndarray:
    n = np.array([0.48 * x - 0.05 * y, 0.32 * y - 0.05 * x, 1.0])
    return n / np.linalg.norm(n)


def _path(direction: np.ndarray) -> np.ndarray:
    """A curve of the surface through u, with that direction there, `(3, T)`."""
    t = np.linspace(-1.55, 1.25, 80)
    flat = direction[:2] / np.linalg.norm(direction[:2])
    side = np.array([-flat[1], flat[0]])
    x, y = (POINT[i] + flat[i] * t + side[i] * (-0.22 * t**2 - 0.1 * t**3) for i in range(2))
    inside = (np.abs(x) < 1.45) & (np.abs(y) < 1.45)
    return _on(x[inside], y[inside])


def _seen(points: np.ndarray) -> np.ndarray:
    """Points `(3, ...)` on the paper, `(2, ...)`: seen from the front, the right and above."""
    turn, lift = np.deg2rad(38), np.deg2rad(28)
    x, y, z = points
    right = np.cos(turn) * x + np.sin(turn) * y
    away = -np.sin(turn) * x + np.cos(turn) * y
    return np.stack([right, np.sin(lift) * away + np.cos(lift) * z])


def _arrow(
    ax: Any, start: np.ndarray, end: np.ndarray, color: str, width: float, zorder: float = 6
) -> None:
    ax.annotate(
        "",
        _seen(end),
        _seen(start),
        arrowprops={
            "arrowstyle": "-|>,head_width=0.18,head_length=0.35",
            "color": color,
            "linewidth": width,
            "shrinkA": 0,
            "shrinkB": 0,
        },
        zorder=zorder,
    )


def _text(
    ax: Any,
    point: np.ndarray,
    text: str,
    shift: tuple[float, float],
    color: str,
    size: float = 8,
) -> None:
    ax.annotate(
        text,
        _seen(point),
        shift,
        textcoords="offset points",
        color=color,
        fontsize=size,
        va="center",
        zorder=8,
    )
