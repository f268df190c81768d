"""The grid itself: a bus table, a branch table, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pnde.errors import GridError, nearest
from pnde.grids.tables import KINDS, Branches, Buses

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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

    def __repr__(self) -> str:
        kinds = ", ".join(f"{self.buses.kind.count(kind)} {kind}" for kind in KINDS)
        return (
            f"Grid({self.name!r}, {self.size} buses ({kinds}), {len(self.branches)} branches,\n"
            f"  base {self.base_mva:g} MVA{', ' if self.citation else ''}{self.citation[:80]})"
        )

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

    def constant_power(self, voltage: np.ndarray) -> np.ndarray:
        """What the set-points prescribe: the injected power without that of constant-current loads.

        Arguments and returns as in `injected_power`.
        """
        return self.injected_power(voltage) - np.abs(voltage) * self.buses.current

    def voltage(self, state: np.ndarray) -> np.ndarray:
        """Complex voltages ``(..., N)`` of states ``(..., 2 N)``."""
        state = np.asarray(state)
        return state[..., : self.size] + 1j * state[..., self.size :]

    def state(self, voltage: np.ndarray) -> np.ndarray:
        """States ``(..., 2 N)`` of complex voltages ``(..., N)``."""
        voltage = np.asarray(voltage, complex)
        return np.concatenate([voltage.real, voltage.imag], axis=-1)

    def with_set_points(self, reactive: np.ndarray, voltage: np.ndarray | None = None) -> Grid:
        """The same grid with other set-points of the sources, ``(number of sources,)`` each.

        **Arguments:**

        - `reactive`: reactive powers, p.u.
        - `voltage`: magnitudes, p.u.; by default the present ones.
        """
        powers, voltages = self.buses.reactive.copy(), self.buses.voltage.copy()
        powers[self.sources] = reactive
        if voltage is not None:
            voltages[self.sources] = voltage
        return replace(self, buses=replace(self.buses, reactive=powers, voltage=voltages))

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
            (injections: loads negative), ``voltage``; optional the other columns of
            [`pnde.grids.Buses`][].
        - `branches`: rows with ``start``, ``end`` (bus numbers) and either ``admittance`` (complex)
            or ``resistance`` and ``reactance``; optional ``charging`` (total susceptance), ``tap``,
            ``shift`` (rad).

        **Raises:** [`pnde.errors.GridError`][], naming the row.
        """
        from pnde.grids.rows import tables_of_rows

        tables = tables_of_rows(buses, branches)
        return cls(*tables, name=name, base_mva=base_mva, citation=citation)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, fit for JSON; `from_dict` reads them back exactly."""
        from pnde.grids.record import to_record

        return to_record(self)

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Grid:
        """The inverse of `to_dict`."""
        from pnde.grids.record import of_record

        return cls(**of_record(tables))
