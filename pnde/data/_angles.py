"""Angles that jump: a rotation that is stored in [−π, π), or in [0°, 360°)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pnde.errors import DataError

from ._exogenous import Exogenous
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
    - `names`: the states and inputs that are angles, in rad where they have no unit; by default those that jump, see
        `wrapped`.

    **Raises:** `DataError` for a name that is neither, or whose unit is not one of angles.
    """
    if names is None:
        names = list(wrapped(ds))
    elif isinstance(names, str):
        names = [names]
    channels = {channel.name: channel for channel in _channels(ds)}
    for name in names:
        if name not in channels:
            state_index(ds, name)  # which says what there is
        channel = channels[name]
        if channel.turn is None:
            raise DataError(
                f"{channel.what} {name!r} cannot be unwrapped: its unit {channel.unit!r} is not that of an angle; give "
                "it in rad, deg or turns"
            )
        for row in channel.values:
            known = np.isfinite(row)
            row[known] = np.unwrap(row[known], period=channel.turn)
    held = {
        what: np.stack([c.values for c in channels.values() if c.what == what], axis=-1)
        for what in {channel.what for channel in channels.values()}
    }
    return ds.assign(
        {
            variable: (("trajectory", "time", what), held[what], ds[variable].attrs)
            for variable, what in (("u", "state"), ("w", "input"))
            if what in held
        }
    )


def wrapped(ds: xr.Dataset) -> dict[str, int]:
    """How often the states and inputs jump that look like angles wrapped into one turn, by name.

    One is taken for one if its unit is that of an angle, its values span one turn at most, and some step is longer
    than half a turn. One without a unit must also move slowly, below a quarter of a turn a step, once each jump is made
    up for by a turn, and at the jump no faster than three times the rate before and after it. A held input may jump.
    """
    return {name: len(jumps) for name, jumps in _all_jumps(ds).items()}


def describe_jumps(ds: xr.Dataset, inputs: bool = True) -> str | None:
    """One sentence on the angle that jumps: how often, first where, and the remedy; None where there is none.

    `inputs` tells whether those may be meant, beside the states.
    """
    found = _all_jumps(ds if inputs else ds.drop_dims("input", errors="ignore"))
    if not found:
        return None
    name, jumps = next(iter(found.items()))
    row, *pair = jumps[0]
    channel = next(channel for channel in _channels(ds) if channel.name == name)
    before, after = channel.values[row, pair]
    others = "" if len(found) == 1 else f" (like {', '.join(list(found)[1:3])})"
    times = "once" if len(jumps) == 1 else f"{len(jumps)} times"
    label = ds["trajectory"].values[row]
    return (
        f"{channel.what} {name!r}{others} jumps by a full turn {times}, first in trajectory {label} at t = "
        f"{time_matrix(ds)[row, pair[1]]:g}, from {before:.4g} to {after:.4g}: pass unwrap="
        f"{list(found)[:3]} to let the angle go on"
    )


def _all_jumps(ds: xr.Dataset) -> dict[str, list[tuple[int, int, int]]]:
    """Trajectory, last sample before, and first after each jump, of what is a wrapped angle."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    times = time_matrix(ds)
    for channel in _channels(ds):
        turn, values = channel.turn, channel.values
        known = values[np.isfinite(values)]
        if channel.held or turn is None or not known.size or np.ptp(known) > turn * (1 + 1e-6):
            continue
        jumps = [
            _jumps(*pair, turn, sure=channel.unit != "") for pair in zip(values, times, strict=True)
        ]
        rows = [(row, *pair) for row, own in enumerate(jumps) for pair in own or ()]
        if rows and None not in jumps:
            found[channel.name] = rows
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


@dataclass(frozen=True, eq=False)
class _Channel:
    """A state or an input: `values` ``(trajectory, time)``, a copy; `what` it is."""

    name: str
    unit: str
    values: np.ndarray
    what: str = "state"
    held: bool = False

    @property
    def turn(self) -> float | None:
        """A full turn in its unit; `None` for a unit that is not one of angles."""
        return _TURNS.get(self.unit.strip().lower())


def _channels(ds: xr.Dataset) -> list[_Channel]:
    u = ds["u"].transpose("trajectory", "time", "state").values
    units = ds["units"].values if "units" in ds.coords else [""] * u.shape[-1]
    own = Exogenous.of(ds)
    return [
        *(
            _Channel(str(name), str(unit), u[..., k].copy())
            for k, (name, unit) in enumerate(zip(ds["state"].values, units, strict=True))
        ),
        *(
            _Channel(name, own.input_units[k], own.w[..., k].copy(), "input", kind == "held")
            for k, (name, kind) in enumerate(zip(own.inputs, own.interpolation, strict=True))
        ),
    ]
