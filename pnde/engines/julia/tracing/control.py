"""Rules for loops, which are unrolled, and for branches, of which both are taken and one selected."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.engines.julia.tracing.rules import Rule, opened, shapes
from pnde.engines.julia.tracing.steps import Value, places


def _scan(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    params = equation.params
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]
    constants, carry, rows = operands[:first], operands[first:second], operands[second:]
    length, body = params["length"], opened(params["jaxpr"])
    turns = range(length - 1, -1, -1) if params["reverse"] else range(length)
    written: dict[int, list[Any]] = {}
    for k in turns:
        here = [_row(tracer, x, k) for x in rows]
        outputs = tracer.inline(*body, [*constants, *carry, *here])
        carry, written[k] = outputs[: len(carry)], outputs[len(carry) :]
    stacked = []
    for i, shape in enumerate(shapes(equation)[len(carry) :]):
        entries = [written[k][i] for k in range(length)]
        if any(isinstance(x, Value) for x in entries):
            stacked.append(tracer.take(entries, places(shape)))
        else:
            stacked.append(np.reshape(np.array(entries), shape))
    return [*carry, *stacked]


def _row(tracer: Any, x: Any, k: int) -> Any:
    return tracer.take([x], places(x.shape)[k]) if isinstance(x, Value) else x[k]


def _while(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    params = equation.params
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    for_condition, for_body, carry = operands[:first], operands[first:second], operands[second:]
    condition, body = opened(params["cond_jaxpr"]), opened(params["body_jaxpr"])
    while True:
        (more,) = tracer.inline(*condition, [*for_condition, *carry])
        if isinstance(more, Value):
            raise tracer.missing("while with turns that depend on the state")
        if not more:
            return carry
        carry = tracer.inline(*body, [*for_body, *carry])


def _cond(tracer: Any, equation: Any, operands: list[Any]) -> list[Any]:
    which, *rest = operands
    branches = [opened(branch) for branch in equation.params["branches"]]
    if not isinstance(which, Value):
        return tracer.inline(*branches[int(np.clip(which, 0, len(branches) - 1))], rest)
    chosen, *others = [tracer.inline(*branch, rest) for branch in branches]
    for k, outputs in enumerate(others, start=1):
        later = tracer.emit("greater_equal", [which, float(k)], ())
        chosen = [
            tracer.emit("select", [later, new, old], shape)
            for new, old, shape in zip(outputs, chosen, shapes(equation), strict=True)
        ]
    return chosen


RULES: dict[str, Rule] = {"scan": _scan, "while": _while, "cond": _cond}
