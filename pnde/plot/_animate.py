"""A chain of rods in motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib import animation

from pnde.data import time_label, time_matrix
from pnde.errors import DataError, PndeError
from pnde.metrics import matching

from ._inputs import input_lines
from ._style import TRUTH, WIDTH, model_styles, named, style

TRAIL = 0.5  # seconds of the last bob's path that are shown
WRITERS = {".gif": "pillow", ".mp4": "ffmpeg"}


def animate(
    truth: xr.Dataset | None,
    forecast: xr.Dataset | Any,
    path: str | Path,
    trajectory: int = 0,
    fps: int = 25,
    speed: float = 1.0,
    pivot: tuple[str, str] = ("X", "Y"),
) -> Path:
    """Film a pendulum: the truth in black, and the forecast in its model's colour.

    **Arguments:**

    - `truth`: a data set of the pendulum in Cartesian coordinates, or `None`.
    - `forecast`: a forecast, or several by name, in Cartesian coordinates (`Pendulum.cartesian` turns angles into
      these). With several, each has a panel of its own.
    - `path`: a `.gif` file, or an `.mp4` file, which needs the program ffmpeg.
    - `trajectory`: position of the trajectory in the forecast.
    - `pivot`: the inputs that are the position of the point the chain hangs on; without these it is the origin.
    - `fps`: frames a second; `speed`: seconds of the data that a second of the film shows.

    **Returns:** the path.

    **Raises:** `pnde.errors.DataError` if the states are not those of a chain of rods; `pnde.errors.PndeError` for
    another kind of file, or without ffmpeg.
    """
    path = Path(path)
    writer = _writer(path, fps)
    forecasts = named(forecast)
    first = next(iter(forecasts.values()))
    times = time_matrix(first)[trajectory]
    frames = np.arange(times[0], times[-1] + 1e-9, speed / fps)
    chains = {name: _chain(ds, trajectory, frames, pivot) for name, ds in forecasts.items()}
    true = None
    if truth is not None:
        known = first.assign(u=(("trajectory", "time", "state"), matching(truth, first)))
        true = _chain(known, trajectory, frames, pivot)
    motions = [*chains.values(), *([] if true is None else [true])]
    reach = 1.1 * max(float(np.nanmax(np.abs(motion))) for motion in motions)
    unit = time_label(first)
    with style():
        width = WIDTH * min(len(chains), 3) / 1.5
        figure, axes = plt.subplots(
            1,
            len(chains),
            figsize=(width, width / len(chains) + 0.35),
            squeeze=False,
            layout="constrained",
        )
        lines = []
        colours = model_styles(forecasts)
        for panel, (name, chain) in zip(axes[0], chains.items(), strict=True):
            panel.set(
                xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[]
            )
            panel.set_title(name)
            pairs = [(chain, colours[name]["color"]), (true, TRUTH["color"])]
            lines += [
                (motion, *_draw(panel, colour)) for motion, colour in pairs if motion is not None
            ]
        clock = figure.supxlabel("t")

        def update(frame: int) -> list[Any]:
            clock.set_text(f"t = {frames[frame]:.2f}{' ' if unit else ''}{unit}")
            start = max(0, frame - round(TRAIL * fps / speed))
            for motion, rods, trail in lines:
                rods.set_data(*motion[frame].T)
                trail.set_data(*motion[start : frame + 1, -1].T)
            return []

        film = animation.FuncAnimation(figure, update, frames=len(frames), blit=False)
        film.save(path, writer=writer, dpi=150)
        plt.close(figure)
    return path


def _writer(path: Path, fps: int) -> animation.AbstractMovieWriter:
    kind = WRITERS.get(path.suffix.lower())
    if kind is None:
        raise PndeError(
            f"{path}: an animation is a .gif or .mp4 file, not {path.suffix or 'without a suffix'}"
        )
    if not animation.writers.is_available(kind):
        raise PndeError(
            f"{path}: an .mp4 file needs the program ffmpeg; install it, or write a .gif file"
        )
    return animation.writers[kind](fps=fps)


def _chain(
    ds: xr.Dataset, trajectory: int, frames: np.ndarray, pivot: tuple[str, str]
) -> np.ndarray:
    """Positions `(frame, N + 1, 2)` of the point the chain hangs on and of its bobs; NaN where the forecast failed."""
    n = ds.sizes["state"]
    units = [str(unit) for unit in ds["units"].values] if "units" in ds.coords else []
    if n % 4 or "rad" in units:
        raise DataError(
            "only a chain of rods in Cartesian coordinates can be animated: all x, all y, then the velocities; "
            "Pendulum.cartesian turns angles into these"
        )
    u = ds["u"].transpose("trajectory", "time", "state").values[trajectory]
    times = time_matrix(ds)[trajectory]
    inside = np.isfinite(times)
    bobs = np.stack(
        [np.interp(frames, times[inside], u[inside, i], right=np.nan) for i in range(n // 2)],
        axis=-1,
    ).reshape(len(frames), 2, n // 4)
    hook, lines = np.zeros((len(frames), 2, 1)), input_lines(ds, trajectory)
    if set(pivot) <= set(lines):
        hook[..., 0] = np.stack([np.interp(frames, *lines[name]) for name in pivot], axis=-1)
    return np.concatenate([hook, bobs], axis=-1).swapaxes(1, 2)


def _draw(panel: Any, colour: str) -> tuple[Any, Any]:
    (trail,) = panel.plot([], [], color=colour, linewidth=0.6, alpha=0.5)
    (rods,) = panel.plot([], [], color=colour, marker="o", markersize=3, linewidth=1.2)
    return rods, trail
