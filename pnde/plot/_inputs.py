"""What drives a trajectory, as lines over time: its inputs, and the moments at which they jump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.data import inputs_of, time_matrix

from ._style import with_unit

# More jumps than these are not marked: they would hide what they explain.
MOST_JUMPS = 12
# Points between two samples of an input that is curved there.
FINE = 4


def input_names(ds: xr.Dataset) -> list[str]:
    """The names of the inputs of a data set; none if nothing drives it."""
    return [str(name) for name in ds["input"].values] if "w" in ds else []


def input_label(ds: xr.Dataset, name: str) -> str:
    """The name of an input with its unit."""
    if "input_units" not in ds.coords:
        return name
    return with_unit(name, str(ds["input_units"].sel(input=name).values))


def input_lines(ds: xr.Dataset, row: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times and values of each input of a trajectory, as it is between the samples too; NaN parts a line at a jump.

    A held input jumps wherever it changes, and is to be drawn as steps.
    """
    inputs, times = inputs_of(ds), time_matrix(ds)[row]
    if inputs is None:
        return {}
    times = times[np.isfinite(times)]
    own = inputs.of(np.array([row]))
    jumps = own.jumps[np.isfinite(own.jumps)]
    jumps = jumps[(jumps > times[0]) & (jumps <= times[-1])]
    fine = np.linspace(times[:-1], times[1:], FINE, endpoint=False)
    t = np.unique(np.concatenate([fine.ravel(), times[-1:], jumps, np.nextafter(jumps, -np.inf)]))
    w = own.at(t[None])[0]
    gaps = np.searchsorted(t, jumps)
    broken = np.insert(t, gaps, jumps), np.insert(w, gaps, np.nan, axis=0)
    kinds = [str(kind) for kind in ds["interpolation"].values]
    out = {}
    for column, (name, kind) in enumerate(zip(input_names(ds), kinds, strict=True)):
        at, values = (t, w) if kind == "held" else broken
        out[name] = at, values[:, column]
    return out


def own_inputs(sets: Mapping[str, xr.Dataset], rows: Sequence[int]) -> dict[str, xr.Dataset]:
    """The first data set that has inputs, and those after it whose inputs are others."""
    out: dict[str, xr.Dataset] = {}
    for label, ds in sets.items():
        if "w" in ds and not any(_alike(ds, other, rows) for other in out.values()):
            out[label] = ds
    return out


def jump_times(ds: xr.Dataset, rows: Sequence[int]) -> list[float]:
    """The times at which any of the trajectories jumps while it is drawn; none if they are too many to mark."""
    if "jumps" not in ds:
        return []
    found: set[float] = set()
    jumps = ds["jumps"].transpose("trajectory", "jump").values
    for row in rows:
        times = time_matrix(ds)[row]
        inside = (jumps[row] > np.nanmin(times)) & (jumps[row] <= np.nanmax(times))
        found |= set(jumps[row][inside].tolist())
    return sorted(found) if len(found) <= MOST_JUMPS else []


def step_style(ds: xr.Dataset, name: str) -> dict[str, Any]:
    """How the line of an input is drawn: as steps where it is held."""
    held = str(ds["interpolation"].sel(input=name).values) == "held"
    return {"drawstyle": "steps-post"} if held else {}


def _alike(ds: xr.Dataset, other: xr.Dataset, rows: Sequence[int]) -> bool:
    if input_names(ds) != input_names(other):
        return False
    mine, theirs = inputs_of(ds), inputs_of(other)
    assert mine is not None and theirs is not None
    for row in rows:
        both = [t[row][np.isfinite(t[row])] for t in (time_matrix(ds), time_matrix(other))]
        t = both[0][both[0] <= both[1][-1]][None]
        a, b = (part.of(np.array([row])).at(t) for part in (mine, theirs))
        if not np.allclose(a, b, rtol=1e-6, atol=1e-9 * np.abs(a).max(initial=1e-300)):
            return False
    return True
