"""Buses between which there is no impedance, made one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pnde.errors import GridError, listed
from pnde.grids.case import (
    BRANCH_STATUS,
    BS,
    BUS_NUMBER,
    BUS_TYPE,
    FROM,
    GEN_BUS,
    GS,
    PD,
    QD,
    SHIFT,
    TAP,
    TO,
    B,
    CaseTables,
)
from pnde.grids.validate import islands

log = logging.getLogger(__name__)

_ISOLATED = 4


def fused(case: CaseTables, pairs: Sequence[tuple[int, int]]) -> CaseTables:
    """The case with the buses of each pair as one, which keeps the number of the foremost.

    Foremost is a slack before a generator before a load, then the first in the table. Loads, shunts
    and machines of the others move to it. A branch that would begin and end at one bus goes; its
    charging stays. Pairs with a bus that is out of service are left out.

    **Arguments:**

    - `case`: the tables.
    - `pairs`: numbers of buses.

    **Raises:** [`pnde.errors.GridError`][] where a transformer lies across such a pair.
    """
    number = case.bus[:, BUS_NUMBER].astype(int)
    position = {int(n): k for k, n in enumerate(number)}
    ends = [(position[a], position[b]) for a, b in pairs]
    kind = case.bus[:, BUS_TYPE]
    ends = [(a, b) for a, b in ends if _ISOLATED not in (kind[a], kind[b])]
    if not ends:
        return case
    group = islands(len(number), *np.array(ends, dtype=int).T)
    bus = case.bus.copy()
    current = case.current.copy() if case.current is not None else None
    head = np.arange(len(number))
    for first in np.unique(group[np.array(ends).ravel()]):
        members = np.flatnonzero(group == first)
        ranked = sorted(members, key=lambda k: (-kind[k], k))
        head[members] = ranked[0]
        bus[ranked[0]][[PD, QD, GS, BS]] = case.bus[members][:, [PD, QD, GS, BS]].sum(axis=0)
        if current is not None and case.current is not None:
            current[ranked[0]] = case.current[members].sum()
    gone = np.flatnonzero(head != np.arange(len(number)))
    told = [f"{number[k]} to {number[head[k]]}" for k in gone.tolist()]
    log.info("%s: no impedance joins the buses %s", case.name, listed(told))

    def moved(column: np.ndarray) -> np.ndarray:
        return np.array([number[head[position[int(n)]]] if n in position else n for n in column])

    gen, branch = case.gen.copy(), case.branch.copy()
    gen[:, GEN_BUS] = moved(gen[:, GEN_BUS])
    branch[:, FROM], branch[:, TO] = moved(branch[:, FROM]), moved(branch[:, TO])
    loop = (branch[:, FROM] == branch[:, TO]) & (case.branch[:, FROM] != case.branch[:, TO])
    for k in np.flatnonzero(loop & (branch[:, BRANCH_STATUS] > 0)).tolist():
        if branch[k, TAP] not in (0, 1) or branch[k, SHIFT]:
            raise GridError(
                f"the transformer of {case.branch_where[k]} lies across buses "
                f"{case.branch[k, FROM]:g} and {case.branch[k, TO]:g}, which are joined without "
                "impedance; remove one of the two"
            )
        bus[head[position[int(case.branch[k, FROM])]], BS] += branch[k, B] * case.base_mva
    kept, lines = (
        np.setdiff1d(np.arange(len(number)), gone).tolist(),
        np.flatnonzero(~loop).tolist(),
    )
    return replace(
        case,
        bus=bus[kept],
        gen=gen,
        branch=branch[lines],
        bus_where=[case.bus_where[k] for k in kept],
        branch_where=[case.branch_where[k] for k in lines],
        bus_name=[case.bus_name[k] for k in kept] if len(case.bus_name) else (),
        current=None if current is None else current[kept],
        charging=None if case.charging is None else case.charging[lines],
    )
