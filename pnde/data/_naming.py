"""What states, inputs and parameters are called, and in what units they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pnde.errors import DataError, brief, nearest, shown

from ._labels import check_count, first_twice, is_unicode


def check_names(names: Sequence[str], what: str = "state") -> None:
    """Refuse names of `what` that are empty or occur twice."""
    if "" in names:
        raise DataError(f"{what} {names.index('')} has no name; give one to each")
    foreign = next((name for name in names if not is_unicode(name)), None)
    if foreign is not None:
        raise DataError(f"the {what} name {brief(foreign)!a} is not text in UTF-8; rename it")
    twice = first_twice(names)
    if twice is not None:
        raise DataError(f"the {what} name {shown(twice)} occurs twice")


def check_apart(
    states: Sequence[str], inputs: Sequence[str], parameters: Sequence[str] = ()
) -> None:
    """Refuse a name that two of the three have in common: messages, laws and columns know them by their names."""
    held = dict.fromkeys(states, "a state")
    for names, what in ((inputs, "an input"), (parameters, "a parameter")):
        for name in names:
            if name in held:
                raise DataError(f"{shown(name)} is both {held[name]} and {what}; rename one")
        held |= dict.fromkeys(names, what)


def unit_list(
    units: Sequence[Any] | Mapping[str, str] | None, names: Sequence[str], what: str = "state"
) -> list[str]:
    """A unit for each of the names: those given, in their order or by name, or empty texts."""
    if units is None:
        return [""] * len(names)
    if isinstance(units, Mapping):
        known = set(names)
        for name in units:
            if name not in known:
                raise DataError(
                    f"a unit is given for {shown(name)}, no {what}{nearest(name, names)}"
                )
        return [str(units.get(name, "")) for name in names]
    check_count("units", units, len(names), f"{what}s")
    return [str(unit) for unit in units]
