"""Claims on the 14-bus grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.paper.claims import quantities
from pnde.paper.claims.finding import Finding, finding
from pnde.paper.results import Results
from pnde.paper.studies import label, study

NAME = "ieee14"
#: Errors within a factor of two are called similar.
SIMILAR = 2.0
#: A load's power has drifted if it is off by 1 % of a megawatt's base unit; kept if by no more than solvers err.
DRIFTED, KEPT = 1e-2, 1e-6
#: A voltage has converged if it is within 1 % of that of the operation point.
CONVERGED = 1e-2


def similar_states(results: Results) -> Finding:
    """State errors at the end of the test horizon."""
    rows: list[dict[str, Any]] = []
    if results.has(NAME):
        rows = [
            {"model": label(m), "state error": quantities.state_error(results, NAME, m)}
            for m in study(NAME).models
            if quantities.there(results, NAME, m)
        ]
    errors = [row["state error"] for row in rows]
    return finding(
        "On the grid all models predict the state about equally well over the test horizon.",
        f"The largest state error is at most {SIMILAR:g} times the smallest, mean over trajectories and time.",
        rows if len(rows) > 1 else [],
        bool(errors) and max(errors) <= SIMILAR * min(errors),
    )


def power_drift(results: Results) -> Finding:
    """How far the loads' power is from its start at the end of the long rollout."""
    rows = _long(results, lambda system, ds: {"largest drift (p.u.)": _drift(system, ds)})
    drift = {row["model"]: row["largest drift (p.u.)"] for row in rows}
    return finding(
        "Over 500 s the power of the loads drifts with NDE and stays with PNDE.",
        f"The largest drift of any load, median over trajectories, is above {DRIFTED:g} p.u. for NDE "
        f"and below {KEPT:g} p.u. for PNDE.",
        rows if _both(drift) else [],
        _both(drift) and drift["NDE"] > DRIFTED and drift["PNDE"] < KEPT,
    )


def loads_turn(results: Results) -> Finding:
    """In how many trajectories a load has become a generator."""
    rows = _long(results, lambda system, ds: {"share of trajectories": _turned(system, ds)})
    share = {row["model"]: row["share of trajectories"] for row in rows}
    return finding(
        "With NDE loads turn into generators; with PNDE they do not.",
        "A load's power turns positive in some trajectory of NDE, and in none of PNDE.",
        rows if _both(share) else [],
        _both(share) and share["NDE"] > 0 and share["PNDE"] == 0,
    )


def voltage_converges(results: Results) -> Finding:
    """How far the sources' voltages are from the operation point at the end of the long rollout."""
    rows = _long(
        results,
        lambda system, ds: {
            "at the start": _distance(system, ds, 0),
            "at the end": _distance(system, ds, -1),
        },
    )
    end = {row["model"]: row["at the end"] for row in rows}
    return finding(
        "The sources' voltages converge to the operation point with PNDE and not with NDE.",
        f"The largest relative distance of |v| at any source, median over trajectories, ends below "
        f"{CONVERGED:g} for PNDE and above it for NDE.",
        rows if _both(end) else [],
        _both(end) and end["PNDE"] < CONVERGED < end["NDE"],
    )


def _long(results: Results, quantity) -> list[dict]:
    """A row for each model of the long rollout."""
    if not results.has(NAME):
        return []
    system = results.system(NAME)
    return [{"model": name, **quantity(system, ds)} for name, ds in results.long(NAME).items()]


def _both(values: dict[str, float]) -> bool:
    return "NDE" in values and "PNDE" in values


def _drift(system, ds) -> float:
    power = system.active_power(ds).values[..., system.grid.loads]
    drift = np.abs(power[:, -1] - power[:, 0]).max(axis=-1)
    # A trajectory that failed has drifted without bound.
    return float(np.median(np.where(np.isfinite(drift), drift, np.inf)))


def _turned(system, ds) -> float:
    loads = system.grid.loads[system.grid.buses.active[system.grid.loads] < 0]
    power = system.active_power(ds).values[..., loads]
    return float((np.nan_to_num(power, nan=-1.0) > 0).any(axis=(1, 2)).mean())


def _distance(system, ds, at: int) -> float:
    sources = system.grid.sources
    rest = np.abs(system.grid.voltage(system.operation_point))[sources]
    away = np.abs(system.voltage(ds).values[:, at, sources] / rest - 1).max(axis=-1)
    return float(np.median(np.where(np.isfinite(away), away, np.inf)))
