"""Conserved quantities, and what a user may give as a law."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

from pnde.errors import ConstraintError
from pnde.laws.constraint import Constraint


class Conserved(Constraint):
    """Quantities that keep the value they have at the start of a trajectory, such as an energy.

    `Conserved(energy)` is `Constraint(energy, target="initial")`; the keywords are those of `Constraint`.
    """

    def __init__(self, h: Callable[..., Any], **options: Any):
        super().__init__(h, target="initial", **options)


def as_constraint(law: Any) -> Constraint | None:
    """`law` itself if it is a `Constraint` or `None`; a plain function becomes `Conserved(law)`."""
    if law is None or isinstance(law, Constraint):
        return copy.copy(law)
    if callable(law):
        parameters = [
            p
            for p in inspect.signature(law).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if len(parameters) != 1:
            raise ConstraintError(
                f"a law given as a plain function takes the state alone; "
                f"{getattr(law, '__name__', 'this one')!r} takes {len(parameters)} arguments. "
                "For a law that depends on time use pnde.Constraint(h, time_dependent=True)"
            )
        return Conserved(law)
    raise ConstraintError(
        f"a law is a function of the state or a pnde.Constraint, not {type(law).__name__}"
    )
