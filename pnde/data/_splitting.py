"""Which trajectories train, which validate, which test."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, nearest, shown

from ._exogenous import VARIABLES, Exogenous
from ._jumps import inside
from ._labels import SPLITS, UNUSED
from ._layout import assemble, check_layout, padded, time_matrix, times_of
from ._times import Times


def split_data(
    ds: xr.Dataset,
    train: int | float = 0.6,
    valid: int | float = 0.2,
    test: int | float = 0.2,
    seed: int | None = None,
) -> xr.Dataset:
    """`ds` with the coordinate ``split`` on its trajectories.

    The first trajectories become ``train``, the next ``valid``, the next ``test``, in file order,
    or in a random order if a `seed` is given. Those that are left over are called ``unused``.

    A data set of one trajectory is cut along time instead: its beginning becomes ``train``, its
    middle ``valid`` and its end ``test``, three trajectories that share no point (fractions only).

    **Arguments:**

    - `train`, `valid`, `test`: all whole numbers (counts of trajectories), or fractions of all
      trajectories that sum to at most 1; a fraction above 0 gets one trajectory at least.
    - `seed`: ``None`` for file order.

    **Raises:** `DataError` when there are too few trajectories: how many there are and are needed.
    """
    check_layout(ds)
    shares = {"train": train, "valid": valid, "test": test}
    for name, share in shares.items():
        _check_share(name, share)
    if seed is not None and not (isinstance(seed, int | np.integer) and seed >= 0):
        raise DataError(f"seed is a whole number from 0 on, or None; not {shown(seed)}")
    available = ds.sizes["trajectory"]
    by_count = all(isinstance(share, int | np.integer) for share in shares.values())
    if by_count:
        counts = [int(share) for share in shares.values()]
    else:
        total = sum(shares.values())
        if total > 1 + 1e-9:
            raise DataError(
                f"the fractions train {train}, valid {valid} and test {test} sum to {total:g}; "
                "they must sum to at most 1 (or all be whole numbers)"
            )
        asked = sum(share > 0 for share in shares.values())
        if available == 1 and asked > 1:
            return _split_in_time(ds, {k: float(v) for k, v in shares.items() if v > 0})
        counts = _counts(list(map(float, shares.values())), available)
    needed = sum(counts)
    if needed == 0:
        raise DataError("the shares of train, valid and test are all zero")
    if needed > available:
        wanted = ", ".join(f"{n} {name}" for n, name in zip(counts, SPLITS, strict=True) if n)
        hint = "; give fractions to cut it along time" if available == 1 and by_count else ""
        raise DataError(
            f"the data set has {available} trajectories but {needed} are needed ({wanted}){hint}"
        )
    order = np.arange(available)
    if seed is not None:
        order = np.random.default_rng(seed).permutation(available)
    split = np.full(available, UNUSED, dtype="<U6")
    edges = np.cumsum([0, *counts])
    for name, begin, end in zip(SPLITS, edges[:-1], edges[1:], strict=True):
        split[order[begin:end]] = name
    return ds.assign_coords(split=("trajectory", split))


def select(ds: xr.Dataset, *splits: str) -> xr.Dataset:
    """The trajectories of one or more splits: ``select(ds, "train", "valid")``.

    **Raises:** `DataError` when the data set is not split, or the split is unknown or empty.
    """
    check_layout(ds)
    if not splits:
        raise DataError(f"name one split at least: {', '.join(SPLITS)}")
    if "split" not in ds.coords:
        raise DataError("the data set has no splits; call pnde.data.split_data first")
    present = ds["split"].values.astype(str)
    for name in splits:
        if name not in present:
            hint = nearest(name, SPLITS) if name not in SPLITS else ""
            held = ", ".join(dict.fromkeys(present.tolist()))
            raise DataError(f"no trajectory is in the split {shown(name)}{hint}; there are: {held}")
    return ds.isel(trajectory=np.flatnonzero(np.isin(present, splits)))


def cut(ds: xr.Dataset, points: int) -> xr.Dataset:
    """Each trajectory cut into consecutive pieces of `points` samples, as new trajectories.

    For one long recording of which many trajectories are to be made. The pieces share no sample
    and keep their times; a shorter rest at the end of a trajectory is left out, and so are the
    splits. Piece 2 of trajectory 7 is called ``7/2``. A piece keeps its inputs, its parameters and
    the jumps that lie inside it.

    **Raises:** `DataError` when `points` is below 2 or longer than every trajectory.
    """
    check_layout(ds)
    if not isinstance(points, int | np.integer) or points < 2:
        raise DataError(f"a piece needs a whole number of points, at least 2, not {shown(points)}")
    ranges, labels = [], []
    for row, times in enumerate(time_matrix(ds)):
        pieces = int(np.isfinite(times).sum()) // points
        for piece in range(pieces):
            ranges.append((row, piece * points, (piece + 1) * points))
            labels.append(f"{ds['trajectory'].values[row]}/{piece}")
    if not ranges:
        raise DataError(
            f"no trajectory has {points} points; the longest has "
            f"{int(np.isfinite(time_matrix(ds)).sum(axis=1).max())}"
        )
    return _pieces(ds, ranges, labels)


def _counts(fractions: list[float], available: int) -> list[int]:
    """Whole numbers nearest to the fractions, by largest remainder; one at least where above 0."""
    exact = np.asarray(fractions) * available
    counts = np.maximum(np.floor(exact + 1e-9).astype(int), np.asarray(fractions) > 0)
    spare = round(exact.sum()) - counts.sum()
    for index in np.argsort(-(exact - counts), kind="stable")[: max(spare, 0)]:
        counts[index] += 1
    # The minimum of one may ask for more than there are: the largest share gives way.
    while counts.sum() > available and counts.max() > 1:
        counts[np.argmax(counts)] -= 1
    return counts.tolist()


def _split_in_time(ds: xr.Dataset, shares: dict[str, float]) -> xr.Dataset:
    length = int(np.isfinite(time_matrix(ds)[0]).sum())
    edges = np.round(np.cumsum([0.0, *shares.values()]) * length).astype(int)
    for name, begin, end in zip(shares, edges[:-1], edges[1:], strict=True):
        if end - begin < 2:
            raise DataError(
                f"the one trajectory has {length} points, of which the {name} share "
                f"{shares[name]:g} gets {end - begin}; at least 2 are needed"
            )
    ranges = [(0, int(a), int(b)) for a, b in pairwise(edges)]
    pieces = _pieces(ds, ranges, [f"{ds['trajectory'].values[0]}/{name}" for name in shares])
    return pieces.assign_coords(split=("trajectory", list(shares)))


def _check_share(name: str, share: Any) -> None:
    number = isinstance(share, int | float | np.integer | np.floating)
    if not number or isinstance(share, bool) or not np.isfinite(share):
        raise DataError(
            f"the {name} share is {shown(share)}; it must be a whole number of trajectories, or a "
            "fraction of them"
        )
    if share < 0:
        raise DataError(f"the {name} share is negative: {share}")


def _pieces(ds: xr.Dataset, ranges: list[tuple[int, int, int]], labels: list[str]) -> xr.Dataset:
    """A new trajectory for each range of samples (row, begin, end), with all that belongs to them."""

    def taken(values: np.ndarray) -> np.ndarray:
        """Values over (trajectory, time, ...), cut into the pieces."""
        return padded([values[row, begin:end] for row, begin, end in ranges])

    times, whole = times_of(ds), Exogenous.of(ds)
    rows = [row for row, _, _ in ranges]
    clocks = taken(whole.ended(times.values))
    exogenous = replace(
        whole, w=taken(whole.w), p=whole.p[rows], jumps=inside(whole.jumps[rows], clocks)
    )
    out = assemble(
        taken(ds["u"].transpose("trajectory", "time", "state").values),
        Times(taken(times.values), times.unit, times.since),
        [str(name) for name in ds["state"].values],
        [str(unit) for unit in ds["units"].values] if "units" in ds.coords else None,
        attrs=ds.attrs,
        trajectory=labels,
        exogenous=exogenous,
    )
    for name, variable in ds.data_vars.items():
        if name in ("u", "t", *VARIABLES) or "trajectory" not in variable.dims:
            continue
        first = ("trajectory", "time") if "time" in variable.dims else ("trajectory",)
        turned = variable.transpose(*first, ...)
        values = taken(turned.values) if len(first) == 2 else turned.values[rows]
        out[name] = (turned.dims, values, variable.attrs)
    own = {name: c.variable for name, c in ds.coords.items() if name not in out.coords}
    kept = {name: c for name, c in own.items() if not {"trajectory", "time"} & set(c.dims)}
    return out.assign_coords(kept)
