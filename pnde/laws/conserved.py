"""Conserved quantities, and what a user may give as a law."""

from __future__ import annotations

import copy
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
    if isinstance(law, type) and issubclass(law, Constraint):
        raise ConstraintError(
            f"{law.__name__} is a kind of law; give one of that kind, such as {law.__name__}(...)"
        )
    if callable(law):
        return Conserved(law)
    raise ConstraintError(
        f"a law is a function of the state or a pnde.Constraint, not {type(law).__name__}"
    )
