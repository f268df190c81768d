"""Laws in Julia: the package's own by name, linear ones by their matrix, a user's twin, and all others traced."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pnde.engines.julia.networks import JuliaNetwork
from pnde.engines.julia.programs import traced_domain, traced_function, traced_law
from pnde.engines.julia.session import julia
from pnde.errors import ConfigError
from pnde.laws import Constraint, Holonomic, Linear, Stacked

_laws: weakref.WeakKeyDictionary[Constraint, dict[int, Any]] = weakref.WeakKeyDictionary()


def julia_law(constraint: Constraint, n: int) -> Any:
    """The law of n states as a Julia object; made once.

    **Raises:** `pnde.errors.ConfigError` if the law takes inputs or parameters; `pnde.errors.EngineError` if it does
    something that Julia cannot.
    """
    check_undriven(f"the law {constraint.label!r}", constraint.takes)
    made = _laws.setdefault(constraint, {})
    if n not in made:
        made[n] = _make(constraint, n)
    return made[n]


def _make(constraint: Any, n: int) -> Any:
    if isinstance(constraint, Stacked):
        parts = [julia_law(part, n) for part in constraint.parts]
        with julia() as jl:
            return jl.Stacked(*parts)
    if is_network(constraint):
        return constraint.network.law
    if isinstance(constraint, Linear):
        with julia() as jl:
            law = jl.linear_law(constraint.matrix)
    elif constraint.julia is None:
        return traced_law(constraint, n)
    else:
        with julia() as jl:
            code = jl.load_code(constraint.julia, **_parameters(constraint.julia_parameters or {}))
            if isinstance(constraint, Holonomic):
                law = jl.Holonomic(code)
            else:
                law = jl.as_constraint(code, "t" in constraint.takes, constraint.julia)
    if constraint.domain is None:
        return law
    domain = traced_domain(constraint, n)
    with julia() as jl:
        return jl.InDomain(law, domain)


def check_undriven(what: str, roles: Iterable[str]) -> None:
    """Whether what is given to this engine does without inputs and parameters.

    **Raises:** `pnde.errors.ConfigError`.
    """
    if {"w", "p"} & set(roles):
        raise ConfigError(
            f'{what} takes inputs or parameters, which the julia engine does not know: use engine="jax"'
        )


def is_network(constraint: Any) -> bool:
    """Whether the law, or a part of it, is the algebraic rows of a network of PowerDynamics.jl."""
    if isinstance(constraint, Stacked):
        return any(is_network(part) for part in constraint.parts)
    return isinstance(getattr(constraint, "network", None), JuliaNetwork)


def has_twin(constraint: Constraint) -> bool:
    """Whether Julia evaluates something else than the law's own function, which the two may differ in."""
    return constraint.julia is not None


def julia_function(function: Any, n: int, what: str) -> Any:
    """A Python function of n states that a model holds: its twin, the attribute `julia`, or else traced."""
    source = getattr(function, "julia", None)
    if source is None:
        return traced_function(function, n, f"the {what}")
    with julia() as jl:
        return jl.load_code(source)


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
