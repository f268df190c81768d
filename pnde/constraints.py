"""Laws that a trajectory obeys, as the user states them.

A law is h(u, t) = c: m invariants `h` of the state, and their targets `c`. The constraint of the paper is
g(u, t) = h(u, t) - c (Eq. 2). Nothing here imports an engine: a law is an ordinary function, and an engine evaluates it
on its own arrays.
"""

from __future__ import annotations

import copy
import inspect
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
        return _as_row(self.h(u, t) if self.time_dependent else self.h(u), u)

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
        return Stacked(self, other)


class Conserved(Constraint):
    """Quantities that keep the value they have at the start of a trajectory, such as an energy.

    `Conserved(energy)` is `Constraint(energy, target="initial")`; the keywords are those of `Constraint`.
    """

    def __init__(self, h: Callable[..., Any], **options: Any):
        super().__init__(h, target="initial", **options)


class Holonomic(Constraint):
    """Position constraints φ(q) = c of a second-order system with the state u = (q, q̇).

    The velocity rows φ'(q) q̇ = 0 are added (paper, Eq. 27-28), so that positions stay on the manifold and velocities
    stay tangent to it.

    **Arguments:**

    - `phi`: function of the positions `q` `(n/2,)`, giving k numbers; the law has m = 2k rows.
    - `target`: of the position rows, as in `Constraint`; 0 by default. That of the velocity rows is always 0.
    """

    def __init__(
        self,
        phi: Callable[[Any], Any],
        *,
        target: Any = 0.0,
        names: Sequence[str] | None = None,
        **options: Any,
    ):
        def h(u: Any) -> Any:
            import jax  # a law of this kind is only ever evaluated by the jax engine
            import jax.numpy as jnp

            half = u.shape[-1] // 2
            position, velocity = jax.jvp(lambda q: _as_row(phi(q), q), (u[:half],), (u[half:],))
            return jnp.concatenate([position, velocity])

        h.__name__ = getattr(phi, "__name__", "phi")
        if names is not None:
            names = (*names, *(f"d/dt {name}" for name in names))
        super().__init__(h, names=names, **options)
        self._position_target = np.nan if isinstance(target, str) else np.asarray(target, float)

    def targets(self, h0: np.ndarray) -> np.ndarray:
        half = h0.shape[-1] // 2
        position = np.where(np.isnan(self._position_target), h0[..., :half], self._position_target)
        return np.concatenate([position, np.zeros_like(position)], axis=-1)


class Linear(Constraint):
    """Linear laws A u = b.

    **Arguments:**

    - `A`: array `(m, n)`.
    - `b`: array `(m,)`, a number, or `"initial"`.
    """

    def __init__(self, A: Any, b: Any = "initial", **options: Any):
        self.matrix = np.atleast_2d(np.asarray(A, dtype=float))
        if not np.isfinite(self.matrix).all():
            raise ConstraintError("the matrix A of a Linear law has entries that are not finite")
        super().__init__(self._rows, target=b, jacobian=self._jacobian, **options)
        self.structure = ConstantJacobian(self.matrix)

    @property
    def label(self) -> str:
        return "linear"

    def _rows(self, u: Any) -> Any:
        return self._jacobian(u) @ u

    def _jacobian(self, u: Any) -> Any:
        return u.__array_namespace__().asarray(self.matrix, dtype=u.dtype)

    def bind(self, states: Sequence[str]) -> Constraint:
        if self.matrix.shape[1] != len(states):
            raise ConstraintError(
                f"the matrix A of a Linear law has {self.matrix.shape[1]} columns but the data have "
                f"{len(states)} states; give one column for each state"
            )
        return super().bind(states)


class Pinned(Constraint):
    """States that keep a fixed value, such as the voltage of a slack bus.

    **Arguments:**

    - `names`: the names of the states.
    - `values`: a number for each, or `"initial"`.
    """

    def __init__(self, names: Sequence[str], values: Any = "initial"):
        self._pinned = (names,) if isinstance(names, str) else tuple(names)
        super().__init__(self._unbound, target=values, names=self._pinned)

    @property
    def label(self) -> str:
        return "pinned"

    def _unbound(self, u: Any) -> Any:
        raise ConstraintError("a Pinned law has to be bound to state names: call bind(states)")

    def bind(self, states: Sequence[str]) -> Constraint:
        states = tuple(states)
        for name in self._pinned:
            if name not in states:
                raise ConstraintError(
                    f"the pinned state {name!r} is not in the data{nearest(name, states)}; "
                    f"the states are {', '.join(states)}"
                )
        rows = np.eye(len(states))[[states.index(name) for name in self._pinned]]
        return Linear(
            rows, "initial" if np.isnan(self.target).all() else self.target, names=self._pinned
        )


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
        return Stacked(*(part.bind(states) for part in self.parts))

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


class ConstantJacobian:
    """Structure of a law whose ∂h/∂u is the same matrix `(m, n)` at every state: it is factored once."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix


def as_constraint(law: Any) -> Constraint | None:
    """`law` itself if it is a `Constraint` or `None`; a plain function becomes `Conserved(law)`."""
    if law is None or isinstance(law, Constraint):
        return copy.copy(law)
    if callable(law):
        parameters = [
            p
            for p in inspect.signature(law).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if len(parameters) != 1:
            raise ConstraintError(
                f"a law given as a plain function takes the state alone; "
                f"{getattr(law, '__name__', 'this one')!r} takes {len(parameters)} arguments. "
                "For a law that depends on time use pnde.Constraint(h, time_dependent=True)"
            )
        return Conserved(law)
    raise ConstraintError(
        f"a law is a function of the state or a pnde.Constraint, not {type(law).__name__}"
    )


def _as_row(value: Any, u: Any) -> Any:
    """A number, sequence of numbers or array, as an array `(m,)` of the kind of `u`."""
    xp = u.__array_namespace__()
    if isinstance(value, (tuple, list)):
        value = xp.stack([xp.asarray(entry, dtype=u.dtype) for entry in value])
    return xp.reshape(xp.asarray(value, dtype=u.dtype), (-1,))
