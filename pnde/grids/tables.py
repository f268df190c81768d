"""The two tables of a grid: its buses and its branches, in p.u."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from pnde.errors import GridError

#: What a bus may be. "slack": its complex voltage is pinned. "source": a grid-forming source keeps
#: its active power and voltage near their set-points. "load": prescribed active and reactive power.
KINDS = ("slack", "source", "load")


def _none() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Buses:
    """One entry a bus; every array has shape ``(N,)``. Powers are injections: a load is negative.

    A load has up to three parts (ZIP). Its constant power stands in `active` and `reactive`, its
    constant current in `current`, and its constant impedance in `shunt`: a part that draws
    P + jQ at 1 p.u. is the current ``-(P + jQ)``, or the shunt ``P - jQ``.

    **Arguments:**

    - `number`: the buses' own numbers, as in the file; unique, not necessarily consecutive.
    - `kind`: "slack", "source" or "load", see [`pnde.grids.KINDS`][].
    - `active`, `reactive`: set-points of the injected power, p.u. NaN where nothing is prescribed:
        at the slack, and the reactive power of a source that takes it from the load flow.
    - `voltage`: set-point of the voltage magnitude at slack and sources, p.u.; NaN at loads.
    - `angle`: voltage angle of the slack, rad; ignored elsewhere.
    - `shunt`: admittance to ground, p.u. (a capacitor has a positive imaginary part).
    - `name`: for messages and plots; the number is used where it is empty.
    - `current`: complex power that constant-current loads inject beside the set-points, p.u. at
        \\|v\\| = 1; it grows as \\|v\\|. By default 0.
    - `reactive_min`, `reactive_max`: limits of the reactive power that a source's bus injects,
        p.u., loads of constant power at the bus included; NaN (the default) or infinite where there
        is none.
    - `rating`: apparent power that the sources of a bus are built for, p.u. of the grid's base;
        NaN (the default) where it is not known.
    - `stored`: complex voltage that the file holds, p.u., from which a load flow may start; NaN
        (the default) where it holds none.
    """

    number: np.ndarray
    kind: tuple[str, ...]
    active: np.ndarray
    reactive: np.ndarray
    voltage: np.ndarray
    angle: np.ndarray = field(default_factory=_none)
    shunt: np.ndarray = field(default_factory=_none)
    name: tuple[str, ...] = ()
    current: np.ndarray = field(default_factory=_none)
    reactive_min: np.ndarray = field(default_factory=_none)
    reactive_max: np.ndarray = field(default_factory=_none)
    rating: np.ndarray = field(default_factory=_none)
    stored: np.ndarray = field(default_factory=_none)

    def __post_init__(self):
        size = len(np.atleast_1d(self.number))
        _freeze(self, "number", np.int64, size)
        for number, count in Counter(self.number.tolist()).items():
            if count > 1:
                raise GridError(
                    f"bus number {number} appears {count} times in the bus table; number every bus "
                    "differently"
                )
        _set(self, "kind", tuple(str(kind) for kind in self.kind))
        _set(self, "name", tuple(str(name).strip() for name in self.name) or ("",) * size)
        for key in ("active", "reactive", "voltage"):
            _freeze(self, key, float, size)
        _freeze(self, "angle", float, size, default=0.0)
        for key in ("reactive_min", "reactive_max", "rating"):
            limit = np.asarray(getattr(self, key))
            if limit.dtype.kind == "f":
                _set(self, key, np.where(np.isinf(limit), np.nan, limit))
            _freeze(self, key, float, size, default=np.nan)
        for key in ("shunt", "current"):
            _freeze(self, key, complex, size, default=0.0)
        _freeze(self, "stored", complex, size, default=np.nan)
        for key in ("kind", "name"):
            if len(getattr(self, key)) != size:
                raise GridError(
                    f"the bus table has {size} numbers but {len(getattr(self, key))} values of "
                    f"{key}; give one for each bus"
                )

    def __len__(self) -> int:
        return len(self.number)

    def __repr__(self) -> str:
        return f"Buses({self.summary})"

    @property
    def summary(self) -> str:
        """``1 slack, 4 sources, 9 loads``"""
        counts = {kind: self.kind.count(kind) for kind in KINDS}
        return ", ".join(f"{n} {kind}{'s' if n != 1 else ''}" for kind, n in counts.items())

    def label(self, position: int) -> str:
        """``bus 7 ('north')``: what messages call a bus."""
        number, name = int(self.number[position]), self.name[position]
        return f"bus {number}" + (f" ({name!r})" if name and name != str(number) else "")


@dataclass(frozen=True, eq=False)
class Branches:
    """One entry a line or transformer; every array has shape ``(L,)``.

    The branch is a π-section behind an ideal transformer at its start, as in MATPOWER (Zimmerman &
    Murillo-Sánchez, User's Manual, §3.2).

    **Arguments:**

    - `start`, `end`: positions in the bus table (not bus numbers).
    - `admittance`: series admittance, p.u.
    - `tap`: turns ratio at the start; 1 for a line.
    - `shift`: phase shift at the start, rad; positive when the start leads.
    - `charging_start`, `charging_end`: admittance to ground at either end, inside the transformer,
        p.u.; half the line charging each, ``0.5j * b``.
    - `where`: where the branch was read ("case.m, line 42"), for messages; may be empty.
    """

    start: np.ndarray
    end: np.ndarray
    admittance: np.ndarray
    tap: np.ndarray = field(default_factory=_none)
    shift: np.ndarray = field(default_factory=_none)
    charging_start: np.ndarray = field(default_factory=_none)
    charging_end: np.ndarray = field(default_factory=_none)
    where: tuple[str, ...] = ()

    def __post_init__(self):
        size = len(np.atleast_1d(self.start))
        for key in ("start", "end"):
            _freeze(self, key, np.int64, size)
        _freeze(self, "admittance", complex, size)
        _freeze(self, "tap", float, size, default=1.0)
        _freeze(self, "shift", float, size, default=0.0)
        for key in ("charging_start", "charging_end"):
            _freeze(self, key, complex, size, default=0.0)
        _set(self, "where", tuple(str(text) for text in self.where) or ("",) * size)
        if len(self.where) != size:
            raise GridError(
                f"the branch table has {size} branches but {len(self.where)} values of where; "
                "give one for each branch"
            )

    def __len__(self) -> int:
        return len(self.start)

    def __repr__(self) -> str:
        return f"Branches({len(self)} branches)"


def _set(target: Any, key: str, value: Any) -> None:
    object.__setattr__(target, key, value)


def _freeze(target: Any, key: str, dtype: Any, size: int, default: float | None = None) -> None:
    """Store a read-only copy of shape ``(size,)``: the tables are shared, nobody may edit them."""
    value = getattr(target, key)
    if default is not None and not np.size(value):
        value = np.full(size, default)
    try:
        array = np.array(value, dtype=dtype, ndmin=1)
    except (TypeError, ValueError) as error:
        raise GridError(f"{key} holds something that is not a number ({error})") from error
    if array.shape != (size,):
        raise GridError(f"{key} has shape {array.shape}; it needs one value a row, ({size},)")
    array.flags.writeable = False
    _set(target, key, cast(Any, array))
