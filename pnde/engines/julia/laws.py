"""Laws in Julia: the package's own by name, linear ones by their matrix, a user's twin, and all others traced."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from pnde.engines.julia.driving import Sizes, parts_of
from pnde.engines.julia.networks import JuliaNetwork
from pnde.engines.julia.programs import traced_domain, traced_function, traced_law
from pnde.engines.julia.session import julia
from pnde.laws import Bounds, Constraint, Holonomic, Linear, Stacked
from pnde.laws.signature import arguments_of

_laws: weakref.WeakKeyDictionary[Constraint, dict[Sizes, Any]] = weakref.WeakKeyDictionary()


def julia_law(constraint: Constraint, sizes: Sizes) -> Any:
    """The law of so many states, inputs and parameters as a Julia object; made once.

    **Raises:** `pnde.errors.EngineError` if the law does something that Julia cannot.
    """
    made, taken = _laws.setdefault(constraint, {}), sizes.taken(constraint.takes)
    if taken not in made:
        made[taken] = _make(constraint, taken)
    return made[taken]


def _make(constraint: Any, sizes: Sizes) -> Any:
    if isinstance(constraint, Stacked):
        parts = [julia_law(part, sizes) for part in constraint.parts]
        with julia() as jl:
            return jl.Stacked(*parts)
    if is_network(constraint):
        return constraint.network.law
    if isinstance(constraint, Linear):
        with julia() as jl:
            law = jl.linear_law(constraint.matrix)
    elif constraint.julia is None:
        return traced_law(constraint, sizes)
    else:
        with julia() as jl:
            code = jl.load_code(constraint.julia, **_parameters(constraint.julia_parameters or {}))
            takes = jl.named_parts(parts_of(constraint.takes))
            if isinstance(constraint, Holonomic):
                law = jl.Holonomic(code, takes=takes)
            else:
                law = jl.as_constraint(code, takes, constraint.julia)
    if constraint.domain is None:
        return law
    domain = traced_domain(constraint, sizes)
    with julia() as jl:
        return jl.InDomain(law, domain)


def julia_bounds(bounds: Bounds | None, sizes: Sizes) -> Any:
    """The inequalities of so many states, inputs and parameters as a Julia object; `None` if there are none.

    **Raises:** `pnde.errors.EngineError` if one of them does something that Julia cannot.
    """
    if bounds is None:
        return None
    laws = []
    for part in bounds.parts:
        if part.columns is None:
            laws.append(julia_law(part.rows, sizes))
            continue
        with julia() as jl:
            laws.append(jl.states_law(1 + part.columns, sizes.states))
    with julia() as jl:
        return jl.named_bounds(
            tuple(laws),
            columns=1 + bounds.columns,
            lower=bounds.lower,
            upper=bounds.upper,
            rates=bounds.rates,
            scale=bounds.scale,
        )


def is_network(constraint: Any) -> bool:
    """Whether the law, or a part of it, is the algebraic rows of a network of PowerDynamics.jl."""
    if isinstance(constraint, Stacked):
        return any(is_network(part) for part in constraint.parts)
    return isinstance(getattr(constraint, "network", None), JuliaNetwork)


def has_twin(constraint: Constraint) -> bool:
    """Whether Julia evaluates something else than the law's own function, which the two may differ in."""
    return constraint.julia is not None


def julia_function(function: Any, sizes: Sizes, what: str) -> Any:
    """A Python function that a model holds: its twin, the attribute `julia`, or else traced.

    A twin is called with the states as a batch `(n, B)`, and then with what the function takes of the time `(1, B)`,
    the inputs `(k, B)` and the parameters `(r, B)`, in this order.
    """
    source, arguments = getattr(function, "julia", None), arguments_of(function, f"the {what}")
    if source is None:
        return traced_function(function, arguments, sizes, f"the {what}")
    with julia() as jl:
        code = jl.load_code(source)
        if not arguments.roles:
            return code
        return jl.OfInstant(code, jl.named_parts(parts_of(arguments.roles)))


def _parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and arrays of any precision, as Julia's own numbers and arrays."""
    out: dict[str, Any] = {}
    for name, value in parameters.items():
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            out[name] = value
            continue
        array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        with julia() as jl:
            out[name] = array.item() if array.ndim == 0 else jl.owned(array)
    return out
