"""Whether states are positions and their velocities, as a second-order system has them."""

from __future__ import annotations

from itertools import chain

import numpy as np
import scipy  # of which only what is used is loaded: scipy.interpolate takes a quarter of a second
import xarray as xr

from pnde.errors import ConfigError, DataError

from ._angles import describe_jumps
from ._interpolating import LONGEST, is_gap
from ._layout import time_matrix
from ._order import velocities

# How far displacements and integrals of velocities may be apart, relative to the displacements. Noise and coarse
# sampling stay below it; states that are not each other's velocities, or are in another unit, are near 1 or above.
LARGEST = 0.2
# Beside the largest position: displacements that are rounding.
_ROUNDING = 1e-9


def check_velocities(ds: xr.Dataset) -> None:
    """Whether the states of a data set are positions, then their velocities in the same order.

    Of each pair (q, q̇), displacements q(t + τ) − q(t) are compared with integrals of q̇ over the same time, for τ from
    one sample to half a trajectory. The τ counts at which they agree best, so that neither noise of the positions (at
    short ones) nor a bias of the velocities (at long ones) is taken for a mistake.

    **Raises:** `pnde.errors.ConfigError` for an odd number of states; `pnde.errors.DataError` with the velocity and
    the rate of the position where they are farthest apart, and what to do.
    """
    names = [str(name) for name in ds["state"].values]
    half = len(names) // 2
    if len(names) % 2:
        still = constant_states(ds)
        hint = f"; {still[0]!r} is constant in each trajectory, a parameter" if still else ""
        raise ConfigError(
            f"order = 2 needs as many velocities as positions, but there are {len(names)} states{hint}"
        )
    pairs = [(i, half + i) for i in range(half)]
    mismatches = [mismatch(ds, *pair) for pair in pairs]
    worst = int(np.argmax(mismatches))
    if mismatches[worst] <= LARGEST:
        return
    order = _order_by_name(names) or _order_by_number(ds)
    if order is not None:
        raise DataError(
            f"order = 2 takes all positions, then their velocities, but the states are {_few(names)}; reorder them "
            f"as {_few([names[i] for i in order])}, for the law too: data.isel(state={_few(order, '[]')})"
        )
    jumps = describe_jumps(ds.isel(state=range(half)), inputs=False)
    if jumps is not None:
        raise DataError(jumps)
    q, v = names[worst], names[half + worst]
    label, t, rate, velocity = _farthest(ds, *pairs[worst])
    raise DataError(
        f"order = 2 takes {v!r} for the velocity of {q!r}, but in trajectory {label} at t = {t:g} it is "
        f"{velocity:.4g} where {q!r} changes at {rate:.4g}; correct the order or unit of the states, or compute "
        "velocities from the positions by pnde.data.differentiate"
    )


def mismatch(ds: xr.Dataset, position: int, velocity: int) -> float:
    """How far displacements of one state and integrals of another are apart, relative to the displacements, rms.

    Infinite for a state at rest beside one that is not zero; see `check_velocities`.
    """
    u, times = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    rows = [_integrated(row, t, position, velocity) for row, t in zip(u, times, strict=True)]
    rounding = _ROUNDING * np.nanmax(np.abs(u[:, :, position]))
    found, lag = [], 1
    while lag == 1 or lag <= max(len(row) for row in rows) // 2:
        moved = [row[lag:, :2] - row[:-lag, :2] for row in rows]
        # The third column counts gaps: nothing is known of what happened in one.
        same = [row[lag:, 2] == row[:-lag, 2] for row in rows]
        q, p = np.concatenate([part[kept] for part, kept in zip(moved, same, strict=True)]).T
        if q.size:
            off, size = (np.sqrt(np.mean(x**2)) for x in (q - p, q))
            if off <= rounding:
                return 0.0
            found.append(float(off / size) if size > rounding else np.inf)
        lag *= 2
    return min(found, default=0.0)


def constant_states(ds: xr.Dataset) -> list[str]:
    """The states that keep their value in every trajectory, such as a length or a mass."""
    u = ds["u"].transpose("trajectory", "time", "state").values
    spread = np.nanmax(u, axis=1) - np.nanmin(u, axis=1)
    still = spread.max(axis=0) <= _ROUNDING * np.nanmax(np.abs(u), axis=(0, 1))
    return [str(name) for name, constant in zip(ds["state"].values, still, strict=True) if constant]


def _integrated(u: np.ndarray, t: np.ndarray, position: int, velocity: int) -> np.ndarray:
    """Position, integral of the velocity up to there, and gaps up to there `(k, 3)`, where the position is known."""
    q, v = u[:, position], u[:, velocity]
    own = np.flatnonzero(np.isfinite(v) & np.isfinite(t))
    if len(own) < 2:
        return np.empty((0, 3))
    spline = scipy.interpolate.make_interp_spline(
        t[own], v[own], k=min(3, len(own) - 1)
    ).antiderivative()
    known = np.flatnonzero(np.isfinite(q) & (t >= t[own[0]]) & (t <= t[own[-1]]))
    ends = [t[at[1:]][is_gap(np.diff(t[at]), LONGEST)] for at in (own, known)]
    gaps = np.searchsorted(np.sort(np.concatenate(ends)), t[known], side="right")
    return np.stack([q[known], spline(t[known]), gaps], axis=1)


def _farthest(ds: xr.Dataset, position: int, velocity: int) -> tuple[object, float, float, float]:
    """Trajectory, time, rate of the position and velocity where these two differ most."""
    best: tuple[float, int, int, float] = (-1.0, 0, 0, 0.0)
    u, times = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    for row, t in enumerate(times):
        q, v = u[row, :, position], u[row, :, velocity]
        known = np.flatnonzero(np.isfinite(q) & np.isfinite(v) & np.isfinite(t))
        if len(known) < 2:
            continue
        rates = np.gradient(q[known], t[known])
        off = np.abs(rates - v[known])
        at = int(np.argmax(off))
        if off[at] > best[0]:
            best = float(off[at]), row, int(known[at]), float(rates[at])
    _, row, sample, rate = best
    label = ds["trajectory"].values[row]
    return label, float(times[row, sample]), rate, float(u[row, sample, velocity])


def _order_by_name(names: list[str]) -> list[int] | None:
    """Positions, then velocities, as the names tell them; None where they do not, or the order is that already."""
    pairs = [(names.index(q), names.index(v)) for q, v in velocities(names).items()]
    return _different([*zip(*pairs, strict=True)], len(names)) if pairs else None


def _order_by_number(ds: xr.Dataset) -> list[int] | None:
    """An order in which velocities are those of the positions: neighbours in pairs, or velocities first."""
    n = ds.sizes["state"]
    first, second = range(n // 2), range(n // 2, n)
    even, odd = range(0, n, 2), range(1, n, 2)
    for positions, rates in ((even, odd), (second, first), (odd, even)):
        pairs = zip(positions, rates, strict=True)
        if all(mismatch(ds, *pair) <= LARGEST for pair in pairs):
            return _different([tuple(positions), tuple(rates)], n)
    return None


def _different(parts: list[tuple[int, ...]], n: int) -> list[int] | None:
    order = list(chain(*parts))
    return order if sorted(order) == list(range(n)) and order != list(range(n)) else None


def _few(values: list, brackets: str = "") -> str:
    shown = [str(value) for value in values]
    if len(shown) > 8:
        shown = [*shown[:4], "…", *shown[-2:]]
    text = ", ".join(shown)
    return f"{brackets[:1]}{text}{brackets[1:]}"
