"""Traced functions and laws as the Julia package holds them: programs, with the programs of their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pnde.engines.julia.driving import Sizes
from pnde.engines.julia.session import julia
from pnde.engines.julia.tracing import trace
from pnde.laws import Constraint, Instant
from pnde.laws.program import Program
from pnde.laws.signature import Arguments


def julia_program(program: Program) -> Any:
    """A program on the Julia side."""
    with julia() as jl:
        return jl.named_program(**flat_program(program))


def flat_program(program: Program) -> dict[str, Any]:
    """A program as what crosses: names, and flat arrays with where each part of them ends. Numbers count from 1."""

    def ends(lengths: Any) -> np.ndarray:
        return np.array([0, *accumulate(lengths)], np.int64)

    steps, constants = program.steps, program.constants
    return {
        "inputs": len(program.inputs),
        "constants": np.concatenate([np.zeros(0), *constants]),
        "constant_ends": ends(map(len, constants)),
        "operations": [step.operation for step in steps],
        "operands": np.array([1 + k for step in steps for k in step.operands], np.int64),
        "operand_ends": ends(len(step.operands) for step in steps),
        "integers": np.array([k for step in steps for k in step.integers], np.int64),
        "integer_ends": ends(len(step.integers) for step in steps),
        "result": 1 + program.result,
        "clock": 0 if program.clock is None else 1 + program.clock,
    }


def traced_law(constraint: Constraint, sizes: Sizes) -> Any:
    """A law whose h, ∂h/∂u and ∂h/∂t + (∂h/∂w) ẇ are programs, as are their derivatives by the state.

    **Raises:** `pnde.errors.EngineError` naming an operation that Julia has no counterpart for, and its line.
    """
    what, value_at = f"the law {constraint.label!r}", constraint.value

    def jacobian(u: Any, at: Instant) -> Any:
        if constraint.jacobian is not None:
            return jnp.asarray(constraint.jacobian_value(u, at))
        return jax.jacrev(lambda u: value_at(u, at))(u)

    def drift(u: Any, at: Instant) -> Any:
        def moved(t: Any, w: Any, rate: Any) -> Any:
            return value_at(u, at._replace(t=t, w=w, rate=rate))

        change = jnp.ones_like(at.t), at.rate, at.curvature
        return jax.jvp(moved, (at.t, at.w, at.rate), change)[1]

    rate = traced_at(drift, sizes, what) if constraint.moves else None
    value, slope = traced_at(value_at, sizes, what), traced_at(jacobian, sizes, what)
    with julia() as jl:
        return jl.TracedLaw(value, slope, rate, traced_domain(constraint, sizes))


def traced_domain(constraint: Constraint, sizes: Sizes) -> Any:
    """Where a law is defined, as a program; `None` if everywhere."""
    domain = constraint.domain
    if domain is None:
        return None
    what = f"the domain of the law {constraint.label!r}"
    return julia_program(trace(lambda u: jnp.asarray(domain(u)).reshape(1), [sizes.states], what))


def traced_function(
    function: Callable[..., Any], arguments: Arguments, sizes: Sizes, what: str
) -> Any:
    """A function that a model holds, such as a metric or physics."""

    def value(u: Any, at: Instant) -> Any:
        return jnp.asarray(arguments.call(function, u, at))

    return traced_at(value, sizes.taken(arguments.roles), what)


def traced_at(function: Callable[[Any, Instant], Any], sizes: Sizes, what: str) -> Any:
    """A function of a state at an instant, and its pullback, the cotangent of the state.

    Julia takes an array column by column, a program holds it row by row, so what crosses is the transpose.
    """
    counts: dict[str, int | None] = {"t": None}
    if sizes.inputs:
        counts |= dict.fromkeys(("w", "rate", "curvature"), sizes.inputs)
    if sizes.parameters:
        counts["p"] = sizes.parameters

    def of_parts(u: Any, *parts: Any) -> Any:
        return function(u, Instant(**dict(zip(counts, parts, strict=True))))

    def value(u: Any, *parts: Any) -> Any:
        return jnp.ravel(jnp.asarray(of_parts(u, *parts), u.dtype).T)

    def pullback(u: Any, *parts_and_cotangent: Any) -> Any:
        *parts, cotangent = parts_and_cotangent
        return jax.vjp(lambda u: value(u, *parts), u)[1](cotangent)[0]

    lengths = [sizes.states, *counts.values()]
    with jax.enable_x64(True):
        examples = [
            jax.ShapeDtypeStruct(() if size is None else (size,), np.float64) for size in lengths
        ]
        shape = jax.eval_shape(lambda *x: jnp.asarray(of_parts(*x)), *examples).shape
    count = int(np.prod(shape))
    programs = [
        julia_program(trace(value, lengths, what, clock=1)),
        julia_program(trace(pullback, [*lengths, count], what, clock=1)),
    ]
    with julia() as jl:
        return jl.TracedFunction(
            *programs, tuple(int(size) for size in shape), jl.named_parts(list(counts))
        )
