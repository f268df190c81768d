"""Laws in Julia: the built-in systems by name, linear ones by their matrix, others by the twin that the user gives."""

from __future__ import annotations

import weakref
from typing import Any

from pnde.engines.julia.session import pnde_module, translated
from pnde.errors import EngineError
from pnde.laws import Constraint, Holonomic, Linear, Stacked

_laws: weakref.WeakKeyDictionary[Constraint, Any] = weakref.WeakKeyDictionary()


def julia_law(constraint: Constraint) -> Any:
    """The law as a Julia object; made once.

    **Raises:** `pnde.errors.EngineError` if it has no twin.
    """
    if constraint not in _laws:
        with translated():
            _laws[constraint] = _make(constraint)
    return _laws[constraint]


def _make(constraint: Constraint) -> Any:
    jl = pnde_module()
    if constraint.julia_object is not None:
        return constraint.julia_object
    if isinstance(constraint, Stacked):
        return jl.Stacked(*(julia_law(part) for part in constraint.parts))
    if isinstance(constraint, Linear):
        return jl.linear_law(constraint.matrix)
    if constraint.julia is None:
        raise EngineError(
            f"the law {constraint.label!r} is a Python function, which the julia engine cannot run: give its twin, "
            'such as pnde.Conserved(h, julia="u -> u[1]^2 + u[2]^2"), or use engine="jax"'
        )
    code = jl.load_code(constraint.julia, **(constraint.julia_parameters or {}))
    if isinstance(constraint, Holonomic):
        return jl.Holonomic(code)
    return jl.as_constraint(code, constraint.time_dependent, constraint.julia)


def julia_function(function: Any, what: str) -> Any:
    """The twin of a Python function that a model holds: its attribute `julia`, an expression or a file.

    **Raises:** `pnde.errors.EngineError` if it has none.
    """
    source = getattr(function, "julia", None)
    if source is None:
        raise EngineError(
            f"the {what} is a Python function, which the julia engine cannot run: give its twin as the function's "
            f'attribute `julia`, such as f.julia = "u -> ...", or use engine="jax"'
        )
    with translated():
        return pnde_module().load_code(source)
