"""A law that a trajectory obeys, as the user states it.

A law is h(u, t) = c: m invariants `h` of the state, and their targets `c`. The constraint of the paper is
g(u, t) = h(u, t) - c (Eq. 2). Nothing here imports an engine: a law is an ordinary function, and an engine evaluates it
on its own arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, nearest


class Constraint:
    """The law h(u, t) = c.

    **Arguments:**

    - `h`: function of the state `u` of shape `(n,)`, or of `(u, t)` if `time_dependent`. Returns a number, a sequence
        of m numbers or an array `(m,)`. Written with `jax.numpy`, or with arithmetic only.
    - `target`: `"initial"` (c = h at the start of each trajectory), a number, or an array `(m,)`; NaN in the array
        means "initial" for that row.
    - `jacobian`: function with the arguments of `h` giving ∂h/∂u of shape `(m, n)`. Without it the engine
        differentiates `h`.
    - `time_dependent`: whether `h` takes the time; the projection then includes ∂h/∂t.
    - `names`: a name for each row, used in every message and report.
    - `states`: the state names the law is written for, in order; data with other names are refused.
    - `domain`: function of `u`, true where the law is defined (such as positive populations).
    - `julia`: the law's twin for the julia engine, as a Julia expression or the path of a `.jl` file: a function of the
        state, or the name of a law of the Julia package. It runs as your own code.
    - `julia_parameters`: numbers and arrays; the twin is then called with them as keywords, and gives the law.

    **Raises:** `pnde.errors.ConstraintError` if the arguments contradict each other.
    """

    #: How ∂h/∂u is built, if it is more than a dense array; see `pnde.engines.jax.structure`.
    structure: Any = None
    #: The twin for the julia engine itself, where it is a Julia object already.
    julia_object: Any = None

    def __init__(
        self,
        h: Callable[..., Any],
        *,
        target: Any = "initial",
        jacobian: Callable[..., Any] | None = None,
        time_dependent: bool = False,
        names: Sequence[str] | None = None,
        states: Sequence[str] | None = None,
        domain: Callable[[Any], Any] | None = None,
        julia: str | None = None,
        julia_parameters: Mapping[str, Any] | None = None,
    ):
        if not callable(h):
            raise ConstraintError(f"a law is a function of the state, not {type(h).__name__}")
        if isinstance(target, str) and target != "initial":
            raise ConstraintError(f'target is "initial", a number or an array, not {target!r}')
        self.h = h
        self.target = np.nan if isinstance(target, str) else np.asarray(target, dtype=float)
        self.jacobian = jacobian
        self.time_dependent = time_dependent
        self.names = None if names is None else tuple(names)
        self.states = None if states is None else tuple(states)
        self.domain = domain
        self.julia = julia
        self.julia_parameters = julia_parameters

    @property
    def label(self) -> str:
        """What messages call this law: the name of its only row, or that of its function."""
        if self.names is not None and len(self.names) == 1:
            return self.names[0]
        return getattr(self.h, "__name__", type(self).__name__).strip("<>")

    def value(self, u: Any, t: Any) -> Any:
        """h(u, t) as an array `(m,)` of the kind of `u`."""
        return as_row(self.h(u, t) if self.time_dependent else self.h(u), u)

    def jacobian_value(self, u: Any, t: Any) -> Any:
        """∂h/∂u as an array `(m, n)`, from the user's `jacobian`."""
        assert self.jacobian is not None
        return self.jacobian(u, t) if self.time_dependent else self.jacobian(u)

    def bind(self, states: Sequence[str]) -> Constraint:
        """This law made ready for data with the given state names.

        **Raises:** `pnde.errors.ConstraintError` if the law is written for other states.
        """
        states = tuple(states)
        if self.states is not None and self.states != states:
            odd = next((s for s in states if s not in self.states), None)
            if odd is None:
                hint = f"order the states of the data as {', '.join(self.states)}"
            else:
                hint = f"the data have a state {odd!r}{nearest(odd, self.states)}; rename or select the states"
            raise ConstraintError(
                f"the law {self.label!r} knows the states {', '.join(self.states)}: {hint}"
            )
        return self

    def row_names(self, m: int) -> tuple[str, ...]:
        """The names of the m rows; `label`, or `label[i]`, where none were given.

        **Raises:** `pnde.errors.ConstraintError` if the number of names is not m.
        """
        if self.names is None:
            return (self.label,) if m == 1 else tuple(f"{self.label}[{i}]" for i in range(m))
        if len(self.names) != m:
            raise ConstraintError(
                f"the law {self.label!r} has {m} rows but {len(self.names)} names; give one name for each row"
            )
        return self.names

    def targets(self, h0: np.ndarray) -> np.ndarray:
        """The targets c `(..., m)` of trajectories whose laws start at `h0` `(..., m)`."""
        try:
            return np.where(np.isnan(self.target), h0, self.target)
        except ValueError:
            raise ConstraintError(
                f"the law {self.label!r} has {h0.shape[-1]} rows but its target has shape "
                f"{np.shape(self.target)}; give one number for each row"
            ) from None

    def __and__(self, other: Constraint) -> Constraint:
        from pnde.laws.stacked import Stacked  # which is a Constraint itself

        return Stacked(self, other)


def as_row(value: Any, u: Any) -> Any:
    """A number, sequence of numbers or array, as an array `(m,)` of the kind of `u`."""
    xp = u.__array_namespace__()
    if isinstance(value, (tuple, list)):
        value = xp.stack([xp.asarray(entry, dtype=u.dtype) for entry in value])
    return xp.reshape(xp.asarray(value, dtype=u.dtype), (-1,))
