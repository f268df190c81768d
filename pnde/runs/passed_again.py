"""What a run does not store, and has to be given again to use it: functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pnde.engines import Engine
from pnde.errors import RunError
from pnde.laws import Bounds, Constraint, split_laws
from pnde.laws.bounds import settle
from pnde.runs.record import BoundsRecord, FunctionRecord, LawRecord, array, name_of
from pnde.systems import inequalities_for, law_for


def law_again(
    path: Path, record: LawRecord | None, ds: xr.Dataset, constraint: Any, tolerance: float
) -> Constraint | None:
    """The law of a run, bound to its data: what was stored, or what was passed again.

    **Raises:** `pnde.errors.RunError` if it is missing, or another one.
    """
    constraint, _ = split_laws(constraint)
    if record is None:
        if constraint is not None:
            raise RunError(f"the run in {path} was trained without a law; leave constraint= out")
        return None
    if record.source not in ("given", "system") and constraint is None:
        constraint = record.source
    if record.source == "given" and constraint is None:
        raise RunError(
            f"the run in {path} keeps the law {record.label!r}, which is not stored: pass it again as constraint= (on "
            "the command line: --law FILE.py:NAME)"
        )
    law = law_for(ds, constraint, max(1e-2, tolerance))
    if law is None or law.label != record.label:
        raise RunError(
            f"the run in {path} keeps the law {record.label!r}, but the one that was passed is "
            f"{None if law is None else law.label!r}; pass the law of the training"
        )
    return law


def bounds_again(
    path: Path, record: BoundsRecord | None, engine: Engine, ds: xr.Dataset, constraint: Any
) -> Bounds | None:
    """The inequalities of a run, bound to its data, with the rates of the training: those of the data's system, or
    what was passed again.

    **Raises:** `pnde.errors.RunError` if they are missing, or others.
    """
    _, given = split_laws(constraint)
    if record is None:
        if given:
            raise RunError(
                f"the run in {path} was trained without inequalities; leave {given[0].label!r} out of constraint="
            )
        return None
    if record.source == "given" and not given:
        raise RunError(
            f"the run in {path} keeps the inequalities {record.label!r}, which are not stored: pass them again in "
            "constraint=, with the law if there is one, as law & inequality"
        )
    parts = inequalities_for(ds, constraint if given else None)
    bounds = settle(engine, parts, ds, rates=np.array(record.rates), scale=np.array(record.scale))
    if bounds is None or list(bounds.names) != record.rows:
        rows = () if bounds is None else bounds.names
        raise RunError(
            f"the run in {path} keeps the inequalities {', '.join(record.rows)[:60]}, but those that were passed are "
            f"{', '.join(rows)[:60]}; pass those of the training"
        )
    return bounds


def again(path: Path, what: str, record: FunctionRecord | None, given: Any) -> Any:
    """Physics or a metric: what was stored, or the function that was passed again.

    **Raises:** `pnde.errors.RunError` if it is missing, or another one.
    """
    if record is None:
        if given is not None:
            raise RunError(f"the run in {path} was trained without {what}=; leave it out")
        return None
    if record.values is not None:
        if given is not None and not np.array_equal(given, np.array(record.values)):
            raise RunError(
                f"the run in {path} has another {what}, which is stored; leave {what}= out"
            )
        return array(record.values)
    if given is None:
        raise RunError(
            f"the run in {path} uses the {what} {record.label!r}, a function, which is not stored: pass it again as "
            f"{what}="
        )
    if name_of(given) != record.label:
        raise RunError(
            f"the run in {path} uses the {what} {record.label!r}, but what was passed is "
            f"{name_of(given)!r}; pass that of the training"
        )
    return given
