"""Grids from pandapower nets (an optional extra: ``pip install pnde[grids]``)."""

from __future__ import annotations

import copy
import logging
import warnings
from typing import Any

import numpy as np

from pnde.errors import DataError, GridError, brief, listed
from pnde.grids.case import (
    BRANCH_STATUS,
    BS,
    BUS_TYPE,
    GEN_BUS,
    GS,
    MBASE,
    QMAX,
    QMIN,
    VA,
    VM,
    B,
    CaseTables,
    build,
)
from pnde.grids.grid import Grid
from pnde.grids.pandapower.elements import Extra, prepared

log = logging.getLogger(__name__)

_SLACK = 3
#: Limits of reactive power that pandapower writes for none, Mvar.
_NO_LIMIT = 1e8


def needed() -> Any:
    """The package pandapower.

    **Raises:** [`pnde.errors.DataError`][] where it is not installed.
    """
    try:
        import pandapower
    except ImportError as error:
        raise DataError(
            "this needs pandapower, which is not installed; run: pip install 'pnde[grids]'"
        ) from error
    return pandapower


def from_pandapower(net: Any, *, name: str | None = None) -> Grid:
    """A grid from a pandapower net, through pandapower's own conversion to MATPOWER's tables.

    External grids become the slack, generators sources, everything else a load; see
    [`pnde.grids.from_ppc`][]. The net itself is not changed. Bus numbers are the index of
    ``net.bus``; of buses joined by a closed switch the first one stands for all. Options of the
    load flow that the net stores are followed. DC lines are generators, SVCs sources of reactive
    power. Of several loads at a bus each has its own parts of constant power, current and
    impedance (pandapower's load flow gives all of them the mean).

    **Arguments:**

    - `net`: a ``pandapowerNet``.
    - `name`: of the grid; by default the net's own.

    **Raises:** [`pnde.errors.DataError`][] where pandapower is missing or cannot convert the net,
    [`pnde.errors.GridError`][] where the grid is wrong or has what is not modelled.
    """
    needed()
    net = copy.deepcopy(net)
    title = name or str(net.get("name") or "") or "pandapower net"
    extra, ppc = _converted(net, title)
    bus, branch = np.real(ppc["bus"]).astype(float), np.real(ppc["branch"]).astype(float)
    gen = np.real(ppc["gen"]).astype(float)
    number, names, where = _originals(net, bus, gen, title)
    current = _add_parts(net, bus, extra)
    _take_results(net, bus)
    _clean_generators(net, bus, gen)
    bus[:, 0] = number
    gen[:, GEN_BUS] = number[gen[:, GEN_BUS].astype(int)]
    ends = branch[:, :2].astype(int)
    branch[:, :2] = number[ends]
    used = branch[:, BRANCH_STATUS] > 0

    def beside(key: str) -> np.ndarray:
        """What pandapower knows of a branch beyond MATPOWER's columns; absent where all zero."""
        return np.real(np.asarray(ppc.get(key, np.zeros(len(branch)))))

    turned = (beside("branch_r_asym") != 0) | (beside("branch_x_asym") != 0)
    for k in np.flatnonzero(used & turned).tolist():
        raise GridError(
            f"the impedance between buses {branch[k, 0]:g} and {branch[k, 1]:g} of {title} differs "
            "with its direction, which pnde does not model; give it one impedance"
        )
    at_start = beside("branch_g") + 1j * branch[:, B]
    at_end = at_start + beside("branch_g_asym") + 1j * beside("branch_b_asym")
    return build(
        CaseTables(
            bus,
            gen,
            branch,
            float(ppc["baseMVA"]),
            title,
            where,
            [f"generator {k + 1} of {title}" for k in range(len(gen))],
            [f"branch {k + 1} of {title}" for k in range(len(branch))],
            bus_name=names,
            charging=np.stack([at_start, at_end], axis=1),
            current=current,
        )
    )


def _converted(net: Any, title: str) -> tuple[Extra, Any]:
    """What stands beside the tables, and the tables; `net` is changed."""
    from pandapower.converter.pypower.to_ppc import to_ppc

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas and pandapower speak of their own columns
            extra = prepared(net, title)
            return extra, to_ppc(net, init="flat", mode="pf", **extra.options)
    except (GridError, DataError):
        raise
    except (Exception, RecursionError) as error:  # pandapower raises whatever it trips over
        raise DataError(
            f"pandapower cannot convert {title} ({type(error).__name__}: {brief(error, 120)}); make "
            "pandapower.runpp(net) work first"
        ) from None


def _originals(
    net: Any, bus: np.ndarray, gen: np.ndarray, title: str
) -> tuple[np.ndarray, list[str], list[str]]:
    """Numbers and names of the net's buses for each bus of its conversion.

    Buses that the conversion invents (the star of a three-winding transformer) get new numbers.

    **Raises:** [`pnde.errors.GridError`][] naming a bus with a load or a generator that nothing
    supplies; those with nothing are left out, as pandapower does.
    """
    lookup, size = net["_pd2ppc_lookups"]["bus"], len(bus)
    running = net.bus.index[net.bus.in_service.astype(bool)]
    lost = [index for index in running if not 0 <= lookup[index] < size]
    for index in lost:
        if _carries(net, index):
            name = net.bus.at[index, "name"]
            raise GridError(
                f"bus {index}{f' ({name!r})' if isinstance(name, str) else ''} is cut off: nothing "
                "in service joins it to an external grid; connect it, or set its in_service to False"
            )
    if lost:
        log.warning("%s: left out the buses %s, which nothing joins", title, listed(lost))
    number = np.full(size, -1)
    names, where = [""] * size, [""] * size
    for index in sorted(net.bus.index, reverse=True):  # the lowest of fused buses wins
        at = int(lookup[index])
        if 0 <= at < size:
            number[at] = index
            label = net.bus.at[index, "name"]
            names[at] = "" if label is None or label != label else str(label)
            where[at] = f"net.bus.loc[{index}]"
    fresh = int(max(net.bus.index, default=-1)) + 1
    for at in np.flatnonzero(number < 0).tolist():
        number[at], names[at], where[at] = fresh, "", f"auxiliary bus {fresh}"
        fresh += 1
    return number, names, where


def _carries(net: Any, index: int) -> bool:
    """Whether an element in service at this bus gives or takes power."""
    for table in ("load", "sgen", "gen", "motor", "storage", "shunt", "ward", "xward",
                  "asymmetric_load", "asymmetric_sgen"):  # fmt: skip
        rows = net[table]
        if len(rows) and (rows["in_service"].astype(bool) & (rows["bus"] == index)).any():
            return True
    return False


def _add_parts(net: Any, bus: np.ndarray, extra: Extra) -> np.ndarray:
    """Add constant impedances to the shunts; returns what constant currents draw, MVA."""
    lookup = net["_pd2ppc_lookups"]["bus"]
    current = np.zeros(len(bus), complex)
    for index, power in extra.current.items():
        if 0 <= lookup[index] < len(bus):
            current[lookup[index]] += power
    for index, power in extra.impedance.items():
        if 0 <= lookup[index] < len(bus):
            bus[lookup[index], GS] += power.real
            bus[lookup[index], BS] -= power.imag
    return current


def _take_results(net: Any, bus: np.ndarray) -> None:
    """The voltages of the net's last load flow, as those that a load flow may start from."""
    kept = bus[:, BUS_TYPE] == _SLACK
    bus[~kept, VM], bus[~kept, VA] = np.nan, np.nan
    result = net["res_bus"] if "res_bus" in net else None
    if result is None or not {"vm_pu", "va_degree"} <= set(result.columns):
        return
    lookup = net["_pd2ppc_lookups"]["bus"]
    for index in net.bus.index.intersection(result.index):
        at = int(lookup[index])
        if 0 <= at < len(bus) and not kept[at]:
            bus[at, [VM, VA]] = result.loc[index, ["vm_pu", "va_degree"]].astype(float)


def _clean_generators(net: Any, bus: np.ndarray, gen: np.ndarray) -> None:
    """Take out what pandapower fills in: limits of external grids, limits for none, ratings."""
    none = np.abs(gen[:, [QMAX, QMIN]]) >= _NO_LIMIT
    gen[:, [QMAX, QMIN]] = np.where(none, np.nan, gen[:, [QMAX, QMIN]])
    at = gen[:, GEN_BUS].astype(int)
    gen[np.ix_(bus[at, BUS_TYPE] == _SLACK, [QMAX, QMIN])] = np.nan
    lookup = net["_pd2ppc_lookups"]["bus"]
    rated = {int(lookup[index]) for index in net.gen["bus"][net.gen["sn_mva"] > 0]}
    gen[[k not in rated for k in at.tolist()], MBASE] = 0.0
