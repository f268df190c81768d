"""From the fields of MATPOWER's case structure to a `Grid`, whatever file they stood in."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pnde.errors import DataError, GridError, brief, listed, shown
from pnde.grids.case import (
    BUS_NUMBER,
    BUS_TYPE,
    COLUMNS,
    GEN_BUS,
    GEN_STATUS,
    MBASE,
    PG,
    QG,
    QMAX,
    QMIN,
    VG,
    CaseTables,
    build,
)  # fmt: skip
from pnde.grids.grid import Grid

log = logging.getLogger(__name__)

# Costs, names, sensitivities, results and options of an optimal power flow: no bearing on a load
# flow (MATPOWER User's Manual, appendix B, and the extensions of chapter 7).
_WITHOUT_BEARING = frozenset(
    "A Cw H N areas bus_name branch_name branch_type case contab dclinecost et f fparm gen_name "
    "genfuel gencost gentype if iflims l iterations lin nle nli om order raw reserves scenarios "
    "softlims success u user userfcn var version xgd xgd_table z0 zl zu baseMVA bus gen branch "
    "dcline".split()
)
#: Tables of other programs that carry power or join buses.
POWER = {
    "busdc": "DC buses", "convdc": "converters", "branchdc": "DC branches", "bus_dc": "DC buses",
    "branch_dc": "DC branches", "conv": "converters", "storage": "storage units",
    "switch": "switches", "load": "loads", "shunt": "shunts", "facts": "FACTS devices",
    "svc": "SVCs", "tcsc": "TCSCs", "bus3p": "three-phase buses", "line3p": "three-phase lines",
    "xfmr3p": "three-phase transformers", "gen3p": "three-phase generators",
    "load3p": "three-phase loads", "shunt3p": "three-phase shunts", "buslink": "links to phases",
}  # fmt: skip

# Columns of the DC line table (MATPOWER User's Manual, appendix B).
_FROM, _TO, _STATUS, _PF, _PT, _QF, _QT, _VF, _VT = range(9)
_QMINF, _QMAXF, _QMINT, _QMAXT, _LOSS0, _LOSS1 = range(11, 17)


def from_ppc(ppc: Mapping[str, Any], *, name: str = "ppc") -> Grid:
    """A grid from a PYPOWER case: a dict of MATPOWER's tables ``baseMVA``, ``bus``, ``gen``,
    ``branch``, and perhaps ``dcline``.

    Sources stand where generators are in service (MATPOWER's bus types 2), the slack stays the
    slack, loads are everywhere else. Powers at one bus are netted; shunts, taps, phase shifts and
    line charging go to the admittance matrix. The sources' reactive set-points are left open: they
    come from the load flow. A DC line in service is a generator at either end, as MATPOWER's
    ``toggle_dcline`` makes it. Areas, costs and limits of branches have no bearing.

    **Raises:** [`pnde.errors.DataError`][] for tables that cannot be read and
    [`pnde.errors.GridError`][] for a grid that is wrong, naming the row.
    """
    return grid_of_fields(ppc, name, lambda table, row: f"row {row + 1} of {name}'s {table} table")


def grid_of_fields(
    fields: Mapping[str, Any], name: str, where: Callable[[str, int], str], file: str = ""
) -> Grid:
    """The grid of MATPOWER's case structure.

    **Arguments:**

    - `fields`: ``baseMVA``, ``bus``, ``gen``, ``branch``; others are used, named, or refused.
    - `name`: of the grid.
    - `where`: where a row of a table stands, counted from 0, for messages.
    - `file`: what messages call the case; its name by default.
    """
    file = file or name
    for key in COLUMNS:
        if key not in fields:
            raise DataError(
                f"{file} has no table {key}; a case of MATPOWER needs baseMVA, bus, gen and branch "
                "(save it with MATPOWER's savecase)"
            )
    if "baseMVA" not in fields:
        raise DataError(f"{file} has no baseMVA; add the power base in MVA, such as 100")
    version = fields.get("version", "2")
    if isinstance(version, str) and version.strip() not in ("1", "2"):
        raise DataError(
            f"{file} is a MATPOWER case of version {shown(version)}; pnde reads versions 1 and 2 "
            "(save it with MATPOWER's savecase)"
        )
    bus, gen, branch = (_table(fields[key], key, COLUMNS[key], file) for key in COLUMNS)
    places = {
        key: [where(key, k) for k in range(len(table))]
        for key, table in (("bus", bus), ("gen", gen), ("branch", branch))
    }
    if "dcline" in fields and np.size(fields["dcline"]):
        lines = _table(fields["dcline"], "dcline", _VT + 1, file)
        running = np.flatnonzero(lines[:, _STATUS] > 0)
        if len(running):
            bus, ends = _dc_lines(bus, lines[running], gen.shape[1], [
                where("dcline", int(k)) for k in running
            ])  # fmt: skip
            # In front: of several set-points at a bus the last one counts, which is the machine's.
            gen = np.concatenate([ends, gen])
            places["gen"] = [where("dcline", int(k)) for k in running] * 2 + places["gen"]
            log.warning(
                "%s: its %d DC lines in service are generators at their ends, as MATPOWER's "
                "toggle_dcline makes them (without it, runpf leaves them out)",
                file,
                len(running),
            )
    _others(fields, file)
    return build(
        CaseTables(
            bus,
            gen,
            branch,
            _base(fields["baseMVA"], file),
            name,
            places["bus"],
            places["gen"],
            places["branch"],
            bus_name=_names(fields.get("bus_name"), len(bus)),
        )
    )


def _base(value: Any, file: str) -> float:
    try:
        return float(np.squeeze(np.asarray(value, float)))
    except (TypeError, ValueError):
        raise DataError(f"{file}: baseMVA is {shown(value)}; give a number, such as 100") from None


def _table(value: Any, key: str, least: int, file: str) -> np.ndarray:
    try:
        table = np.array(value, float, ndmin=2)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the {key} table of {file} is not a matrix of numbers ({brief(error, 80)})"
        ) from None
    if table.size == 0:
        return np.zeros((0, least))
    if table.ndim != 2 or table.shape[1] < least:
        raise DataError(
            f"the {key} table of {file} has {table.shape[-1]} columns; MATPOWER's format needs at "
            f"least {least}"
        )
    return table


def _names(value: Any, count: int) -> list[str]:
    values = getattr(value, "values", value)
    names = [str(x) for x in np.ravel(np.asarray(values, object))] if values is not None else []
    return names if len(names) == count else []


def _dc_lines(
    bus: np.ndarray, lines: np.ndarray, width: int, where: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """The bus table with the lines' ends as generator buses, and two generator rows a line.

    As MATPOWER's ``toggle_dcline`` does it: the first end draws PF, the second one gives
    PF - LOSS0 - LOSS1 PF, and either keeps its voltage within its reactive limits.
    """
    known = set(bus[:, BUS_NUMBER].tolist())
    for line, place in zip(lines, where, strict=True):
        for end in (line[_FROM], line[_TO]):
            if end not in known:
                raise GridError(
                    f"the DC line of {place} ends at bus {end:g}, which is not in the bus table; "
                    "add the bus or remove the line"
                )
    wide = np.zeros((len(lines), max(_LOSS1 + 1, lines.shape[1])))
    wide[:, : lines.shape[1]] = lines
    drawn = wide[:, _PF]
    given = drawn - wide[:, _LOSS0] - wide[:, _LOSS1] * drawn
    ends = np.zeros((2 * len(lines), width))
    for row, (at, power, reactive, voltage, lowest, highest) in enumerate(
        [(_FROM, -drawn, _QF, _VF, _QMINF, _QMAXF), (_TO, given, _QT, _VT, _QMINT, _QMAXT)]
    ):
        end = ends[row * len(lines) : (row + 1) * len(lines)]
        end[:, GEN_BUS], end[:, PG], end[:, QG] = wide[:, at], power, wide[:, reactive]
        end[:, VG], end[:, GEN_STATUS], end[:, MBASE] = wide[:, voltage], 1, 0
        bounded = lines.shape[1] > highest
        end[:, QMIN] = wide[:, lowest] if bounded else -np.inf
        end[:, QMAX] = wide[:, highest] if bounded else np.inf
    bus = bus.copy()
    at_end = np.isin(bus[:, BUS_NUMBER], wide[:, [_FROM, _TO]]) & (bus[:, BUS_TYPE] == 1)
    bus[at_end, BUS_TYPE] = 2
    return bus, ends


def _others(fields: Mapping[str, Any], file: str) -> None:
    """Refuse tables that carry power, name the rest."""
    rest = [key for key in fields if key not in _WITHOUT_BEARING and not key.startswith("_")]
    for key in rest:
        rows = getattr(fields[key], "values", fields[key])
        if key in POWER and np.size(rows):
            raise GridError(
                f"{file} has {POWER[key]} (the table {key}), which pnde does not model; replace "
                "them by generators and loads, or empty the table"
            )
    unknown = sorted(key for key in rest if key not in POWER)
    if unknown:
        log.warning("%s: ignored the tables %s, which are not MATPOWER's", file, listed(unknown))
    idle = sorted(set(fields) & _WITHOUT_BEARING - {*COLUMNS, "baseMVA", "bus_name", "dcline"})
    if idle:
        log.info("%s: %s have no bearing on a load flow", file, listed(idle))
