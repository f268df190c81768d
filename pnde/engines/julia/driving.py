"""Inputs and parameters as the Julia package holds them: at an instant, and as what drives trajectories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pnde.data import Inputs
from pnde.engines.julia.arrays import to_julia
from pnde.engines.julia.session import julia
from pnde.laws import Conditions, Instant
from pnde.models import Model


class Sizes(NamedTuple):
    """Of how many states, inputs and parameters something is a function; 0 where there are none."""

    states: int
    inputs: int = 0
    parameters: int = 0

    @classmethod
    def of(cls, u: np.ndarray, at: Instant) -> Sizes:
        """Those of states `(B, n)` at as many instants."""
        return cls(
            u.shape[1], *(0 if part is None else np.shape(part)[-1] for part in (at.w, at.p))
        )

    @classmethod
    def of_model(cls, model: Model) -> Sizes:
        """Those of a model."""
        return cls(len(model.states), len(model.inputs), len(model.parameters))

    def taken(self, roles: Iterable[str]) -> Sizes:
        """The same without what a function of these roles does not take."""
        held = set(roles)
        return Sizes(
            self.states, self.inputs if "w" in held else 0, self.parameters if "p" in held else 0
        )


def parts_of(roles: Iterable[str]) -> list[str]:
    """What a function of these roles is called with in Julia behind the state, in this order."""
    held = set(roles)
    return [role for role in ("t", "w", "p") if role in held]


def julia_instant(at: Instant, count: int, card: bool = False) -> Any:
    """The instants of so many states; the times alone where there are neither inputs nor parameters."""
    t = to_julia(np.broadcast_to(at.t, count), "float64", card)
    if at.w is None and at.p is None:
        return t
    parts = (None if x is None else to_julia(x, "float64", card) for x in at[1:])
    with julia() as jl:
        return jl.Instant(t, *parts)


def julia_drive(
    model: Model, conditions: Conditions, start: np.ndarray, rows: int, dtype: str, card: bool
) -> Any:
    """What drives trajectories of a model by clocks that begin at `start` `(B,)`, which `conditions` are given by; the
    start alone where nothing does. The law has so many `rows`.

    A law that knows the time takes it in double precision; clocks, which count from the start, are in that of the
    states.
    """
    begin = to_julia(start, "float64", card)
    if not conditions.roles:
        return begin
    p = None if conditions.p is None else to_julia(conditions.p, dtype, card)
    jump = _julia_jump(model, rows) if conditions.jump else None
    return drive_of(begin, conditions.inputs, dtype, p, jump)


def drive_of(
    start: Any, inputs: Inputs | None, dtype: str = "float64", p: Any = None, jump: Any = None
) -> Any:
    """A `Drive` of the inputs, on clocks that begin at `start` `(B,)`, like parameters and jump an object of Julia."""
    knots = coefficients = None
    jumps = kinks = np.empty((len(start), 0))
    if inputs is not None:
        knots, coefficients = (to_julia(x, dtype) for x in inputs.arrays[:2])
        jumps, kinks = inputs.arrays[2:]
    breaks = to_julia(jumps, dtype), to_julia(kinks, dtype)
    with julia() as jl:
        return jl.Drive(start, knots, coefficients, *breaks, p, jump)


def _julia_jump(model: Model, rows: int) -> Any:
    """What becomes of states and targets where an input jumps; `None` for a law that does not take them."""
    law = model.constraint
    if law is None or model.config.method == "nde" or "w" not in law.takes:
        return None
    free = law.may_jump()
    with julia() as jl:
        return jl.Jump(
            to_julia(law.fixed_rows(rows), "bool"), None if free is None else to_julia(free)
        )
