"""What must hold for a grid to have a load flow at all; each failure names its bus or branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pnde.errors import GridError, nearest

if TYPE_CHECKING:
    from pnde.grids.grid import Grid


def validate(grid: Grid) -> None:
    """Raise a [`pnde.errors.GridError`][] at the first thing that is wrong with a grid's tables."""
    if not len(grid.buses):
        raise GridError(f"{grid.name} has no buses")
    if not (np.isfinite(grid.base_mva) and grid.base_mva > 0):
        raise GridError(f"{grid.name} has a base power of {grid.base_mva} MVA; it must be positive")
    _kinds(grid)
    _values(grid)
    _branches(grid)
    _islands(grid)


def islands(size: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Which connected part each bus belongs to, by the lowest position in it, ``(size,)``."""
    parent = list(range(size))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for a, b in zip(start.tolist(), end.tolist(), strict=True):
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    return np.array([root(k) for k in range(size)])


def _kinds(grid: Grid) -> None:
    from pnde.grids.tables import KINDS

    for k, kind in enumerate(grid.buses.kind):
        if kind in ("", "None", "nan"):
            raise GridError(f"{grid.bus_label(k)} has no type; make it 'load', 'source' or 'slack'")
        if kind not in KINDS:
            raise GridError(
                f"{grid.bus_label(k)} has the unknown type {kind!r}{nearest(kind, KINDS)}; make it "
                "'load', 'source' or 'slack'"
            )
    if not len(grid.slack):
        raise GridError(
            f"{grid.name} has no slack bus; make one of its sources the slack, which pins the "
            "voltage that all angles refer to"
        )


def _values(grid: Grid) -> None:
    bus, kind = grid.buses, np.array(grid.buses.kind)
    source, slack, load = kind == "source", kind == "slack", kind == "load"
    rules = [
        ("shunt admittance", ~np.isfinite(bus.shunt), "a number"),
        ("active power", (load | source) & ~np.isfinite(bus.active), "a number"),
        ("reactive power", load & ~np.isfinite(bus.reactive), "a number"),
        # NaN is how a source says that its reactive power comes from the load flow.
        ("reactive power", source & np.isinf(bus.reactive), "a number, or NaN for the load flow's"),
        ("voltage set-point", (source | slack) & ~(bus.voltage > 0), "a positive number"),
        ("voltage set-point", (source | slack) & np.isinf(bus.voltage), "a positive number"),
        ("voltage angle", slack & ~np.isfinite(bus.angle), "a number"),
        ("constant-current power", ~np.isfinite(bus.current), "a number"),
        ("rating", bus.rating <= 0, "a positive number, or NaN where it is not known"),
    ]
    of = {
        "shunt admittance": bus.shunt,
        "active power": bus.active,
        "reactive power": bus.reactive,
        "voltage set-point": bus.voltage,
        "voltage angle": bus.angle,
        "constant-current power": bus.current,
        "rating": bus.rating,
    }
    for what, wrong, remedy in rules:
        for k in np.flatnonzero(wrong).tolist():
            raise GridError(
                f"{grid.bus_label(k)} ({bus.kind[k]}) has the {what} {of[what][k]}; give it "
                f"{remedy}"
            )


def _branches(grid: Grid) -> None:
    line = grid.branches
    for k in range(len(line)):
        for position in (line.start[k], line.end[k]):
            if not 0 <= position < grid.size:
                raise GridError(
                    f"{grid.branch_label(k)} ends at bus position {position}, but there are "
                    f"{grid.size} buses; add the bus or remove the branch"
                )
    for k in np.flatnonzero(line.start == line.end).tolist():
        raise GridError(
            f"{grid.branch_label(k)} starts and ends at the same bus; remove it, or enter it as a "
            "shunt of that bus"
        )
    for k in np.flatnonzero(np.isinf(line.admittance)).tolist():
        raise GridError(
            f"{grid.branch_label(k)} has zero impedance; merge its two buses into one, or give it "
            "a small reactance such as 1e-4 p.u."
        )
    checks = {
        "a series admittance": line.admittance,
        "a tap ratio": line.tap,
        "a phase shift": line.shift,
        "line charging": line.charging_start + line.charging_end,
    }
    for what, values in checks.items():
        for k in np.flatnonzero(~np.isfinite(values)).tolist():
            raise GridError(
                f"{grid.branch_label(k)} has {what} of {values[k]}; give it a finite number"
            )
    for k in np.flatnonzero(line.tap <= 0).tolist():
        raise GridError(
            f"{grid.branch_label(k)} has a tap ratio of {line.tap[k]}; it must be positive (1 for "
            "a line)"
        )


def _islands(grid: Grid) -> None:
    line = grid.branches
    joined = line.admittance != 0  # an open branch connects nothing
    part = islands(grid.size, line.start[joined], line.end[joined])
    supplied = set(part[grid.slack].tolist())
    lost = np.array([k for k in range(grid.size) if part[k] not in supplied], dtype=int)
    if not len(lost):
        return
    island = np.flatnonzero(part == part[lost[0]])
    names = ", ".join(str(grid.buses.number[k]) for k in island[:8])
    names += f" and {len(island) - 8} more" if len(island) > 8 else ""
    one = len(island) == 1
    raise GridError(
        f"{grid.bus_label(island[0])} is cut off: no branch in service joins "
        f"{'it' if one else f'the island of buses {names}'} to a slack bus; connect "
        f"{'it' if one else 'the island'}, give it a slack bus, or take it out of the grid"
    )
