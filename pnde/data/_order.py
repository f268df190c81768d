"""States that are positions and their velocities, told by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pnde.errors import DataError, listed

# How a velocity is called after its position.
_FORMS = (
    *(
        "v{}",
        "v_{}",
        "d{}",
        "d_{}",
        "d{}dt",
        "d{}_dt",
        "d{}/dt",
        "dot_{}",
        "dot{}",
        "{}dot",
        "{}_dot",
    ),
    *("{}\u0307", "{}'", "{}_t", "{}_vel", "vel_{}", "{}_velocity", "{}_rate", "{}d"),
)
# Position and velocity that have names of their own, with or without a number.
_OWN = (("theta", "omega"), ("phi", "omega"), ("θ", "ω"), ("φ", "ω"), ("x", "v"), ("q", "v"))
_SPLIT_NUMBER = re.compile(r"(.*?)_?(\d*)")


def check_second_order(states: Sequence[str]) -> None:
    """Refuse states for ``order = 2`` that are not (q, q̇), as far as their names tell.

    Positions come first, in any order, and then their velocities in the same one. Names that tell
    nothing are let through; whether q̇ is dq/dt, the numbers must tell.

    **Raises:** `DataError` with the order that is meant.
    """
    n = len(states)
    if n % 2:
        raise DataError(
            f"order = 2 needs as many velocities as positions, but there are {n} states: "
            f"{listed(states)}; choose them by states=[…]"
        )
    pairs = velocities(states)
    places = {name: k for k, name in enumerate(states)}
    wrong = [q for q, v in pairs.items() if places[v] != places[q] + n // 2]
    if not wrong:
        return
    meant = [*pairs, *pairs.values()] if 2 * len(pairs) == n else None
    remedy = f"states={meant}" if meant and len(str(meant)) < 120 else "states=[…] in that order"
    raise DataError(
        f"order = 2 needs all positions first and then their velocities, but {pairs[wrong[0]]} does "
        f"not stand {n // 2} behind {wrong[0]}; open the data with {remedy}, and write the law for it"
    )


def velocities(states: Sequence[str]) -> dict[str, str]:
    """The velocity of each position whose velocity is known by its name: ``x`` and ``vx``, ``theta`` and ``omega``.

    A state that could be the velocity of two positions, or a velocity itself, is nobody's position.
    """
    held = {name.casefold(): name for name in states}
    found: dict[str, str] = {}
    for name in states:
        partners = {held[form] for form in _candidates(name.casefold()) if form in held} - {name}
        if len(partners) == 1:
            found[name] = partners.pop()
    speeds = list(found.values())
    return {q: v for q, v in found.items() if speeds.count(v) == 1 and q not in speeds}


def _candidates(name: str) -> list[str]:
    """What the velocity of a position of this name may be called."""
    stem, number = _SPLIT_NUMBER.fullmatch(name).groups()  # type: ignore[union-attr]
    forms = [form.format(name) for form in _FORMS]
    forms += [form.format(stem) + mark + number for form in _FORMS for mark in ("", "_") if number]
    forms += [v + mark + number for q, v in _OWN if q == stem for mark in ("", "_")]
    return forms
