"""A law that a trajectory obeys, as the user states it, and several of them at once.

A law is h(u, t) = c: m invariants `h` of the state, and their targets `c`. The constraint of the paper is
g(u, t) = h(u, t) - c (Eq. 2). Nothing here imports an engine: a law is an ordinary function, and an engine evaluates it
on its own arrays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, nearest
from pnde.laws.rows import as_row
from pnde.laws.signature import takes_time


class Constraint:
    """The law h(u, t) = c.

    **Arguments:**

    - `h`: function of the state `u` of shape `(n,)`, or of `(u, t)`. Returns a number, a sequence of m numbers or an
        array `(m,)`. Written with `jax.numpy`, or with arithmetic only.
    - `target`: `"initial"` (c = h at the start of each trajectory), a number, or an array `(m,)`; NaN in the array
        means "initial" for that row.
    - `jacobian`: function of the state, or of `(u, t)`, giving ∂h/∂u of shape `(m, n)`. Without it the engine
        differentiates `h`.
    - `time_dependent`: whether `h` takes the time; the projection then includes ∂h/∂t. By default it does if its second
        argument is called `t` or `time`.
    - `names`: a name for each row, used in every message and report.
    - `states`: the state names the law is written for, in order; data with other names are refused.
    - `domain`: function of `u`, true where the law is defined (such as positive populations).
    - `julia`: the law's twin for the julia engine, as a Julia expression or the path of a `.jl` file: a function of the
        state, or the name of a law of the Julia package. It runs as your own code.
    - `julia_parameters`: numbers and arrays; the twin is then called with them as keywords, and gives the law.

    **Raises:** `pnde.errors.ConstraintError` if the arguments contradict each other.
    """

    #: How ∂h/∂u is built, if it is more than a dense array; see `pnde.engines.jax.structures`.
    structure: Any = None

    def __init__(
        self,
        h: Callable[..., Any],
        *,
        target: Any = "initial",
        jacobian: Callable[..., Any] | None = None,
        time_dependent: bool | None = None,
        names: Sequence[str] | str | None = None,
        states: Sequence[str] | str | None = None,
        domain: Callable[[Any], Any] | None = None,
        julia: str | None = None,
        julia_parameters: Mapping[str, Any] | None = None,
    ):
        for what, function in (("law", h), ("jacobian", jacobian), ("domain", domain)):
            if not callable(function) and (function is not None or what == "law"):
                raise ConstraintError(
                    f"a {what} is a function of the state, not {type(function).__name__}"
                )
        self.h = h
        self.names = None if names is None else as_names(names)
        self.states = None if states is None else as_names(states)
        self.target = as_target(target)
        self.jacobian = jacobian
        self.domain = domain
        self.julia = julia
        self.julia_parameters = julia_parameters
        self.time_dependent = takes_time(h, f"the law {self.label!r}", time_dependent)
        self._jacobian_of_time = jacobian is not None and takes_time(
            jacobian, f"the jacobian of the law {self.label!r}"
        )
        if domain is not None and takes_time(domain, f"the domain of the law {self.label!r}"):
            raise ConstraintError(
                f"the domain of the law {self.label!r} takes the time; it has to take the state alone"
            )

    @property
    def label(self) -> str:
        """What messages call this law: the name of its only row, or that of its function."""
        if self.names is not None and len(self.names) == 1:
            return self.names[0]
        return getattr(self.h, "__name__", type(self).__name__).strip("<>")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} {self.label!r}: {self._equation()}"]
        if self.names is not None and self.names != (self.label,):
            lines[0] += f" with the rows {few(self.names)}"
        lines.append(f"  c: {self._target_text()}")
        if self.states is not None:
            lines.append(f"  u: {few(self.states)}")
        return "\n".join(lines)

    def _equation(self) -> str:
        return "h(u, t) = c" if self.time_dependent else "h(u) = c"

    def _target_text(self) -> str:
        if np.isnan(self.target).all():
            return "the values at the start of each trajectory"
        numbers = np.atleast_1d(self.target)
        return few(["initial" if np.isnan(c) else f"{c:g}" for c in numbers])

    def own_functions(
        self, u: Any, t: Any
    ) -> list[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
        """The user's functions in this law, each with what messages call it and its arguments at one state."""
        found = [(f"the law {self.label!r}", self.h, (u, t) if self.time_dependent else (u,))]
        if self.jacobian is not None:
            arguments = (u, t) if self._jacobian_of_time else (u,)
            found.append((f"the jacobian of the law {self.label!r}", self.jacobian, arguments))
        if self.domain is not None:
            found.append((f"the domain of the law {self.label!r}", self.domain, (u,)))
        # The laws of this package are made of their own methods.
        return [
            each for each in found if not isinstance(getattr(each[1], "__self__", None), Constraint)
        ]

    def value(self, u: Any, t: Any) -> Any:
        """h(u, t) as an array `(m,)` of the kind of `u`.

        **Raises:** `pnde.errors.ConstraintError` if `h` gives anything but real numbers in a row.
        """
        return as_row(self.h(u, t) if self.time_dependent else self.h(u), u, self.label)

    def jacobian_value(self, u: Any, t: Any) -> Any:
        """∂h/∂u as an array `(m, n)`, from the user's `jacobian`."""
        assert self.jacobian is not None
        return self.jacobian(u, t) if self._jacobian_of_time else self.jacobian(u)

    def bind(self, states: Sequence[str]) -> Constraint:
        """This law made ready for data with the given state names.

        **Raises:** `pnde.errors.ConstraintError` if the law is written for other states.
        """
        states = tuple(states)
        if self.states is None:
            bound = copy.copy(self)
            bound.states = states
            return bound
        if self.states != states:
            odd = next((s for s in states if s not in self.states), None)
            if odd is None:
                hint = f"order the states of the data as {few(self.states)}"
            else:
                hint = f"the data have a state {odd!r}{nearest(odd, self.states)}; rename or select the states"
            raise ConstraintError(
                f"the law {self.label!r} knows the states {few(self.states)}: {hint}"
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
        """The targets c `(..., m)` of trajectories whose laws start at `h0` `(..., m)`.

        **Raises:** `pnde.errors.ConstraintError` if there is not one target for each row.
        """
        return fill(self.target, h0, self.label)

    def __and__(self, other: Constraint) -> Constraint:
        if not isinstance(other, Constraint):
            raise ConstraintError(
                f"a law is joined by & with another law, not {type(other).__name__}; a plain function becomes one by "
                "pnde.Conserved"
            )
        return Stacked(self, other)


class Stacked(Constraint):
    """Several laws at once: the rows of each, one below the other. Made by `c1 & c2`."""

    def __init__(self, *parts: Constraint):
        flat: list[Constraint] = []
        for part in parts:
            flat.extend(part.parts if isinstance(part, Stacked) else (part,))
        self.parts: tuple[Constraint, ...] = tuple(flat)
        self._sizes: tuple[int, ...] | None = None
        super().__init__(
            self._stack,
            time_dependent=True,
            jacobian=self._stack_jacobian if all(p.jacobian for p in self.parts) else None,
            domain=self._domain if any(p.domain for p in self.parts) else None,
        )
        # ∂h/∂t is asked for only if a part depends on time.
        self.time_dependent = any(part.time_dependent for part in self.parts)

    @property
    def label(self) -> str:
        return " & ".join(part.label for part in self.parts)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} {self.label!r}: {self._equation()}"]
        lines.append(f"  c: {few([part._target_text() for part in self.parts])}")
        if self.states is not None:
            lines.append(f"  u: {few(self.states)}")
        return "\n".join(lines)

    def own_functions(
        self, u: Any, t: Any
    ) -> list[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
        return [own for part in self.parts for own in part.own_functions(u, t)]

    def _stack(self, u: Any, t: Any) -> Any:
        values = [part.value(u, t) for part in self.parts]
        self._sizes = tuple(int(value.shape[0]) for value in values)
        return u.__array_namespace__().concatenate(values)

    def value(self, u: Any, t: Any) -> Any:
        return self._stack(u, t)

    def _stack_jacobian(self, u: Any, t: Any) -> Any:
        xp = u.__array_namespace__()
        return xp.concatenate([part.jacobian_value(u, t) for part in self.parts], axis=0)

    def jacobian_value(self, u: Any, t: Any) -> Any:
        return self._stack_jacobian(u, t)

    def _domain(self, u: Any) -> Any:
        inside: Any = True
        for part in self.parts:
            if part.domain is not None:
                inside = inside & part.domain(u)
        return inside

    def bind(self, states: Sequence[str]) -> Constraint:
        bound = Stacked(*(part.bind(states) for part in self.parts))
        bound.states = tuple(states)
        return bound

    def _split(self, m: int) -> tuple[int, ...]:
        if self._sizes is None or sum(self._sizes) != m:
            raise ConstraintError(
                f"the laws {self.label!r} were not evaluated before they were used"
            )
        return self._sizes

    def row_names(self, m: int) -> tuple[str, ...]:
        sizes = self._split(m)
        return tuple(n for p, k in zip(self.parts, sizes, strict=True) for n in p.row_names(k))

    def targets(self, h0: np.ndarray) -> np.ndarray:
        ends = np.cumsum(self._split(h0.shape[-1]))[:-1]
        pieces = np.split(h0, ends, axis=-1)
        return np.concatenate(
            [p.targets(piece) for p, piece in zip(self.parts, pieces, strict=True)], axis=-1
        )


def as_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Names as a tuple; one name may be given by itself."""
    return (names,) if isinstance(names, str) else tuple(str(name) for name in names)


def as_target(target: Any) -> np.ndarray:
    """A target as an array `()` or `(m,)`, NaN for "initial".

    **Raises:** `pnde.errors.ConstraintError` if it is no such thing.
    """
    if isinstance(target, str) and target == "initial":
        return np.asarray(np.nan)
    wanted = 'a target is "initial", a number, or a number for each row (NaN: "initial")'
    try:
        given = np.asarray(target)
        c = given.astype(float) if given.dtype.kind in "iuf" else None
    except (TypeError, ValueError):
        c = None
    if c is None:
        raise ConstraintError(f"{wanted}, not {str(target)[:60]!r}")
    if c.ndim > 1:
        raise ConstraintError(f"{wanted}, not an array of shape {c.shape}")
    if np.isinf(c).any():
        raise ConstraintError(f"{wanted}; an infinite target is met by no state")
    return c


def fill(target: np.ndarray, h0: np.ndarray, label: str) -> np.ndarray:
    """`target` `()` or `(m,)`, where it is "initial" the values `h0` `(..., m)`."""
    m = h0.shape[-1]
    if target.ndim and target.shape != (m,):
        rows = "1 row" if m == 1 else f"{m} rows"
        raise ConstraintError(
            f"the law {label!r} has {rows} but {target.size} targets; give one number for each row"
        )
    return np.where(np.isnan(target), h0, target)


def few(names: Sequence[str]) -> str:
    """Names in a sentence: all, or the first and last of many."""
    shown = [name if len(name) <= 24 else f"{name[:23]}…" for name in names]
    if len(shown) <= 6:
        return ", ".join(shown)
    return f"{', '.join(shown[:3])}, …, {shown[-1]} ({len(shown)})"
