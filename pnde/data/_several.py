"""Several sources as one data set: a trajectory each, or one recording in parts."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, listed, shown

from ._checks import first_not_increasing
from ._exogenous import Exogenous
from ._labels import first_twice
from ._layout import assemble, padded, time_matrix, times_of
from ._readers import suffix_of
from ._roles import CONSTANT
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
        row for ds, clocks in zip(parts, values, strict=True) for row in _recordings(ds, clocks)
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
    pieces: dict[str, list[tuple[str, _Recording]]] = {}
    splits: dict[str, str] = {}
    for ds, name, clocks in zip(parts, names, values, strict=True):
        recordings = _recordings(ds, clocks)
        for row, label in enumerate(str(label) for label in ds["trajectory"].values):
            pieces.setdefault(label, []).append((name, recordings[row]))
            if "split" in ds.coords and splits.setdefault(label, str(ds["split"].values[row])) != (
                str(ds["split"].values[row])
            ):
                raise DataError(f"trajectory {brief(label)} has another split in {shown(name)}")
    rows = []
    for label, own in pieces.items():
        for (before, one), (after, other) in pairwise(own):
            early, late = one.times, other.times
            _check_parameters(parts[0], label, (before, one.p), (after, other.p))
            if first_not_increasing(np.array([early[-1], late[0]])) is not None:
                raise DataError(
                    f"trajectory {brief(label)}: {shown(after)} begins at {late[0]:.15g}, but "
                    f"{shown(before)} ends at {early[-1]:.15g}; put them in order, or leave "
                    "concatenate out if each is a trajectory of its own"
                )
        rows.append(
            _Recording(
                np.concatenate([part.u for _, part in own]),
                np.concatenate([part.times for _, part in own]),
                np.concatenate([part.w for _, part in own]),
                np.concatenate([part.jumps for _, part in own]),
                own[0][1].p,
            )
        )
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
        ds = _exogenous_alike(ds, name, first, names[0])
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


@dataclass(frozen=True, eq=False)
class _Recording:
    """One trajectory: states ``(time, n)``, times ``(time,)``, inputs ``(time, k)``, jumps and parameters."""

    u: np.ndarray
    times: np.ndarray
    w: np.ndarray
    jumps: np.ndarray
    p: np.ndarray


def _recordings(ds: xr.Dataset, clocks: np.ndarray) -> list[_Recording]:
    """The trajectories of a data set at times ``(trajectory, time)`` on a clock that all parts share."""
    own = Exogenous.of(ds)
    known = np.isfinite(own.ended(clocks))
    jumps = own.jumps + (clocks - time_matrix(ds))[:, :1]
    return [
        _Recording(u[row], clock[row], w[row], jump[np.isfinite(jump)], p)
        for u, clock, w, jump, p, row in zip(
            _states(ds), clocks, own.w, jumps, own.p, known, strict=True
        )
    ]


def _exogenous_alike(ds: xr.Dataset, name: str, first: xr.Dataset, before: str) -> xr.Dataset:
    """`ds` with its inputs and parameters in the order of `first`; `DataError` where these are others."""
    one, other = Exogenous.of(first), Exogenous.of(ds)
    for word, wanted, held in (
        ("inputs", one.inputs, other.inputs),
        ("parameters", one.parameters, other.parameters),
    ):
        if set(wanted) != set(held):
            raise DataError(
                f"{shown(name)} has the {word} {listed(held)}, but {shown(before)} has {listed(wanted)}; choose "
                f"them by {word}="
            )
    if one.inputs:
        ds = ds.isel(input=[other.inputs.index(known) for known in one.inputs])
    if one.parameters:
        ds = ds.isel(parameter=[other.parameters.index(known) for known in one.parameters])
    other = Exogenous.of(ds)
    for word, names, wanted, held in (
        ("unit", one.inputs, one.input_units, other.input_units),
        ("unit", one.parameters, one.parameter_units, other.parameter_units),
        ("interpolation", one.inputs, one.interpolation, other.interpolation),
    ):
        for known, mine, theirs in zip(names, wanted, held, strict=True):
            if mine != theirs:
                raise DataError(
                    f"the {word} of {shown(known)} is {shown(theirs)} in {shown(name)}, but {shown(mine)} in "
                    f"{shown(before)}; make them the same"
                )
    return ds


def _check_parameters(
    ds: xr.Dataset, label: str, one: tuple[str, np.ndarray], other: tuple[str, np.ndarray]
) -> None:
    """Refuse parameters ``(r,)`` that are others in the next part of a recording."""
    (before, early), (after, late) = one, other
    changed = np.flatnonzero(np.abs(late - early) > CONSTANT * np.abs(early))
    if changed.size:
        k = changed[0]
        raise DataError(
            f"trajectory {brief(label)}: parameter {shown(ds['parameter'].values[k])} is {early[k]:.10g} in "
            f"{shown(before)} and {late[k]:.10g} in {shown(after)}; make it an input, or leave concatenate out"
        )


def _assembled(
    parts: Sequence[xr.Dataset],
    rows: Sequence[_Recording],
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
    exogenous = replace(
        Exogenous.of(first),
        w=padded([row.w for row in rows]),
        jumps=padded([row.jumps for row in rows]),
        p=np.stack([row.p for row in rows]),
    )
    return assemble(
        padded([row.u for row in rows]),
        Times(padded([row.times for row in rows]), unit, since),
        [str(name) for name in first["state"].values],
        [str(unit) for unit in first["units"].values],
        shared,
        split,
        labels,
        exogenous,
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
