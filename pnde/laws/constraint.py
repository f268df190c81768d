"""A law that a trajectory obeys, as the user states it, and several of them at once.

A law is h(u, t, w, p) = c: m invariants `h` of the state, the time, inputs and parameters, and their targets `c`. The
constraint of the paper is g = h - c (Eq. 2). Nothing here imports an engine: a law is an ordinary function, and an
engine evaluates it on its own arrays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, nearest
from pnde.laws.instant import Instant
from pnde.laws.rows import as_row
from pnde.laws.signature import Arguments, Role, arguments_of


class Constraint:
    """The law h(u, t, w, p) = c.

    **Arguments:**

    - `h`: function of the state `u` of shape `(n,)`, and of any of the time `t`, the inputs `w` `(k,)` and the
        parameters `p` `(r,)`, by these names. Returns a number, a sequence of m numbers or an array `(m,)`. Written
        with `jax.numpy`, or with arithmetic only.
    - `target`: `"initial"` (c = h at the start of each trajectory), a number, or an array `(m,)`; NaN in the array
        means "initial" for that row.
    - `jacobian`: function of the same arguments, giving ∂h/∂u of shape `(m, n)`. Without it the engine
        differentiates `h`.
    - `time_dependent`: says that the second argument of `h` is the time where it has another name.
    - `names`: a name for each row, used in every message and report.
    - `states`: the state names the law is written for, in order; data with other names are refused.
    - `domain`: function of `u`, true where the law is defined (such as positive populations).
    - `jumps`: names of the states that may jump where an input does. Rows with a fixed target are then met again by
        these alone, moved as little as possible in the metric; all states by default. The targets of rows that are
        "initial" follow: they become h after the jump.
    - `julia`: the law's twin for the julia engine, as a Julia expression or the path of a `.jl` file: a function of the
        state, or the name of a law of the Julia package. It runs as your own code.
    - `julia_parameters`: numbers and arrays; the twin is then called with them as keywords, and gives the law.

    **Raises:** `pnde.errors.ConstraintError` if the arguments contradict each other.
    """

    #: How ∂h/∂u is built, if it is more than a dense array; see `pnde.engines.jax.structures`.
    structure: Any = None
    #: The names of the inputs that it is written for, in order; a law of the user's takes those of the data.
    inputs: tuple[str, ...] = ()
    #: Whether it has rows of velocities, which need an acceleration of the inputs: these have to be cubic.
    of_velocities: bool = False

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
        jumps: Sequence[str] | str | None = None,
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
        self.jumps = None if jumps is None else as_names(jumps)
        self.julia = julia
        self.julia_parameters = julia_parameters
        what = f"the law {self.label!r}"
        self._arguments = arguments_of(h, what, time_dependent=time_dependent)
        self.takes: frozenset[Role] = self._arguments.roles
        if jacobian is not None:
            self._jacobian_arguments = arguments_of(jacobian, f"the jacobian of {what}")
        if domain is not None:
            arguments_of(domain, f"the domain of {what}", allowed=frozenset())

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

    @property
    def moves(self) -> bool:
        """Whether its manifold moves with the time, by itself or with an input."""
        return bool(self.takes & {"t", "w"})

    def _equation(self) -> str:
        return f"h({', '.join(['u', *(role for role in 'twp' if role in self.takes)])}) = c"

    def _target_text(self) -> str:
        if np.isnan(self.target).all():
            return "the values at the start of each trajectory"
        numbers = np.atleast_1d(self.target)
        return few(["initial" if np.isnan(c) else f"{c:g}" for c in numbers])

    def own_functions(self) -> list[tuple[str, Callable[..., Any], Arguments]]:
        """The user's functions in this law, each with what messages call it and what it takes."""
        found = [(f"the law {self.label!r}", self.h, self._arguments)]
        if self.jacobian is not None:
            what = f"the jacobian of the law {self.label!r}"
            found.append((what, self.jacobian, self._jacobian_arguments))
        if self.domain is not None:
            found.append((f"the domain of the law {self.label!r}", self.domain, Arguments()))
        # The laws of this package are made of their own methods.
        return [
            each for each in found if not isinstance(getattr(each[1], "__self__", None), Constraint)
        ]

    def value(self, u: Any, at: Instant) -> Any:
        """h of a state at an instant as an array `(m,)` of the kind of `u`.

        **Raises:** `pnde.errors.ConstraintError` if `h` gives anything but real numbers in a row.
        """
        return as_row(self._arguments.call(self.h, u, at), u, self.label)

    def jacobian_value(self, u: Any, at: Instant) -> Any:
        """∂h/∂u as an array `(m, n)`, from the user's `jacobian`."""
        assert self.jacobian is not None
        return self._jacobian_arguments.call(self.jacobian, u, at)

    def fixed_rows(self, m: int) -> np.ndarray:
        """Which of the m rows have a target that is fixed, `(m,)`; those of the others are "initial"."""
        return np.isfinite(self.targets(np.full(m, np.nan)))

    def velocity_rows(self, m: int) -> np.ndarray:
        """Which of the m rows tell about velocities of a second-order system, as indices; the others are rows of
        positions, whose rates are among these."""
        return np.arange(m)

    def may_jump(self) -> np.ndarray | None:
        """1 for each state that may jump with an input, else 0, `(n,)`; `None` if all may. The law is bound."""
        if self.jumps is None or self.states is None:
            return None
        return np.array([float(name in self.jumps) for name in self.states])

    def bind(self, states: Sequence[str]) -> Constraint:
        """This law made ready for data with the given state names.

        **Raises:** `pnde.errors.ConstraintError` if the law is written for other states.
        """
        states = tuple(states)
        odd = next((name for name in self.jumps or () if name not in states), None)
        if odd is not None:
            raise ConstraintError(
                f"the law {self.label!r} says that the state {odd!r} may jump, but the data have no such state"
                f"{nearest(odd, states)}; correct jumps="
            )
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

    def __and__(self, other: Any) -> Constraint:
        if not isinstance(other, Constraint):
            if hasattr(other, "inequalities"):
                return NotImplemented  # they know how
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
            jacobian=self._stack_jacobian if all(p.jacobian for p in self.parts) else None,
            domain=self._domain if any(p.domain for p in self.parts) else None,
        )
        self.takes = frozenset().union(*(part.takes for part in self.parts))
        self.of_velocities = any(part.of_velocities for part in self.parts)
        named = [part.jumps for part in self.parts if part.jumps is not None]
        if named:  # a part that names none leaves it to the others
            self.jumps = tuple(dict.fromkeys(name for names in named for name in names))

    @property
    def label(self) -> str:
        return " & ".join(part.label for part in self.parts)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} {self.label!r}: {self._equation()}"]
        lines.append(f"  c: {few([part._target_text() for part in self.parts])}")
        if self.states is not None:
            lines.append(f"  u: {few(self.states)}")
        return "\n".join(lines)

    def own_functions(self) -> list[tuple[str, Callable[..., Any], Arguments]]:
        return [own for part in self.parts for own in part.own_functions()]

    def _stack(self, u: Any, t: Any, w: Any, p: Any) -> Any:
        raise AssertionError("`value` is called instead")

    def value(self, u: Any, at: Instant) -> Any:
        values = [part.value(u, at) for part in self.parts]
        self._sizes = tuple(int(value.shape[0]) for value in values)
        return u.__array_namespace__().concatenate(values)

    def _stack_jacobian(self, u: Any, t: Any, w: Any, p: Any) -> Any:
        raise AssertionError("`jacobian_value` is called instead")

    def jacobian_value(self, u: Any, at: Instant) -> Any:
        xp = u.__array_namespace__()
        return xp.concatenate([part.jacobian_value(u, at) for part in self.parts], axis=0)

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

    def sizes(self, m: int) -> tuple[int, ...]:
        """How many of the m rows each part has."""
        if self._sizes is None or sum(self._sizes) != m:
            raise ConstraintError(
                f"the laws {self.label!r} were not evaluated before they were used"
            )
        return self._sizes

    def velocity_rows(self, m: int) -> np.ndarray:
        sizes, first = self.sizes(m), 0
        rows: list[np.ndarray] = []
        for part, size in zip(self.parts, sizes, strict=True):
            rows.append(first + part.velocity_rows(size))
            first += size
        return np.concatenate(rows)

    def row_names(self, m: int) -> tuple[str, ...]:
        sizes = self.sizes(m)
        return tuple(n for p, k in zip(self.parts, sizes, strict=True) for n in p.row_names(k))

    def targets(self, h0: np.ndarray) -> np.ndarray:
        ends = np.cumsum(self.sizes(h0.shape[-1]))[:-1]
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
