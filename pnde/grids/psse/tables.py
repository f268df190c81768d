"""MATPOWER's tables as they grow while a PSS/E file is read."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np

from pnde.errors import GridError
from pnde.grids.case import COLUMNS, CaseTables
from pnde.grids.fusing import fused
from pnde.grids.psse.record import Record
from pnde.grids.psse.sections import RawFile

log = logging.getLogger(__name__)

ISOLATED = 4


class Tables:
    """Buses, generators and branches so far.

    **Arguments:**

    - `raw`: the file.

    **Attributes:**

    - `at`: position of a bus by its number.
    - `bus`, `gen`, `branch`: rows in MATPOWER's order.
    - `current`: what constant-current loads draw at 1 p.u., MVA, one a bus.
    - `base_kv`: one a bus.
    - `joined`: pairs of bus numbers between which there is no impedance.
    - `noted`: what is not modelled as the file has it: how often, by sentence.
    """

    def __init__(self, raw: RawFile):
        self.raw, self.base_mva = raw, raw.base_mva
        self.at: dict[int, int] = {}
        self.bus: list[list[float]] = []
        self.bus_name: list[str] = []
        self.bus_where: list[str] = []
        self.base_kv: list[float] = []
        self.current: list[complex] = []
        self.gen: list[list[float]] = []
        self.gen_where: list[str] = []
        self.branch: list[list[float]] = []
        self.branch_where: list[str] = []
        self.joined: list[tuple[int, int]] = []
        self.noted: Counter[str] = Counter()

    def add_bus(
        self, number: int, kind: int, v: float, angle: float, name: str, kv: float, where: str
    ) -> None:
        """A bus without load; `v` in p.u., `angle` in degrees."""
        self.at[number] = len(self.bus)
        self.bus.append([number, kind, 0.0, 0.0, 0.0, 0.0, 1, v, angle])
        self.bus_name.append(name)
        self.bus_where.append(where)
        self.base_kv.append(kv)
        self.current.append(0.0)

    def position(self, record: Record, number: int, what: str) -> int:
        """Where a bus stands.

        **Raises:** [`pnde.errors.GridError`][] for a number that is not in the bus data.
        """
        if number not in self.at:
            raise GridError(
                f"the {what} of {record.where} is at bus {number}, which is not in the bus data; "
                "add the bus or remove the record"
            )
        return self.at[number]

    def is_isolated(self, at: int) -> bool:
        """Whether a bus is out of service (IDE = 4)."""
        return self.bus[at][1] == ISOLATED

    def add_demand(self, at: int, power: complex) -> None:
        """A load of constant power, MVA."""
        self.bus[at][2] += power.real
        self.bus[at][3] += power.imag

    def add_shunt(self, at: int, power: complex) -> None:
        """An admittance to ground, MVA at 1 p.u.: positive for a conductance and a capacitor."""
        self.bus[at][4] += power.real
        self.bus[at][5] += power.imag

    def add_generator(
        self,
        record: Record,
        number: int,
        power: complex,
        voltage: float,
        limits: tuple[float, float],
        rating: float,
        status: int,
    ) -> None:
        """A machine: MVA, p.u., Mvar (lowest, highest), MVA."""
        lowest, highest = limits
        self.gen.append([number, power.real, power.imag, highest, lowest, voltage, rating, status])
        self.gen_where.append(record.where)

    def keep_voltage(
        self, record: Record, number: int, power: complex, voltage: float,
        limits: tuple[float, float],
    ) -> None:  # fmt: skip
        """A converter or compensator that keeps the voltage of its bus, where no machine does."""
        at = self.at[number]
        if self.bus[at][1] == 1:
            self.bus[at][1] = 2
        # In front: of several set-points at a bus the last one counts, which is the machine's.
        self.gen.insert(0, [number, power.real, power.imag, limits[1], limits[0], voltage, 0.0, 1])
        self.gen_where.insert(0, record.where)

    def add_branch(
        self, record: Record, start: int, end: int, z: complex, b: float, tap: float,
        shift: float, status: int,
    ) -> None:  # fmt: skip
        """A line or transformer: p.u., turns ratio and degrees at the start."""
        self.branch.append([start, end, z.real, z.imag, b, 0, 0, 0, tap, shift, status])
        self.branch_where.append(record.where)

    def note(self, sentence: str) -> None:
        """Count something that the log names once at the end."""
        self.noted[sentence] += 1

    def case(self, name: str) -> CaseTables:
        """The finished tables; says what was noted."""
        for sentence, count in self.noted.items():
            log.warning("%s: %d %s", self.raw.file, count, sentence)
        case = CaseTables(
            np.array(self.bus, float).reshape(-1, COLUMNS["bus"]),
            np.array(self.gen, float).reshape(-1, COLUMNS["gen"]),
            np.array(self.branch, float).reshape(-1, COLUMNS["branch"]),
            self.base_mva,
            name,
            self.bus_where,
            self.gen_where,
            self.branch_where,
            bus_name=self.bus_name,
            current=np.array(self.current, complex),
        )
        return fused(case, self.joined)
