"""What a data set says of where it comes from: its system, and its law."""

from __future__ import annotations

import json
from typing import Any

import xarray as xr

from pnde.errors import ConstraintError
from pnde.laws import Constraint, Rods, as_constraint


def system_of(ds: xr.Dataset) -> Any:
    """The built-in system that a data set was simulated from, or `None`."""
    from pnde import systems

    name = ds.attrs.get("system")
    if name not in systems.names():
        return None
    return systems.get(str(name), **json.loads(ds.attrs.get("parameters", "{}")))


def law_for(ds: xr.Dataset, constraint: Any, tolerance: float = 1e-2) -> Constraint | None:
    """The law for a data set: the one given, or that of its built-in system; bound to its states.

    `"rods"` stands for `pnde.laws.Rods.of_data(ds, tolerance)`, a chain whose rods have the lengths that the data show,
    and `"rods:1,0.5"` for one of these lengths.

    **Raises:** `pnde.errors.ConstraintError` if the law knows other states.
    """
    if isinstance(constraint, str):
        return _rods(ds, constraint, tolerance)
    law = as_constraint(constraint)
    if law is None:
        system = system_of(ds)
        law = None if system is None else system.constraint
    return None if law is None else law.bind([str(name) for name in ds["state"].values])


def _rods(ds: xr.Dataset, text: str, tolerance: float) -> Constraint:
    name, colon, lengths = text.partition(":")
    if name != "rods":
        raise ConstraintError(
            f"there is no law {text[:60]!r}: pass a function, a pnde.Constraint, or "
            "'rods' for a chain of rods"
        )
    if not colon:
        return Rods.of_data(ds, tolerance)
    try:
        numbers = [float(length) for length in lengths.split(",")]
    except ValueError:
        raise ConstraintError(
            f"the lengths of rods are numbers, such as rods:1,0.5; not {lengths[:60]!r}"
        ) from None
    states = [str(name) for name in ds["state"].values]
    return Rods(numbers, states).bind(states)
