"""A Python function of the state, traced by JAX, as a program for Julia."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from pnde.engines.julia.tracing.steps import Value
from pnde.engines.julia.tracing.tracer import Tracer
from pnde.errors import ConstraintError
from pnde.laws.program import Program


def trace(
    function: Callable[..., Any], sizes: Sequence[int | None], what: str, clock: int | None = None
) -> Program:
    """What `function` computes, in double precision.

    **Arguments:**

    - `sizes`: of the arrays that it takes; `None` for a number.
    - `what`: what messages call it, such as "the law 'energy'".
    - `clock`: which argument is the time.

    **Returns:** a program whose result is the function's, row by row.

    **Raises:** `pnde.errors.EngineError` naming an operation that Julia has no counterpart for, and its line;
    `pnde.errors.ConstraintError` if the function cannot be traced.
    """
    shapes = [() if size is None else (size,) for size in sizes]
    with jax.enable_x64(True):
        examples = [jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes]
        try:
            closed = jax.make_jaxpr(lambda *x: jax.numpy.asarray(function(*x)))(*examples)
        except jax.errors.TracerArrayConversionError:
            raise ConstraintError(
                f"{what} calls a NumPy function, which cannot be differentiated; write it with jax.numpy "
                "(import jax.numpy as np), or with arithmetic only"
            ) from None
        except jax.errors.ConcretizationTypeError:
            raise ConstraintError(
                f"{what} branches on the state (if, while, float); use jax.numpy.where instead"
            ) from None
        tracer = Tracer(what, [int(np.prod(shape)) for shape in shapes])
        inputs = [Value(k, shape) for k, shape in enumerate(shapes)]
        (result,) = tracer.inline(closed.jaxpr, list(closed.consts), inputs)
        return tracer.program(tracer.value(result), clock)
