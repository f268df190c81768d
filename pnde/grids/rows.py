"""The tables of a grid from rows written by hand: lists of dicts, or pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pnde.errors import GridError, nearest
from pnde.grids.tables import Branches, Buses

#: Columns of the bus table with their values where a row leaves them out.
_OPTIONAL_OF_BUS: dict[str, Any] = {
    "angle": 0.0,
    "shunt": 0.0,
    "name": "",
    "current": 0.0,
    "reactive_min": np.nan,
    "reactive_max": np.nan,
    "rating": np.nan,
    "stored": np.nan,
}
_BUS_KEYS = ("number", "kind", "active", "reactive", "voltage", *_OPTIONAL_OF_BUS)
_BRANCH_KEYS = (
    "start", "end", "admittance", "resistance", "reactance", "charging", "tap", "shift",
)  # fmt: skip


def tables_of_rows(
    buses: Iterable[Mapping[str, Any]] | Any, branches: Iterable[Mapping[str, Any]] | Any
) -> tuple[Buses, Branches]:
    """The bus table and the branch table; columns as in [`pnde.grids.Grid.from_tables`][].

    **Raises:** [`pnde.errors.GridError`][], naming the row.
    """
    bus_rows = _rows(buses, "bus", _BUS_KEYS, ("number", "kind"))
    branch_rows = _rows(branches, "branch", _BRANCH_KEYS, ("start", "end"))
    column = {
        key: [row.get(key, _OPTIONAL_OF_BUS.get(key, np.nan)) for row in bus_rows]
        for key in _BUS_KEYS
    }
    table = Buses(**column)  # type: ignore[arg-type]
    position = {int(number): k for k, number in enumerate(table.number)}
    start, end, admittance = [], [], []
    for k, row in enumerate(branch_rows):
        label = f"branch {row['start']}–{row['end']} (row {k + 1} of the branch table)"
        for key in ("start", "end"):
            if int(row[key]) not in position:
                raise unknown_bus(label, int(row[key]))
        start.append(position[int(row["start"])])
        end.append(position[int(row["end"])])
        if "admittance" in row:
            admittance.append(complex(row["admittance"]))
        else:
            r, x = float(row.get("resistance", 0.0)), float(row.get("reactance", 0.0))
            admittance.append(complex(series_admittance(r, x, label)))
    charging = np.array([0.5j * row.get("charging", 0.0) for row in branch_rows], complex)
    lines = Branches(
        start=np.array(start),
        end=np.array(end),
        admittance=np.array(admittance),
        tap=np.array([row.get("tap", 1.0) for row in branch_rows], float),
        shift=np.array([row.get("shift", 0.0) for row in branch_rows], float),
        charging_start=charging,
        charging_end=charging,
    )
    return table, lines


def series_admittance(resistance: float, reactance: float, label: str) -> complex:
    """1 / (r + jx), refusing a branch without impedance by its name."""
    if resistance == 0 and reactance == 0:
        raise GridError(
            f"{label} has zero impedance; merge its two buses into one, or give it a small "
            "reactance such as 1e-4 p.u."
        )
    return 1 / complex(resistance, reactance)


def unknown_bus(label: str, number: float) -> GridError:
    """The error for a branch that ends at a bus nobody has defined."""
    return GridError(
        f"{label} ends at bus {number:g}, which is not in the bus table; add the bus or remove the "
        "branch"
    )


def _rows(
    table: Any, what: str, known: Sequence[str], needed: Sequence[str]
) -> list[dict[str, Any]]:
    if hasattr(table, "to_dict"):  # a pandas DataFrame, without importing pandas
        table = table.to_dict("records")
    optional = ("admittance", "charging", "tap", "shift", *_OPTIONAL_OF_BUS)
    rows = [
        # pandas fills what a row does not say with NaN; a NaN resistance or load stays an error
        {key: value for key, value in dict(row).items() if key not in optional or value == value}
        for row in table
    ]
    for k, row in enumerate(rows):
        for key in row:
            if key not in known:
                raise GridError(
                    f"row {k + 1} of the {what} table has the unknown column {key!r}"
                    f"{nearest(key, known)}; known are {', '.join(known)}"
                )
        for key in needed:
            if key not in row:
                raise GridError(f"row {k + 1} of the {what} table has no {key!r}; add it")
    return rows
