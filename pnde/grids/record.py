"""A grid as plain numbers, strings and lists, fit for JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pnde.grids.tables import Branches, Buses

if TYPE_CHECKING:
    from pnde.grids.grid import Grid

_BUS_VALUES = ("active", "reactive", "voltage", "angle", "shunt")
# Left out where all have this value, so that records of older versions, without them, mean the same.
_MORE_BUS_VALUES = {
    "current": 0.0,
    "reactive_min": np.nan,
    "reactive_max": np.nan,
    "rating": np.nan,
    "stored": np.nan,
}
_BRANCH_VALUES = ("admittance", "tap", "shift", "charging_start", "charging_end")


def to_record(grid: Grid) -> dict[str, Any]:
    """Plain numbers, strings and lists; `of_record` reads them back exactly."""
    bus, line = grid.buses, grid.branches
    said = [
        key
        for key, value in _MORE_BUS_VALUES.items()
        if not np.array_equal(getattr(bus, key), np.full(len(bus), value), equal_nan=True)
    ]
    return {
        "name": grid.name,
        "base_mva": float(grid.base_mva),
        "citation": grid.citation,
        "buses": {
            "number": bus.number.tolist(),
            "kind": list(bus.kind),
            "name": list(bus.name),
            **{key: _plain(getattr(bus, key)) for key in (*_BUS_VALUES, *said)},
        },
        "branches": {
            "start": line.start.tolist(),
            "end": line.end.tolist(),
            "where": list(line.where),
            **{key: _plain(getattr(line, key)) for key in _BRANCH_VALUES},
        },
    }


def of_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the grid of a record of `to_record`."""
    bus, line = dict(record["buses"]), dict(record["branches"])
    for key in (*_BUS_VALUES, *(key for key in _MORE_BUS_VALUES if key in bus)):
        bus[key] = _array(bus[key])
    line.update({key: _array(line[key]) for key in _BRANCH_VALUES})
    return {
        "buses": Buses(**bus),
        "branches": Branches(**line),
        **{key: record[key] for key in ("name", "base_mva", "citation")},
    }


def _plain(values: np.ndarray) -> list[Any]:
    """Lists for JSON: None for NaN (JSON has none), [re, im] for complex numbers."""
    if np.iscomplexobj(values):
        return [None if np.isnan(z) else [float(z.real), float(z.imag)] for z in values]
    return [None if np.isnan(x) else float(x) for x in values]


def _array(values: Sequence[Any]) -> np.ndarray:
    if any(isinstance(x, list | tuple) for x in values):
        return np.array([np.nan if x is None else complex(*x) for x in values], complex)
    return np.array([np.nan if x is None else x for x in values], float)
