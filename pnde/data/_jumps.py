"""Times at which inputs jump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pnde.errors import DataError, brief, listed, nearest, shown

from ._checks import first_not_increasing
from ._labels import check_count, label_text
from ._numbers import as_numbers
from ._times import TIME_TOLERANCE


def jump_times(jumps: Any, labels: Sequence[Any] | np.ndarray, times: np.ndarray) -> np.ndarray:
    """Declared jumps ``(trajectory, jump)``, NaN behind the last of each.

    **Arguments:**

    - `jumps`: times for all trajectories, of which each gets those that lie inside it; or a table of times by
      trajectory label; or a list with the times of each trajectory, such as the array ``(trajectory, jump)``.
    - `times`: of the samples, ``(trajectory, time)``, NaN behind a trajectory's end.

    **Raises:** `DataError` for times that do not increase or lie in no trajectory, or a label that is not there.
    """
    if jumps is None or (isinstance(jumps, np.ndarray) and not jumps.size):
        return np.empty((len(labels), 0))
    if isinstance(jumps, Mapping):
        return _stacked(_by_label(jumps, labels))
    if not isinstance(jumps, Sequence | np.ndarray) or isinstance(jumps, str):
        raise DataError(
            f"jumps= is a list of times, or a table of such lists by trajectory, not {shown(jumps)}"
        )
    if any(np.ndim(entry) > 0 for entry in jumps):
        check_count("lists of jumps", jumps, len(labels), "trajectories")
        rows = [np.atleast_1d(as_numbers(row, "jumps=")) for row in jumps]
        if any(row.ndim > 1 for row in rows):
            raise DataError("jumps= is a list of times for each trajectory, (trajectory, jump)")
        return _stacked(rows)
    every = as_numbers(jumps, "jumps=")
    check_increasing(every, "jumps=")
    near = snapped(np.tile(every, (len(labels), 1)), times)
    within = inside(near, times)
    lost = np.flatnonzero(~np.isin(near, within).any(axis=0))
    if lost.size:
        raise DataError(
            f"the jump at t = {every[lost[0]]:.15g} lies in no trajectory: jumps come after a first sample, at the "
            f"last one at the latest, and the data go from {np.fmin.reduce(times.ravel()):.6g} to "
            f"{np.fmax.reduce(times.ravel()):.6g}"
        )
    return within


def inside(jumps: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Those of jumps ``(trajectory, jump)`` that lie inside their trajectories, at times ``(trajectory, time)``.

    One at the first sample is over, one at the last is not.
    """
    last = np.fmax.reduce(times, axis=1)[:, None]
    return np.sort(np.where((jumps > times[:, :1]) & (jumps <= last), jumps, np.nan), axis=1)


def snapped(jumps: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Jumps ``(trajectory, jump)`` that miss a sample by rounding, moved to its time; none behind the last.

    A sample at a jump holds the value after it, so a jump at 0.3 must not come after the sample at 3 · 0.1.
    """
    out = jumps.copy()
    for row, own in zip(out, times, strict=True):
        clock = own[np.isfinite(own)]
        if len(clock) < 2:
            continue
        near = np.clip(np.searchsorted(clock, row), 1, len(clock) - 1)
        near -= row - clock[near - 1] < clock[near] - row
        close = np.abs(clock[near] - row) <= TIME_TOLERANCE * (clock[-1] - clock[0])
        row[close] = clock[near][close]
    used = np.flatnonzero(~np.isnan(out).all(axis=0))
    return out[:, : used[-1] + 1 if used.size else 0]


def check_jumps(jumps: np.ndarray, times: np.ndarray, labels: Sequence[Any] | np.ndarray) -> None:
    """Refuse jumps ``(trajectory, jump)`` outside their trajectory, or that do not increase.

    `times` are ``(trajectory, time)``, NaN behind a trajectory's end.
    """
    for row, own, label in zip(jumps, times, labels, strict=True):
        known = row[np.isfinite(row)]
        where = f"trajectory {brief(label)}"
        if len(known) < np.count_nonzero(~np.isnan(row)) or np.isnan(row[: len(known)]).any():
            raise DataError(f"{where}: jumps are times, with NaN behind the last only")
        check_increasing(known, where)
        first, last = own[0], np.fmax.reduce(own)
        outside = known[(known <= first) | (known > last)]
        if outside.size:
            raise DataError(
                f"{where}: the jump at t = {outside[0]:.15g} is outside; jumps come after the first sample, at the "
                f"last one at the latest, from {first:.6g} to {last:.6g}: leave it out"
            )


def check_increasing(jumps: np.ndarray, where: str) -> None:
    """Refuse jumps ``(jump,)`` that do not increase."""
    stuck = first_not_increasing(jumps)
    if stuck is not None:
        raise DataError(
            f"{where}: the jump at t = {jumps[stuck + 1]:.15g} comes after that at {jumps[stuck]:.15g}; put them in "
            "order, each once"
        )


def check_cubic(
    names: Sequence[str],
    jumps: np.ndarray,
    times: np.ndarray,
    labels: Sequence[Any] | np.ndarray,
) -> None:
    """Refuse fewer than three samples of the cubic inputs `names` between jumps."""
    for row, own, label in zip(jumps, times, labels, strict=True) if names else ():
        clock = own[np.isfinite(own)]
        edges = [0, *np.searchsorted(clock, row[np.isfinite(row)]), len(clock)]
        short = np.flatnonzero(np.diff(edges) < 3)
        if short.size:
            piece = clock[edges[short[0]] : edges[short[0] + 1]]
            span = f", from t = {piece[0]:.6g} on" if piece.size else ""
            raise DataError(
                f"trajectory {brief(label)}: the cubic input {shown(names[0])} has {len(piece)} sample(s) between "
                f"jumps{span}; a cubic needs 3 or more: say interpolation 'linear' or 'held'"
            )


def _by_label(jumps: Mapping[Any, Any], labels: Sequence[Any] | np.ndarray) -> list[np.ndarray]:
    held = [label_text(label) for label in labels]
    given = {label_text(label): own for label, own in jumps.items()}
    unknown = next((label for label in given if label not in held), None)
    if unknown is not None:
        raise DataError(
            f"jumps= names trajectory {shown(unknown)}, which is not there{nearest(unknown, held)}; there are "
            f"{listed(held)}"
        )
    return [np.atleast_1d(as_numbers(given.get(label, []), "jumps=")).ravel() for label in held]


def _stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Jumps ``(k_i,)`` of trajectories as one array ``(trajectory, jump)``."""
    out = np.full((len(rows), max(len(row) for row in rows)), np.nan)
    for to, row in zip(out, rows, strict=True):
        to[: len(row)] = row
    return out
