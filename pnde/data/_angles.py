"""Angles that jump: a rotation that is stored in [−π, π), or in [0°, 360°)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from pnde.errors import DataError

from ._layout import state_index, time_matrix

# A full turn, by unit. A state without a unit may be an angle in radians.
_TURNS = {
    **dict.fromkeys(("", "1", "rad", "rads", "radian", "radians"), 2 * np.pi),
    **dict.fromkeys(("deg", "degs", "degree", "degrees", "°"), 360.0),
    **dict.fromkeys(("turn", "turns", "rev", "revolution", "revolutions"), 1.0),
}


def unwrap(ds: xr.Dataset, names: str | Sequence[str] | None = None) -> xr.Dataset:
    """`ds` with angles that go on beyond a full turn where they jumped by one.

    Of neighbouring known samples, the shorter way round is taken, trajectory by trajectory.

    **Arguments:**

    - `ds`: a data set in the standard layout.
    - `names`: the states that are angles, in rad where they have no unit; by default those that jump, see `wrapped`.

    **Raises:** `DataError` for a name that is no state, or whose unit is not one of angles.
    """
    if names is None:
        names = list(wrapped(ds))
    elif isinstance(names, str):
        names = [names]
    states = ds["u"].transpose("trajectory", "time", "state")
    u = states.values.copy()
    for name in names:
        column = state_index(ds, name)
        turn = _turn(ds, column)
        if turn is None:
            raise DataError(
                f"state {name!r} cannot be unwrapped: its unit {_unit(ds, column)!r} is not that of an angle; give "
                "it in rad, deg or turns"
            )
        for row in u[:, :, column]:
            known = np.isfinite(row)
            row[known] = np.unwrap(row[known], period=turn)
    return ds.assign(u=(states.dims, u, states.attrs))


def wrapped(ds: xr.Dataset) -> dict[str, int]:
    """How often the states jump that look like angles wrapped into one turn, by name.

    A state is taken for one if its unit is that of an angle, its values span one turn at most, and some step is longer
    than half a turn. One without a unit must also move slowly, below a quarter of a turn a step, once each jump is made
    up for by a turn, and at the jump no faster than three times the rate before and after it.
    """
    return {name: len(jumps) for name, jumps in _all_jumps(ds).items()}


def describe_jumps(ds: xr.Dataset) -> str | None:
    """One sentence on the angle that jumps: how often, first where, and the remedy; None where there is none."""
    found = _all_jumps(ds)
    if not found:
        return None
    name, jumps = next(iter(found.items()))
    row, *pair = jumps[0]
    before, after = (
        float(ds["u"].sel(state=name).isel(trajectory=row, time=sample)) for sample in pair
    )
    others = "" if len(found) == 1 else f" (like {', '.join(list(found)[1:3])})"
    times = "once" if len(jumps) == 1 else f"{len(jumps)} times"
    return (
        f"state {name!r}{others} jumps by a full turn {times}, first in trajectory {ds['trajectory'].values[row]} "
        f"at t = {time_matrix(ds)[row, pair[1]]:g}, from {before:.4g} to {after:.4g}: pass "
        f"unwrap={list(found)[:3]} to let the angle go on"
    )


def _all_jumps(ds: xr.Dataset) -> dict[str, list[tuple[int, int, int]]]:
    """Trajectory, last sample before, and first after each jump, of the states that are wrapped angles."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    u, times = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    for column, name in enumerate(ds["state"].values):
        turn, values = _turn(ds, column), u[:, :, column]
        known = values[np.isfinite(values)]
        if turn is None or not known.size or np.ptp(known) > turn * (1 + 1e-6):
            continue
        jumps = [
            _jumps(*pair, turn, sure=_unit(ds, column) != "")
            for pair in zip(values, times, strict=True)
        ]
        rows = [(row, *pair) for row, own in enumerate(jumps) for pair in own or ()]
        if rows and None not in jumps:
            found[str(name)] = rows
    return found


def _jumps(
    values: np.ndarray, t: np.ndarray, turn: float, sure: bool
) -> list[tuple[int, int]] | None:
    """Samples around steps above half a turn; None if, unless `sure`, the steps are not those of a wrapped angle."""
    known = np.flatnonzero(np.isfinite(values))
    steps, intervals = np.diff(values[known]), np.diff(t[known])
    jump = np.abs(steps) > turn / 2
    short = np.abs(steps - turn * np.round(steps / turn))
    rate = short / intervals
    around = np.maximum(np.append(0.0, rate[:-1]), np.append(rate[1:], 0.0))
    odd = (short > turn / 4) | (jump & (rate > 3 * around + 1e-6 * turn / intervals))
    if odd.any() and not sure:
        return None
    return [(int(known[at]), int(known[at + 1])) for at in np.flatnonzero(jump)]


def _unit(ds: xr.Dataset, column: int) -> str:
    return str(ds["units"].values[column]) if "units" in ds.coords else ""


def _turn(ds: xr.Dataset, column: int) -> float | None:
    return _TURNS.get(_unit(ds, column).strip().lower())
