"""What a user's function takes, beside the state."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pnde.errors import ConstraintError
from pnde.laws.instant import Instant

Role = Literal["t", "w", "p"]

#: What arguments may be called, and what they then are.
ROLES: dict[str, Role] = {
    "t": "t",
    "time": "t",
    "w": "w",
    "inputs": "w",
    "p": "p",
    "params": "p",
    "parameters": "p",
}
_WORDS: dict[Role, str] = {"t": "the time", "w": "inputs", "p": "parameters"}


@dataclass(frozen=True)
class Arguments:
    """The arguments of a function behind its first, the state.

    - `by_name`: names and roles of those passed by name; `by_place`: roles of those passed by position.
    """

    by_name: tuple[tuple[str, Role], ...] = ()
    by_place: tuple[Role, ...] = ()

    @property
    def roles(self) -> frozenset[Role]:
        """What the function takes beside the state."""
        return frozenset((*self.by_place, *(role for _, role in self.by_name)))

    def call(self, function: Callable[..., Any], u: Any, at: Instant) -> Any:
        """The function of the state at an instant."""
        placed = [getattr(at, role) for role in self.by_place]
        return function(u, *placed, **{name: getattr(at, role) for name, role in self.by_name})


def arguments_of(
    function: Callable[..., Any],
    what: str,
    allowed: frozenset[Role] = frozenset({"t", "w", "p"}),
    time_dependent: bool | None = None,
) -> Arguments:
    """What a function takes: the state first, then by their names the time (`t`, `time`), inputs (`w`, `inputs`) and
    parameters (`p`, `params`, `parameters`), in any order and with or without defaults.

    **Arguments:**

    - `what`: what messages call it; `allowed`: what it may take.
    - `time_dependent`: what the user said; a second required argument of any name is then the time.

    **Raises:** `pnde.errors.ConstraintError` for other arguments, or if it is not what was declared.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return Arguments(by_place=("t",) if time_dependent else ())
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    rest = [*places[1:], *(p for p in parameters if p.kind is p.KEYWORD_ONLY)]
    required = [p for p in rest if p.default is p.empty]
    if time_dependent and len(required) == 1 and required[0].name not in ROLES:
        return Arguments(by_place=("t",))
    if time_dependent and not rest and any_number:
        return Arguments(by_place=("t",))
    known = [p for p in rest if p.name in ROLES]
    roles = [ROLES[p.name] for p in known]
    odd = [p.name for p in required if p.name not in ROLES]
    if odd or len(set(roles)) < len(roles) or not (places or any_number):
        named = ", ".join(p.name for p in [*places[:1], *required]) or "none"
        raise ConstraintError(
            f"{what} takes the arguments {named}; it has to take the state, and may take the time t, inputs w and "
            "parameters p by these names"
        )
    refused = next((role for role in roles if role not in allowed), None)
    if refused is not None:
        raise ConstraintError(
            f"{what} takes {_WORDS[refused]}; it has to take "
            + " and ".join(
                ["the state", *(_WORDS[role] for role in ("t", "w", "p") if role in allowed)]
            )
            + ("" if allowed else " alone")
        )
    if time_dependent is False and "t" in roles:
        raise ConstraintError(f"{what} takes the time, but time_dependent=False; leave that out")
    if time_dependent and "t" not in roles:
        raise ConstraintError(
            f"{what} does not take the time, but time_dependent=True; give it an argument t, or leave that out"
        )
    placed = [p for p in known if p.kind is p.POSITIONAL_ONLY]
    if placed and [p.name for p in places[1 : 1 + len(placed)]] != [p.name for p in placed]:
        raise ConstraintError(f"{what} has arguments by position only behind others; name them")
    return Arguments(
        by_name=tuple((p.name, ROLES[p.name]) for p in known if p.kind is not p.POSITIONAL_ONLY),
        by_place=tuple(ROLES[p.name] for p in placed),
    )
