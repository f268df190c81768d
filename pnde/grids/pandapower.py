"""Grids from pandapower nets (an optional extra: ``pip install pnde[grids]``)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from pnde.errors import DataError, GridError
from pnde.grids.case import CaseTables, build
from pnde.grids.grid import Grid

# pandapower appends these to MATPOWER's branch columns (pandapower.pypower.idx_brch): what the
# charging has besides susceptance, and how its two ends differ.
_R_ASYM, _X_ASYM, _G, _G_ASYM, _B_ASYM = 21, 22, 23, 24, 25
_B = 4


def from_pandapower(net: Any, *, name: str | None = None) -> Grid:
    """A grid from a pandapower net, through pandapower's own conversion to MATPOWER's tables.

    External grids become the slack, generators sources, everything else a load; see
    [`pnde.grids.from_ppc`][]. The net itself is not changed. Bus numbers are the index of
    ``net.bus``; of buses joined by a closed switch the first one stands for all.

    **Arguments:**

    - `net`: a ``pandapowerNet``.
    - `name`: of the grid; by default the net's own.

    **Raises:** [`pnde.errors.DataError`][] where pandapower is missing or cannot convert the net,
    [`pnde.errors.GridError`][] where the grid is wrong.
    """
    pandapower = _pandapower()
    net = copy.deepcopy(net)
    title = name or str(net.get("name") or "") or "pandapower net"
    try:
        pandapower.converter.to_ppc(
            net, calculate_voltage_angles=True, init="flat", mode="pf", check_connectivity=True
        )
    except Exception as error:  # pandapower raises whatever its tables trip over
        raise DataError(
            f"pandapower cannot convert {title}: {error}; make pandapower.runpp(net) work first"
        ) from error
    ppc = net["_ppc"]
    bus, branch = np.real(ppc["bus"]).astype(float), np.real(ppc["branch"]).astype(float)
    number, names, where = _originals(net, len(bus))
    bus[:, 0] = number
    gen = np.real(ppc["gen"]).astype(float)
    gen[:, 0] = number[gen[:, 0].astype(int)]
    ends = branch[:, :2].astype(int)
    branch[:, :2] = number[ends]
    used = branch[:, 10] > 0
    for k in np.flatnonzero(used & ((branch[:, _R_ASYM] != 0) | (branch[:, _X_ASYM] != 0))):
        raise GridError(
            f"the impedance between buses {branch[k, 0]:g} and {branch[k, 1]:g} of {title} differs "
            "with its direction, which pnde does not model; give it one impedance"
        )
    at_start = branch[:, _G] + 1j * branch[:, _B]
    at_end = at_start + branch[:, _G_ASYM] + 1j * branch[:, _B_ASYM]
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
        )
    )


def read_pandapower(path: Any) -> Grid:
    """A grid from a pandapower ``.json`` file."""
    from pathlib import Path

    path = Path(path)
    pandapower = _pandapower()
    if not path.exists():
        raise DataError(f"cannot read {path}: no such file; check the path")
    try:
        net = pandapower.from_json(str(path))
    except Exception as error:
        raise DataError(
            f"pandapower cannot read {path}: {error}; write it with pandapower.to_json"
        ) from error
    return from_pandapower(net, name=path.stem)


def _pandapower() -> Any:
    try:
        import pandapower
        import pandapower.converter
    except ImportError as error:
        raise DataError(
            "this needs pandapower, which is not installed; run: pip install 'pnde[grids]'"
        ) from error
    return pandapower


def _originals(net: Any, size: int) -> tuple[np.ndarray, list[str], list[str]]:
    """Numbers and names of the net's buses for each bus of its conversion.

    Buses that the conversion invents (the star of a three-winding transformer) get new numbers.
    """
    lookup = net["_pd2ppc_lookups"]["bus"]
    number = np.full(size, -1)
    names, where = [""] * size, [""] * size
    for index in sorted(net.bus.index, reverse=True):  # the lowest of fused buses wins
        at = int(lookup[index])
        if 0 <= at < size:
            number[at] = index
            label = net.bus.at[index, "name"]
            names[at] = "" if label is None or label != label else str(label)
            where[at] = f"net.bus.loc[{index}]"
    fresh = int(max(net.bus.index)) + 1
    for at in np.flatnonzero(number < 0).tolist():
        number[at], names[at], where[at] = fresh, "", f"auxiliary bus {fresh}"
        fresh += 1
    return number, names, where
