"""Grids from pandapower nets (an optional extra: ``pip install pnde[grids]``)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from pnde.errors import DataError, GridError
from pnde.grids.case import BRANCH_STATUS, B, CaseTables, build
from pnde.grids.grid import Grid


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
    _pandapower()
    from pandapower.converter.pypower.to_ppc import to_ppc

    net = copy.deepcopy(net)
    title = name or str(net.get("name") or "") or "pandapower net"
    try:
        ppc = to_ppc(net, calculate_voltage_angles=True, init="flat", mode="pf")
    except Exception as error:  # pandapower raises whatever its tables trip over
        raise DataError(
            f"pandapower cannot convert {title}: {error}; make pandapower.runpp(net) work first"
        ) from error
    bus, branch = np.real(ppc["bus"]).astype(float), np.real(ppc["branch"]).astype(float)
    number, names, where = _originals(net, len(bus))
    bus[:, 0] = number
    gen = np.real(ppc["gen"]).astype(float)
    gen[:, 0] = number[gen[:, 0].astype(int)]
    ends = branch[:, :2].astype(int)
    branch[:, :2] = number[ends]
    used = branch[:, BRANCH_STATUS] > 0

    def extra(key: str) -> np.ndarray:
        """What pandapower knows of a branch beyond MATPOWER's columns; absent where all zero."""
        return np.real(np.asarray(ppc.get(key, np.zeros(len(branch)))))

    turned = (extra("branch_r_asym") != 0) | (extra("branch_x_asym") != 0)
    for k in np.flatnonzero(used & turned).tolist():
        raise GridError(
            f"the impedance between buses {branch[k, 0]:g} and {branch[k, 1]:g} of {title} differs "
            "with its direction, which pnde does not model; give it one impedance"
        )
    at_start = extra("branch_g") + 1j * branch[:, B]
    at_end = at_start + extra("branch_g_asym") + 1j * extra("branch_b_asym")
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
    for index in net.bus.index[net.bus.in_service]:
        if not 0 <= lookup[index] < size:  # pandapower would leave it out without a word
            raise GridError(
                f"bus {index} ({str(net.bus.at[index, 'name'])!r}) is cut off: nothing in service "
                "joins it to an external grid; connect it, or set its in_service to False"
            )
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
