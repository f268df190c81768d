"""What every data set has to be: times that increase, finite values, nothing that is unknown throughout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, shown

from ._interpolating import FEWEST, completed


def check_times(times: np.ndarray, labels: Sequence[Any] | np.ndarray) -> None:
    """Refuse times ``(trajectory, time)`` that are too few, infinite, or do not increase."""
    infinite = np.argwhere(np.isinf(times))
    if infinite.size:
        row, sample = infinite[0]
        raise DataError(f"trajectory {brief(labels[row])}: the time of sample {sample} is infinite")
    for row, label in zip(times, labels, strict=True):
        known = np.isfinite(row)
        count = int(known.sum())
        if count < 2:
            raise DataError(
                f"trajectory {brief(label)} has {count} point(s); at least 2 are needed"
            )
        if not known[:count].all():
            raise DataError(
                f"trajectory {brief(label)} has no time at sample {int(np.argmin(known))}; "
                "only the end of a trajectory may be padded"
            )
        stuck = first_not_increasing(row[:count])
        if stuck is not None:
            raise DataError(
                not_increasing(label, row[stuck : stuck + 2], f"samples {stuck} and {stuck + 1}")
            )


def first_not_increasing(times: np.ndarray) -> int | None:
    """Position of the first of times ``(k,)`` that the next one does not exceed."""
    stuck = np.flatnonzero(np.diff(times) <= 0)
    return int(stuck[0]) if stuck.size else None


def not_increasing(label: Any, pair: np.ndarray, where: str) -> str:
    """The sentence on two times of which the second is not the larger; `where` names both."""
    before, after = pair
    if before == after:
        return (
            f"trajectory {brief(label)}: time {_exact(before)} occurs twice ({where}); times must "
            "increase (a column with the trajectories' names parts several runs in one file)"
        )
    return (
        f"trajectory {brief(label)}: time goes back from {_exact(before)} to {_exact(after)} "
        f"({where}); times must increase (a column with the trajectories' names parts several runs "
        "in one file)"
    )


def check_finite(
    u: np.ndarray, times: np.ndarray, labels: Sequence[Any] | np.ndarray, names: Sequence[str]
) -> None:
    """Refuse infinite values, and values that have no time."""
    infinite = np.argwhere(np.isinf(u))
    if infinite.size:
        row, sample, column = infinite[0]
        raise DataError(
            f"trajectory {brief(labels[row])}: state {shown(names[column])} is infinite at t = "
            f"{_exact(times[row, sample])} (sample {sample}); mark missing samples with NaN"
        )
    untimed = np.argwhere(np.isnan(times) & ~np.isnan(u).all(axis=-1))
    if untimed.size:
        row, sample = untimed[0]
        raise DataError(f"trajectory {brief(labels[row])}: sample {sample} has values but no time")


def check_not_empty(ds: xr.Dataset, times: np.ndarray) -> None:
    """Refuse a state, or a trajectory, of which nothing is known; `times` are ``(trajectory, time)``.

    Samples at which only some states are known are data: channels may be sampled at different times.
    """
    u = ds["u"].transpose("trajectory", "time", "state").values
    known = ~np.isnan(u)
    never = np.flatnonzero(~known.any(axis=(0, 1)))
    if never.size:
        name = str(ds["state"].values[never[0]])
        raise DataError(
            f"state {shown(name)} is NaN everywhere, in all trajectories; leave it out by states="
        )
    complete = ~np.isnan(completed(u, times))
    for row, label in enumerate(ds["trajectory"].values):
        if complete[row].all(axis=-1).any():
            continue
        dead = np.flatnonzero(~known[row].any(axis=0))
        if dead.size:
            name = str(ds["state"].values[dead[0]])
            raise DataError(
                f"trajectory {brief(label)}: state {shown(name)} is NaN everywhere; leave the "
                "trajectory or the state out"
            )
        raise DataError(
            f"trajectory {brief(label)} has no sample in which all states are known, or lie between "
            f"measurements of their own (at least {FEWEST}, without a gap)"
        )


def _exact(number: float) -> str:
    """As short as tells it from its neighbours: 1577836800.1 must not become 1.57784e+09."""
    return f"{number:.15g}"
