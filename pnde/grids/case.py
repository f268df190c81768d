"""From MATPOWER's tables to a `Grid`: the one path that every reader takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pnde.errors import DataError, GridError
from pnde.grids.grid import Grid
from pnde.grids.rows import unknown_bus
from pnde.grids.tables import Branches, Buses
from pnde.grids.validate import islands

log = logging.getLogger(__name__)

# Columns of MATPOWER's case format, version 2 (MATPOWER User's Manual, appendix B).
BUS_NUMBER, BUS_TYPE, PD, QD, GS, BS, VM, VA = 0, 1, 2, 3, 4, 5, 7, 8
GEN_BUS, PG, QG, QMAX, QMIN, VG, MBASE, GEN_STATUS = range(8)
FROM, TO, R, X, B, TAP, SHIFT, BRANCH_STATUS = 0, 1, 2, 3, 4, 8, 9, 10
COLUMNS = {"bus": 9, "gen": 8, "branch": 11}

_LOAD, _SOURCE, _SLACK, _ISOLATED = 1, 2, 3, 4
_LARGEST_NUMBER = 10**15  # of a bus; a double knows no larger ones apart


@dataclass(frozen=True, eq=False)
class CaseTables:
    """MATPOWER's tables, whatever file they came from, and where each row stood.

    **Arguments:**

    - `bus`, `gen`, `branch`: as in MATPOWER's format, one row an element.
    - `base_mva`: the power base, MVA.
    - `name`: of the case.
    - `bus_where`, `gen_where`, `branch_where`: "case.m, line 42", one a row.
    - `bus_name`: one a row of `bus`, or empty.
    - `charging`: complex total charging of each branch at (start, end), ``(L, 2)``; by default
        ``1j * B`` at both ends.
    - `current`: complex power that constant-current loads draw at 1 p.u., MVA, one a row of `bus`.
    """

    bus: np.ndarray
    gen: np.ndarray
    branch: np.ndarray
    base_mva: float
    name: str
    bus_where: Sequence[str]
    gen_where: Sequence[str]
    branch_where: Sequence[str]
    bus_name: Sequence[str] = ()
    charging: np.ndarray | None = None
    current: np.ndarray | None = None


def build(case: CaseTables) -> Grid:
    """The grid of a case; the rules are those of [`pnde.grids.from_ppc`][]."""
    kept = _kept_buses(case)
    number = case.bus[kept, BUS_NUMBER].astype(int)
    position = {int(n): k for k, n in enumerate(number)}
    every = {int(n) for n in case.bus[:, BUS_NUMBER]}

    demand = case.bus[kept][:, [PD, QD]]
    power = -(demand[:, 0] + 1j * demand[:, 1])
    set_point = case.bus[kept, VM].astype(float)
    generators = _add_generators(case, position, every, power, set_point)
    running = np.flatnonzero((case.gen[:, GEN_STATUS] > 0) & np.isin(case.gen[:, GEN_BUS], number))
    at_bus = np.array([position[int(n)] for n in case.gen[running, GEN_BUS]], dtype=int)

    def of_generators(column: np.ndarray) -> np.ndarray:
        """The sum over the generators in service at each bus; NaN unless each has a value."""
        total = np.bincount(at_bus, column[running], len(kept))
        return np.where(np.isin(np.arange(len(kept)), at_bus), total, np.nan)

    # A machine's base that is the file's is its default, and says nothing of the machine.
    rating = np.where(
        (case.gen[:, MBASE] > 0) & (case.gen[:, MBASE] != case.base_mva),
        case.gen[:, MBASE],
        np.nan,
    )
    stored = case.bus[kept, VM] * np.exp(1j * np.deg2rad(case.bus[kept, VA]))
    branches = _branches(case, position, every)
    kinds = _kinds(case, kept, generators, branches)

    kind = np.array(kinds)
    load, source = kind == "load", kind == "source"
    active, reactive = power.real / case.base_mva, power.imag / case.base_mva
    names = [case.bus_name[k] for k in kept] if len(case.bus_name) == len(case.bus) else ()
    buses = Buses(
        number=number,
        kind=kinds,
        active=np.where(load | source, active, np.nan),
        reactive=np.where(load, reactive, np.nan),
        voltage=np.where(load, np.nan, set_point),
        angle=np.where(kind == "slack", np.deg2rad(case.bus[kept, VA]), 0.0),
        shunt=(case.bus[kept, GS] + 1j * case.bus[kept, BS]) / case.base_mva,
        name=tuple(names),
        current=np.zeros(0) if case.current is None else -case.current[kept] / case.base_mva,
        reactive_min=(of_generators(case.gen[:, QMIN]) - demand[:, 1]) / case.base_mva,
        reactive_max=(of_generators(case.gen[:, QMAX]) - demand[:, 1]) / case.base_mva,
        rating=of_generators(rating) / case.base_mva,
        stored=np.where(np.abs(stored) > 0, stored, np.nan),
    )
    return Grid(
        buses,
        branches,
        name=case.name,
        base_mva=case.base_mva,
        citation=f"read from {case.name}",
    )


def _kept_buses(case: CaseTables) -> np.ndarray:
    numbers, kinds = case.bus[:, BUS_NUMBER], case.bus[:, BUS_TYPE]
    if not np.isfinite(case.base_mva) or case.base_mva <= 0:
        raise DataError(f"{case.name} has a base power of {case.base_mva} MVA; it must be positive")
    for k in range(len(case.bus)):
        if not numbers[k] == np.round(numbers[k]) or abs(numbers[k]) > _LARGEST_NUMBER:  # or NaN
            raise DataError(
                f"{case.bus_where[k]}: the bus number is {numbers[k]}; it must be a whole number"
            )
        if kinds[k] not in (_LOAD, _SOURCE, _SLACK, _ISOLATED):
            raise GridError(
                f"bus {int(numbers[k])} ({case.bus_where[k]}) has the type {kinds[k]:g}; make it 1 "
                "(load), 2 (generator), 3 (slack) or 4 (isolated)"
            )
    seen: dict[int, int] = {}
    for k, n in enumerate(numbers.astype(int)):
        if n in seen:
            raise GridError(
                f"bus number {n} appears twice ({case.bus_where[seen[n]]} and "
                f"{case.bus_where[k]}); number every bus differently"
            )
        seen[int(n)] = k
    isolated = numbers[kinds == _ISOLATED].astype(int)
    if len(isolated):
        log.info("%s: left out the isolated buses %s", case.name, ", ".join(map(str, isolated)))
    return np.flatnonzero(kinds != _ISOLATED)


def _add_generators(
    case: CaseTables,
    position: Mapping[int, int],
    every: set[int],
    power: np.ndarray,
    set_point: np.ndarray,
) -> set[int]:
    """Net the generators in service into `power` (MVA) and `set_point`; returns their positions."""
    found: dict[int, float] = {}
    for k, row in enumerate(case.gen):
        if not row[GEN_STATUS] > 0:
            continue
        if not np.isfinite(row[[GEN_BUS, PG, QG, VG]]).all():
            raise GridError(
                f"the generator at bus {row[GEN_BUS]:g} ({case.gen_where[k]}) has a power or "
                "voltage that is not a finite number; correct it or take it out of service"
            )
        bus = int(row[GEN_BUS])
        if bus not in every:
            raise GridError(
                f"the generator of {case.gen_where[k]} stands at bus {bus}, which is not in the "
                "bus table; add the bus or remove the generator"
            )
        if bus not in position:  # at an isolated bus
            continue
        at = position[bus]
        if at in found and found[at] != row[VG]:
            log.warning(
                "%s: the generators at bus %d have different voltage set-points; %g p.u. of %s "
                "is used",
                case.name,
                bus,
                row[VG],
                case.gen_where[k],
            )
        found[at] = float(row[VG])
        power[at] += row[PG] + 1j * row[QG]
    for at, voltage in found.items():
        set_point[at] = voltage
    return set(found)


def _kinds(
    case: CaseTables, kept: np.ndarray, generators: set[int], branches: Branches
) -> tuple[str, ...]:
    kinds = [
        {_LOAD: "load", _SOURCE: "source", _SLACK: "slack"}[int(x)]
        for x in case.bus[kept, BUS_TYPE]
    ]
    number = case.bus[kept, BUS_NUMBER].astype(int)
    for at, kind in enumerate(kinds):
        if kind == "source" and at not in generators:
            log.info(
                "%s: bus %d has type 2 but no generator in service, so it is a load",
                case.name,
                number[at],
            )
            kinds[at] = "load"
    island = islands(len(kept), branches.start, branches.end)
    for at in [k for k, kind in enumerate(kinds) if kind == "slack" and k not in generators]:
        _move_reference(case.name, at, number, kinds, generators, island)
    return tuple(kinds)


def _move_reference(
    name: str,
    at: int,
    number: np.ndarray,
    kinds: list[str],
    generators: set[int],
    island: np.ndarray,
) -> None:
    """Take the reference from a bus without a generator, as MATPOWER's `bustypes` does.

    The first bus of its island with a generator in service becomes the reference, unless the island
    has another one.
    """
    near = [k for k in range(len(kinds)) if island[k] == island[at]]
    if any(kinds[k] == "slack" and k in generators for k in near):
        log.warning(
            "%s: the reference bus %d has no generator in service, so it is a load; its island "
            "has another reference",
            name,
            number[at],
        )
    else:
        heir = next((k for k in near if kinds[k] == "source"), None)
        if heir is None:
            log.warning(
                "%s: the reference bus %d has no generator in service, and no other bus has one; "
                "it stays the slack",
                name,
                number[at],
            )
            return
        log.warning(
            "%s: the reference bus %d has no generator in service, so it is a load and bus %d, "
            "the first with a generator, is the reference",
            name,
            number[at],
            number[heir],
        )
        kinds[heir] = "slack"
    kinds[at] = "load"


def _branches(case: CaseTables, position: Mapping[int, int], every: set[int]) -> Branches:
    start, end, rows = [], [], []
    for k, row in enumerate(case.branch):
        if not row[BRANCH_STATUS] > 0:
            continue
        label = f"branch {row[FROM]:g}–{row[TO]:g} ({case.branch_where[k]})"
        for bus in (row[FROM], row[TO]):
            if bus not in every:
                raise unknown_bus(label, bus)
        if int(row[FROM]) not in position or int(row[TO]) not in position:
            continue  # at an isolated bus
        if not np.isfinite(row[[R, X, B, TAP, SHIFT]]).all():
            raise GridError(
                f"{label} has a value that is not a finite number; correct it or take the branch "
                "out of service"
            )
        if row[R] == 0 and row[X] == 0:
            raise GridError(
                f"{label} has zero impedance; merge its two buses into one, or give it a small "
                "reactance such as 1e-4 p.u."
            )
        start.append(position[int(row[FROM])])
        end.append(position[int(row[TO])])
        rows.append(k)
    table = case.branch[rows] if rows else np.zeros((0, COLUMNS["branch"]))
    charging = (
        1j * np.stack([table[:, B], table[:, B]], axis=1)
        if case.charging is None
        else case.charging[rows]
    )
    return Branches(
        start=np.array(start, dtype=int),
        end=np.array(end, dtype=int),
        admittance=1 / (table[:, R] + 1j * table[:, X]),
        tap=np.where(table[:, TAP] == 0, 1.0, table[:, TAP]),  # 0 stands for a line
        shift=np.deg2rad(table[:, SHIFT]),
        charging_start=charging[:, 0] / 2,
        charging_end=charging[:, 1] / 2,
        where=tuple(case.branch_where[k] for k in rows),
    )
