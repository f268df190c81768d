"""What a user's function takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pnde.errors import ConstraintError

TIME = ("t", "time")


def takes_time(function: Callable[..., Any], what: str, declared: bool | None = None) -> bool:
    """Whether a function takes (state, time) and not the state alone.

    It does if its second argument is called `t` or `time`, whether or not it has a default.

    **Arguments:**

    - `what`: what messages call it.
    - `declared`: what the user said; a function of two required arguments of any name then takes the time.

    **Raises:** `pnde.errors.ConstraintError` for any other number of arguments, or if it is not what was declared.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return bool(declared)
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    required = [p.name for p in places if p.default is p.empty]
    named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    of_time = len(places) > 1 and (
        places[1].name in TIME or (declared is True and len(required) == 2)
    )
    if (
        named
        or len(required) > 2
        or (len(required) == 2 and not of_time)
        or not (places or any_number)
    ):
        arguments = ", ".join([*required, *named]) or "none"
        raise ConstraintError(
            f"{what} takes the arguments {arguments}; it has to take the state, or the state and the time as "
            "(u, t)"
        )
    if declared is False and of_time:
        raise ConstraintError(f"{what} takes the time, but time_dependent=False; leave that out")
    if declared and not (of_time or any_number):
        raise ConstraintError(
            f"{what} takes the state alone, but time_dependent=True; give it a second argument t, or leave that out"
        )
    return of_time or bool(declared)
