"""States that are positions and their velocities, told by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
