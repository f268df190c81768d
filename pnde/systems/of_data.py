"""What a data set says of where it comes from: its system, and its law."""

from __future__ import annotations

import json
from typing import Any

import xarray as xr

from pnde.laws import Constraint, Rods, as_constraint


def system_of(ds: xr.Dataset) -> Any:
    """The built-in system that a data set was simulated from, or `None`."""
    from pnde import systems

    name = ds.attrs.get("system")
    if name not in systems.names():
        return None
    return systems.get(str(name), **json.loads(ds.attrs.get("parameters", "{}")))


def law_for(ds: xr.Dataset, constraint: Any) -> Constraint | None:
    """The law for a data set: the one given, or that of its built-in system; bound to its states.

    `"rods"` stands for `pnde.laws.Rods.of_data(ds)`, a chain whose rods have the lengths that the data show.

    **Raises:** `pnde.errors.ConstraintError` if the law knows other states.
    """
    if isinstance(constraint, str) and constraint == "rods":
        return Rods.of_data(ds)
    law = as_constraint(constraint)
    if law is None:
        system = system_of(ds)
        law = None if system is None else system.constraint
    return None if law is None else law.bind([str(name) for name in ds["state"].values])
