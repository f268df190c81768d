"""What a data set says of where it comes from: its system, and its law."""

from __future__ import annotations

from typing import Any

import xarray as xr

from pnde.data import attribute_table
from pnde.errors import ConstraintError, DataError, PndeError, brief, shown
from pnde.laws import Constraint, Inequality, Rods, as_constraint, split_laws
from pnde.laws.conditions import check_given, check_inputs
from pnde.systems.registry import get, names


def system_of(ds: xr.Dataset) -> Any:
    """The built-in system that a data set was simulated from, or `None`.

    Its attributes `system` and `parameters` come from a file, so they hold a name and tables of numbers. A path is
    never taken from them: a grid is there as its tables, or not at all.

    **Raises:** `pnde.errors.DataError` if the parameters are no such tables, or not those of the system.
    """
    name = ds.attrs.get("system")
    if not isinstance(name, str) or name not in names():
        return None
    parameters = attribute_table(ds.attrs, "parameters")
    for key, value in parameters.items():
        # Of the systems' parameters, only a pendulum's two choices are words.
        if isinstance(value, str) and value not in ("paper", "code", "cartesian", "angular"):
            raise DataError(
                f"the attribute 'parameters' has the text {shown(value)} for {shown(key)}: a path or a name is not "
                "taken from a data file; write tables there, or pass the law as constraint="
            )
    if "grid" in parameters and not _is_grid(parameters["grid"]):
        raise DataError(
            "the attribute 'parameters' of the data has no tables of buses and branches under 'grid'; write "
            "Grid.to_dict() there, or pass the law as constraint="
        )
    if _is_larger(parameters.get("n"), ds.sizes["state"]):
        raise DataError(
            f"the attribute 'parameters' says n = {brief(parameters['n'])}, but the data have {ds.sizes['state']} "
            "states; mend the attribute, or pass the law as constraint="
        )
    try:
        return get(name, **parameters)
    except PndeError as error:
        raise DataError(f"the attributes of the data do not fit: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"the attribute 'parameters' does not fit the system {name!r} ({brief(error, 100)}); mend it, or pass the "
            "law as constraint="
        ) from None


def _is_grid(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(table), dict) for table in ("buses", "branches")
    )


def _is_larger(n: Any, count: int) -> bool:
    """Whether a number of bobs is more than there are states, so that nothing of its size is made."""
    return n is not None and not (isinstance(n, int | float) and n <= count)


def law_for(ds: xr.Dataset, constraint: Any, tolerance: float = 1e-2) -> Constraint | None:
    """The law for a data set: the one given, or that of its built-in system; bound to its states.

    Inequalities beside the law are left out, see `inequalities_for`; alone they leave a built-in system its law.

    `"rods"` stands for `pnde.laws.Rods.of_data(ds, tolerance)`, a chain whose rods have the lengths that the data show,
    and `"rods:1,0.5"` for one of these lengths.

    **Raises:** `pnde.errors.ConstraintError` if the law knows other states or inputs, or takes what the data lack.
    """
    constraint, _ = split_laws(constraint)
    if isinstance(constraint, str):
        return _rods(ds, constraint, tolerance)
    law = as_constraint(constraint)
    if law is None:
        system = system_of(ds)
        law = None if system is None else system.constraint
    if law is None:
        return None
    check_given(f"the law {law.label!r}", law.takes, ds)
    check_inputs(law, ds)
    return law.bind([str(name) for name in ds["state"].values])


def inequalities_for(ds: xr.Dataset, constraint: Any) -> tuple[Inequality, ...]:
    """The inequalities that are given for a data set, beside its law or alone; without any law those of its built-in
    system. Bound to its states.

    **Raises:** `pnde.errors.ConstraintError` if one knows other states, or takes inputs or parameters that the data
    lack.
    """
    _, parts = split_laws(constraint)
    if constraint is None:
        system = system_of(ds)
        parts = () if system is None else system.inequalities
    for part in parts:
        check_given(f"the inequality {part.label!r}", part.rows.takes, ds)
    return tuple(part.bind([str(name) for name in ds["state"].values]) for part in parts)


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
