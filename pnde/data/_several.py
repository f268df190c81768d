"""Several sources as one data set: a trajectory each, or one recording in parts."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, listed, shown

from ._checks import first_not_increasing
from ._labels import first_twice
from ._layout import assemble, padded, times_of
from ._readers import suffix_of
from ._times import Times, on_one_clock


def matching(pattern: str) -> list[Path]:
    """The files that a pattern with ``*``, ``?`` or ``[…]`` names; run2 comes before run10.

    **Raises:** `DataError` where there is none.
    """
    found = sorted((Path(name) for name in glob.glob(pattern)), key=_natural)  # noqa: PTH207
    if not found:
        raise DataError(f"{brief(pattern, 100)}: no file has such a name")
    return found


def names_of(sources: Sequence[Any]) -> list[str]:
    """What to call the sources: files by their names without suffix, or as much of the path as tells them apart.

    **Raises:** `DataError` where a file is named twice.
    """
    files = [isinstance(source, str | os.PathLike) for source in sources]
    if not all(files):
        return [str(position) for position in range(len(sources))]
    paths = [Path(source) for source in sources]
    stems = [path.name.removesuffix(suffix_of(path)) for path in paths]
    folders = [f"{path.parent.name}/{stem}" for path, stem in zip(paths, stems, strict=True)]
    for names in (stems, folders, [str(path) for path in paths]):
        if first_twice(names) is None:
            return names
    raise DataError(f"{brief(first_twice(paths), 100)}: the file is named twice")


def side_by_side(parts: Sequence[xr.Dataset], names: Sequence[str]) -> xr.Dataset:
    """Data sets in the standard layout as one, with the trajectories of all.

    Dates count from the earliest of all. Trajectories keep their labels where these differ; else a
    source's name stands before them, or for the only one.
    """
    parts = _alike(parts, names)
    labels = [str(label) for ds in parts for label in ds["trajectory"].values]
    if first_twice(labels) is not None:
        labels = [
            name if ds.sizes["trajectory"] == 1 else f"{name}/{label}"
            for ds, name in zip(parts, names, strict=True)
            for label in ds["trajectory"].values
        ]
    values, unit, since = on_one_clock([times_of(ds) for ds in parts])
    rows = [
        (u[np.isfinite(clock)], clock[np.isfinite(clock)])
        for ds, clocks in zip(parts, values, strict=True)
        for u, clock in zip(_states(ds), clocks, strict=True)
    ]
    split = None
    if all("split" in ds.coords for ds in parts):
        split = [str(name) for ds in parts for name in ds["split"].values]
    return _assembled(parts, rows, unit, since, labels, split)


def one_after_another(parts: Sequence[xr.Dataset], names: Sequence[str]) -> xr.Dataset:
    """Parts of one recording as one data set: trajectories of the same label are joined in time.

    **Raises:** `DataError` where a part begins before the one before it has ended.
    """
    parts = _alike(parts, names)
    values, unit, since = on_one_clock([times_of(ds) for ds in parts])
    pieces: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
    splits: dict[str, str] = {}
    for ds, name, clocks in zip(parts, names, values, strict=True):
        for row, label in enumerate(str(label) for label in ds["trajectory"].values):
            known = np.isfinite(clocks[row])
            pieces.setdefault(label, []).append((name, _states(ds)[row, known], clocks[row, known]))
            if "split" in ds.coords and splits.setdefault(label, str(ds["split"].values[row])) != (
                str(ds["split"].values[row])
            ):
                raise DataError(f"trajectory {brief(label)} has another split in {shown(name)}")
    rows = []
    for label, own in pieces.items():
        for (before, _, early), (after, _, late) in pairwise(own):
            if first_not_increasing(np.array([early[-1], late[0]])) is not None:
                raise DataError(
                    f"trajectory {brief(label)}: {shown(after)} begins at {late[0]:.15g}, but "
                    f"{shown(before)} ends at {early[-1]:.15g}; put them in order, or leave "
                    "concatenate out if each is a trajectory of its own"
                )
        rows.append((np.concatenate([u for _, u, _ in own]), np.concatenate([t for *_, t in own])))
    split = [splits[label] for label in pieces] if len(splits) == len(pieces) else None
    return _assembled(parts, rows, unit, since, list(pieces), split)


def _alike(parts: Sequence[xr.Dataset], names: Sequence[str]) -> list[xr.Dataset]:
    """The data sets with their states in one order; `DataError` where they have others, or other units."""
    first = parts[0]
    states = [str(name) for name in first["state"].values]
    ordered = []
    for ds, name in zip(parts, names, strict=True):
        own = {str(state): k for k, state in enumerate(ds["state"].values)}
        if own.keys() != set(states):
            raise DataError(
                f"{shown(name)} has the states {listed(own)}, but {shown(names[0])} has "
                f"{listed(states)}; choose and rename them by states= and rename="
            )
        ds = ds.isel(state=[own[state] for state in states])
        for state, one, other in zip(
            states, first["units"].values, ds["units"].values, strict=True
        ):
            if str(one) != str(other):
                raise DataError(
                    f"the unit of {shown(state)} is {shown(other)} in {shown(name)}, but "
                    f"{shown(one)} in {shown(names[0])}; units are not converted"
                )
        if ("split" in ds.coords) != ("split" in first.coords):
            raise DataError(
                f"{shown(name)} and {shown(names[0])}: one has splits and one has none; give all some"
            )
        ordered.append(ds)
    return ordered


def _assembled(
    parts: Sequence[xr.Dataset],
    rows: Sequence[tuple[np.ndarray, np.ndarray]],
    unit: str,
    since: str,
    labels: list[str],
    split: list[str] | None,
) -> xr.Dataset:
    first = parts[0]
    # What is said of one part is said of all only where they agree.
    shared = {
        key: value
        for key, value in first.attrs.items()
        if all(key in ds.attrs and np.array_equal(ds.attrs[key], value) for ds in parts)
    }
    return assemble(
        padded([u for u, _ in rows]),
        Times(padded([clock for _, clock in rows]), unit, since),
        [str(name) for name in first["state"].values],
        [str(unit) for unit in first["units"].values],
        shared,
        split,
        labels,
    )


def _states(ds: xr.Dataset) -> np.ndarray:
    values: np.ndarray = ds["u"].transpose("trajectory", "time", "state").values
    return values


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """A key that sorts the numbers in names as numbers."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", str(path))
    ]
