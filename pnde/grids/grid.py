"""The grid itself: a bus table, a branch table, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pnde.errors import GridError, nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: What a bus may be. "slack": its complex voltage is pinned. "source": a grid-forming source keeps
#: its active power and voltage near their set-points. "load": constant active and reactive power.
KINDS = ("slack", "source", "load")


@dataclass(frozen=True, eq=False)
class Buses:
    """One entry a bus; every array has shape ``(N,)``. Powers are injections: a load is negative.

    **Arguments:**

    - `number`: the buses' own numbers, as in the file; unique, not necessarily consecutive.
    - `kind`: "slack", "source" or "load", see [`pnde.grids.KINDS`][].
    - `active`, `reactive`: set-points of the injected power, p.u. NaN where nothing is prescribed:
        at the slack, and the reactive power of a source that takes it from the load flow.
    - `voltage`: set-point of the voltage magnitude at slack and sources, p.u.; NaN at loads.
    - `angle`: voltage angle of the slack, rad; ignored elsewhere.
    - `shunt`: admittance to ground, p.u. (a capacitor has a positive imaginary part).
    - `name`: for messages and plots; the number is used where it is empty.
    """

    number: np.ndarray
    kind: tuple[str, ...]
    active: np.ndarray
    reactive: np.ndarray
    voltage: np.ndarray
    angle: np.ndarray = field(default_factory=lambda: np.zeros(0))
    shunt: np.ndarray = field(default_factory=lambda: np.zeros(0, complex))
    name: tuple[str, ...] = ()

    def __post_init__(self):
        size = len(np.atleast_1d(self.number))
        _freeze(self, "number", self.number, np.int64, size)
        for number, count in Counter(self.number.tolist()).items():
            if count > 1:
                raise GridError(
                    f"bus number {number} appears {count} times in the bus table; number every bus "
                    "differently"
                )
        _set(self, "kind", tuple(str(kind) for kind in self.kind))
        _set(self, "name", tuple(str(name).strip() for name in self.name) or ("",) * size)
        for key in ("active", "reactive", "voltage"):
            _freeze(self, key, getattr(self, key), float, size)
        _freeze(self, "angle", self.angle if np.size(self.angle) else np.zeros(size), float, size)
        shunt = self.shunt if np.size(self.shunt) else np.zeros(size)
        _freeze(self, "shunt", shunt, complex, size)
        for key in ("kind", "name"):
            if len(getattr(self, key)) != size:
                raise GridError(
                    f"the bus table has {size} numbers but {len(getattr(self, key))} values of "
                    f"{key}; give one for each bus"
                )

    def __len__(self) -> int:
        return len(self.number)

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
    tap: np.ndarray = field(default_factory=lambda: np.zeros(0))
    shift: np.ndarray = field(default_factory=lambda: np.zeros(0))
    charging_start: np.ndarray = field(default_factory=lambda: np.zeros(0, complex))
    charging_end: np.ndarray = field(default_factory=lambda: np.zeros(0, complex))
    where: tuple[str, ...] = ()

    def __post_init__(self):
        size = len(np.atleast_1d(self.start))
        for key in ("start", "end"):
            _freeze(self, key, getattr(self, key), np.int64, size)
        _freeze(self, "admittance", self.admittance, complex, size)
        _freeze(self, "tap", self.tap if np.size(self.tap) else np.ones(size), float, size)
        _freeze(self, "shift", self.shift if np.size(self.shift) else np.zeros(size), float, size)
        for key in ("charging_start", "charging_end"):
            value = getattr(self, key)
            _freeze(self, key, value if np.size(value) else np.zeros(size), complex, size)
        _set(self, "where", tuple(str(text) for text in self.where) or ("",) * size)
        if len(self.where) != size:
            raise GridError(
                f"the branch table has {size} branches but {len(self.where)} values of where; "
                "give one for each branch"
            )

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False)
class Grid:
    """A power grid whose tables have been checked: a `Grid` that exists is connected and complete.

    The state of its dynamic model is ``[Re v_1 … Re v_N, Im v_1 … Im v_N]``, p.u.

    **Arguments:**

    - `buses`, `branches`: the tables.
    - `name`: for plots and run folders.
    - `base_mva`: the power that 1 p.u. stands for, MVA.
    - `citation`: where the numbers come from.

    **Raises:** [`pnde.errors.GridError`][], naming the bus or branch that is wrong.
    """

    buses: Buses
    branches: Branches
    name: str = "grid"
    base_mva: float = 100.0
    citation: str = ""

    def __post_init__(self):
        from pnde.grids.validate import validate

        validate(self)

    @property
    def size(self) -> int:
        """Number of buses N; the state has 2 N components."""
        return len(self.buses)

    @cached_property
    def slack(self) -> np.ndarray:
        """Positions of the slack buses, ``(number of slacks,)``."""
        return self._of_kind("slack")

    @cached_property
    def sources(self) -> np.ndarray:
        """Positions of the sources, ``(number of sources,)``."""
        return self._of_kind("source")

    @cached_property
    def loads(self) -> np.ndarray:
        """Positions of the load buses, ``(number of loads,)``."""
        return self._of_kind("load")

    @property
    def slack_voltage(self) -> np.ndarray:
        """Pinned complex voltages of the slack buses, p.u., ``(number of slacks,)``."""
        at = self.slack
        return self.buses.voltage[at] * np.exp(1j * self.buses.angle[at])

    @property
    def state_names(self) -> tuple[str, ...]:
        """``Re v_1 … Im v_N`` with the buses' own numbers, ``(2 N,)``."""
        return tuple(f"{part} v_{n}" for part in ("Re", "Im") for n in self.buses.number)

    def index(self, bus: int | str) -> int:
        """The position of a bus given by its number or its name."""
        if isinstance(bus, int | np.integer):
            found = np.flatnonzero(self.buses.number == bus)
            if len(found):
                return int(found[0])
        elif self.buses.name.count(bus) == 1:
            return self.buses.name.index(bus)
        elif self.buses.name.count(bus) > 1:
            raise GridError(f"{self.name} has several buses named {bus!r}; use the bus number")
        elif bus.strip().isdigit():
            return self.index(int(bus))
        known = [str(n) for n in self.buses.number] + [name for name in self.buses.name if name]
        raise GridError(f"{self.name} has no bus {bus!r}{nearest(str(bus), known)}")

    def bus_label(self, position: int) -> str:
        """``bus 7 ('north')``: what messages call the bus at a position."""
        return self.buses.label(position)

    def branch_label(self, position: int) -> str:
        """``branch 4–7 (case.m, line 42)``: what messages call the branch at a position."""
        ends = [
            str(self.buses.number[k]) if 0 <= k < self.size else f"(position {k})"
            for k in (self.branches.start[position], self.branches.end[position])
        ]
        where = self.branches.where[position] or f"row {position + 1} of the branch table"
        return f"branch {ends[0]}–{ends[1]} ({where})"

    def admittance(self) -> csr_array:
        """The nodal admittance matrix Y, p.u.: injected currents are ``Y @ v``.

        Without shunts, taps and charging this is the paper's admittance Laplacian. Real and
        imaginary part share one sparsity pattern: a branch fills it even where its value is 0.

        **Returns:** sparse CSR, complex, ``(N, N)``; computed once, do not change it.
        """
        return self._admittance

    @cached_property
    def _admittance(self) -> csr_array:
        from scipy.sparse import coo_array

        line, n = self.branches, self.size
        ratio = line.tap * np.exp(1j * line.shift)
        values = [
            (line.admittance + line.charging_start) / np.abs(ratio) ** 2,
            -line.admittance / np.conj(ratio),
            -line.admittance / ratio,
            line.admittance + line.charging_end,
            self.buses.shunt,
        ]
        ends, every = (line.start, line.end), np.arange(n)
        rows = [ends[0], ends[0], ends[1], ends[1], every]
        columns = [ends[0], ends[1], ends[0], ends[1], every]
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        matrix = coo_array(entries, shape=(n, n)).tocsr()
        matrix.sort_indices()
        return matrix

    def injected_power(self, voltage: np.ndarray) -> np.ndarray:
        """Complex power injected at each bus, s = v · conj(Y v), p.u.

        **Arguments:**

        - `voltage`: complex voltages, p.u., ``(..., N)``.

        **Returns:** ``(..., N)``; the real part is active, the imaginary part reactive power.
        """
        voltage = np.asarray(voltage, complex)
        flat = voltage.reshape(-1, self.size)
        current = (self.admittance() @ flat.T).T.reshape(voltage.shape)
        return voltage * np.conj(current)

    def voltage(self, state: np.ndarray) -> np.ndarray:
        """Complex voltages ``(..., N)`` of states ``(..., 2 N)``."""
        state = np.asarray(state)
        return state[..., : self.size] + 1j * state[..., self.size :]

    def state(self, voltage: np.ndarray) -> np.ndarray:
        """States ``(..., 2 N)`` of complex voltages ``(..., N)``."""
        voltage = np.asarray(voltage, complex)
        return np.concatenate([voltage.real, voltage.imag], axis=-1)

    def with_reactive(self, reactive: np.ndarray) -> Grid:
        """The same grid with these reactive set-points of the sources, ``(number of sources,)``."""
        every = self.buses.reactive.copy()
        every[self.sources] = reactive
        return replace(self, buses=replace(self.buses, reactive=every))

    def _of_kind(self, kind: str) -> np.ndarray:
        return np.array([k for k, of in enumerate(self.buses.kind) if of == kind], dtype=np.int64)

    @classmethod
    def from_tables(
        cls,
        buses: Iterable[Mapping[str, Any]] | Any,
        branches: Iterable[Mapping[str, Any]] | Any,
        *,
        name: str = "grid",
        base_mva: float = 100.0,
        citation: str = "",
    ) -> Grid:
        """A grid written by hand: lists of dicts, or pandas DataFrames, in p.u.

        **Arguments:**

        - `buses`: rows with ``number``, ``kind`` and, as the kind asks, ``active``, ``reactive``
            (injections: loads negative), ``voltage``; optional ``angle`` (rad), ``shunt``
            (complex), ``name``.
        - `branches`: rows with ``start``, ``end`` (bus numbers) and either ``admittance`` (complex)
            or ``resistance`` and ``reactance``; optional ``charging`` (total susceptance), ``tap``,
            ``shift`` (rad).

        **Raises:** [`pnde.errors.GridError`][], naming the row.
        """
        bus_keys = (
            "number", "kind", "active", "reactive", "voltage", "angle", "shunt", "name",
        )  # fmt: skip
        bus_rows = _rows(buses, "bus", bus_keys, ("number", "kind"))
        branch_keys = (
            "start", "end", "admittance", "resistance", "reactance", "charging", "tap", "shift",
        )  # fmt: skip
        branch_rows = _rows(branches, "branch", branch_keys, ("start", "end"))
        missing = {"angle": 0.0, "shunt": 0.0, "name": ""}
        column = {
            key: [row.get(key, missing.get(key, np.nan)) for row in bus_rows] for key in bus_keys
        }
        table = Buses(**{key: column[key] for key in bus_keys})  # type: ignore[arg-type]
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
        return cls(table, lines, name=name, base_mva=base_mva, citation=citation)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, fit for JSON; `from_dict` reads them back exactly."""
        bus, line = self.buses, self.branches
        return {
            "name": self.name,
            "base_mva": float(self.base_mva),
            "citation": self.citation,
            "buses": {
                "number": bus.number.tolist(),
                "kind": list(bus.kind),
                "name": list(bus.name),
                **{key: _plain(getattr(bus, key)) for key in _BUS_VALUES},
            },
            "branches": {
                "start": line.start.tolist(),
                "end": line.end.tolist(),
                "where": list(line.where),
                **{key: _plain(getattr(line, key)) for key in _BRANCH_VALUES},
            },
        }

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Grid:
        """The inverse of `to_dict`."""
        bus, line = dict(tables["buses"]), dict(tables["branches"])
        bus.update({key: _array(bus[key]) for key in _BUS_VALUES})
        line.update({key: _array(line[key]) for key in _BRANCH_VALUES})
        return cls(
            Buses(**bus),
            Branches(**line),
            name=tables["name"],
            base_mva=tables["base_mva"],
            citation=tables["citation"],
        )


_BUS_VALUES = ("active", "reactive", "voltage", "angle", "shunt")
_BRANCH_VALUES = ("admittance", "tap", "shift", "charging_start", "charging_end")


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
    optional = ("admittance", "charging", "tap", "shift", "shunt", "angle", "name")
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


def _plain(values: np.ndarray) -> list[Any]:
    """Lists for JSON: None for NaN (JSON has none), [re, im] for complex numbers."""
    if np.iscomplexobj(values):
        return [[float(z.real), float(z.imag)] for z in values]
    return [None if np.isnan(x) else float(x) for x in values]


def _array(values: Sequence[Any]) -> np.ndarray:
    if values and isinstance(values[0], list | tuple):
        return np.array([complex(*pair) for pair in values])
    return np.array([np.nan if x is None else x for x in values], float)


def _set(target: Any, key: str, value: Any) -> None:
    object.__setattr__(target, key, value)


def _freeze(target: Any, key: str, value: Any, dtype: Any, size: int) -> None:
    """Store a read-only copy of shape ``(size,)``: the tables are shared, nobody may edit them."""
    try:
        array = np.array(value, dtype=dtype, ndmin=1)
    except (TypeError, ValueError) as error:
        raise GridError(f"{key} holds something that is not a number ({error})") from error
    if array.shape != (size,):
        raise GridError(f"{key} has shape {array.shape}; it needs one value a row, ({size},)")
    array.flags.writeable = False
    _set(target, key, cast(Any, array))
