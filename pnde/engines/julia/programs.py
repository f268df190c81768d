"""Traced functions and laws as the Julia package holds them: programs, with the programs of their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pnde.engines.julia.session import julia
from pnde.engines.julia.tracing import trace
from pnde.laws import Constraint, Instant
from pnde.laws.program import Program


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


def traced_law(constraint: Constraint, n: int) -> Any:
    """A law of n states whose h, ∂h/∂u and ∂h/∂t are programs, as are their derivatives by the state.

    **Raises:** `pnde.errors.EngineError` naming an operation that Julia has no counterpart for, and its line.
    """
    what = f"the law {constraint.label!r}"

    def value_at(u: Any, t: Any) -> Any:
        return constraint.value(u, Instant(t))

    def jacobian(u: Any, t: Any) -> Any:
        if constraint.jacobian is not None:
            return jnp.asarray(constraint.jacobian_value(u, Instant(t)))
        return jax.jacrev(lambda u: value_at(u, t))(u)

    def drift(u: Any, t: Any) -> Any:
        return jax.jvp(lambda t: value_at(u, t), (t,), (jnp.ones_like(t),))[1]

    rate = _function(drift, n, what) if "t" in constraint.takes else None
    value, slope = _function(value_at, n, what), _function(jacobian, n, what)
    with julia() as jl:
        return jl.TracedLaw(value, slope, rate, traced_domain(constraint, n))


def traced_domain(constraint: Constraint, n: int) -> Any:
    """Where a law of n states is defined, as a program; `None` if everywhere."""
    domain = constraint.domain
    if domain is None:
        return None
    what = f"the domain of the law {constraint.label!r}"
    return julia_program(trace(lambda u: jnp.asarray(domain(u)).reshape(1), [n], what))


def traced_function(function: Callable[[Any], Any], n: int, what: str) -> Any:
    """A function of n states, such as a metric or physics."""
    return _function(lambda u, t: function(u), n, what)


def _function(function: Callable[[Any, Any], Any], n: int, what: str) -> Any:
    """A function of a state and the time, and its pullback, the cotangent of the state.

    Julia takes an array column by column, a program holds it row by row, so what crosses is the transpose.
    """

    def value(u: Any, t: Any) -> Any:
        return jnp.ravel(jnp.asarray(function(u, t), u.dtype).T)

    def pullback(u: Any, t: Any, cotangent: Any) -> Any:
        return jax.vjp(lambda u: value(u, t), u)[1](cotangent)[0]

    with jax.enable_x64(True):
        state, time = (jax.ShapeDtypeStruct(shape, np.float64) for shape in ((n,), ()))
        shape = jax.eval_shape(lambda u, t: jnp.asarray(function(u, t)), state, time).shape
    count = int(np.prod(shape))
    programs = [
        julia_program(trace(value, [n, None], what, clock=1)),
        julia_program(trace(pullback, [n, None, count], what, clock=1)),
    ]
    with julia() as jl:
        return jl.TracedFunction(*programs, tuple(int(size) for size in shape))
