"""Inequalities that hold along a whole trajectory, as the user states them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, nearest
from pnde.laws.constraint import Constraint, as_names
from pnde.laws.linear import Linear


class Inequality:
    """The inequality h(u, t, w, p) ≥ 0, or lower ≤ h(u, t, w, p) ≤ upper.

    **Arguments:**

    - `h`: function of the state `u` of shape `(n,)`, and of any of the time `t`, the inputs `w` `(k,)` and the
        parameters `p` `(r,)`, by these names. Returns a number, a sequence of m numbers or an array `(m,)`.
    - `lower`, `upper`: a number, or one for each row; `None` for no bound on that side. In an array, infinite numbers
        say so of a row.
    - `margin`: how far h stays from its bounds, a number ≥ 0 or one for each row.
    - `jacobian`: function of the same arguments, giving ∂h/∂u of shape `(m, n)`; h is differentiated without it.
    - `names`: a name for each row, used in every message and report.
    - `states`: the state names it is written for, in order; data with other names are refused.

    Joined by `&` with others, and with laws.

    **Raises:** `pnde.errors.ConstraintError` if the arguments contradict each other.
    """

    #: Which states the rows are, by their indices `(m,)`, where they are states themselves.
    columns: np.ndarray | None = None

    def __init__(
        self,
        h: Callable[..., Any],
        *,
        lower: Any = 0.0,
        upper: Any = None,
        margin: Any = 0.0,
        jacobian: Callable[..., Any] | None = None,
        names: Sequence[str] | str | None = None,
        states: Sequence[str] | str | None = None,
    ):
        #: h as rows: of its targets nothing is used.
        self.rows = Constraint(h, jacobian=jacobian, names=names, states=states)
        self.lower = _limit(lower, -np.inf, "lower")
        self.upper = _limit(upper, np.inf, "upper")
        self.margin = _limit(margin, 0.0, "margin")
        self._check_limits()

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.rows.label

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        """This one, as `Joined` has several."""
        return (self,)

    def __repr__(self) -> str:
        ends = [
            "" if np.isinf(end).all() else f"{word} {np.array2string(end, threshold=6)}"
            for word, end in (("from", self.lower), ("to", self.upper))
        ]
        return f"{type(self).__name__} {self.label!r}: h {' '.join(filter(None, ends))}"

    def _check_limits(self) -> None:
        with np.errstate(invalid="ignore"):
            try:
                low, high = np.broadcast_arrays(self.lower + self.margin, self.upper - self.margin)
            except ValueError:
                raise ConstraintError(
                    f"the bounds of {self.label!r} have lengths that do not fit together; give a number, or one for "
                    "each row"
                ) from None
        if (self.margin < 0).any() or not np.isfinite(self.margin).all():
            raise ConstraintError(f"the margin of {self.label!r} is a number from 0 on")
        if np.isinf(low).all() and np.isinf(high).all():
            raise ConstraintError(f"{self.label!r} is bounded on no side: give lower= or upper=")
        for k in np.flatnonzero(~(low <= high))[:1]:
            raise ConstraintError(
                f"nothing lies between the bounds {np.ravel(low)[k]:g} and {np.ravel(high)[k]:g} of {self.label!r}, "
                "its margin included; lower= has to be below upper="
            )

    def limits(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        """The least and largest values of the m rows, `(m,)` each, with the margins.

        **Raises:** `pnde.errors.ConstraintError` if there is not one bound for each row.
        """
        low, high = self.lower + self.margin, self.upper - self.margin
        for end in (low, high):
            if end.ndim and end.shape != (m,):
                raise ConstraintError(
                    f"{self.label!r} has {m} row(s) but {end.size} bounds; give one number for each row"
                )
        return np.broadcast_to(low, (m,)).copy(), np.broadcast_to(high, (m,)).copy()

    def bind(self, states: Sequence[str]) -> Inequality:
        """This inequality made ready for data with the given state names.

        **Raises:** `pnde.errors.ConstraintError` if it is written for other states.
        """
        bound = copy.copy(self)
        bound.rows = self.rows.bind(states)
        return bound

    def __and__(self, other: Any) -> Joined:
        return Joined(None, (self,)) & other

    def __rand__(self, other: Any) -> Joined:
        return other & Joined(None, (self,))


class Bounded(Inequality):
    """States that stay between bounds: concentrations, populations, the stops of a joint.

    **Arguments:**

    - `names`: the names of the states.
    - `lower`, `upper`: a number, or one for each; `None` for no bound on that side.
    - `margin`: how far they stay from the bounds, a number ≥ 0 or one for each.
    """

    def __init__(
        self,
        names: Sequence[str] | str,
        *,
        lower: Any = None,
        upper: Any = None,
        margin: Any = 0.0,
    ):
        self._bounded = as_names(names)
        if not self._bounded:
            raise ConstraintError(
                "a Bounded names no state; give the names of those that are bounded"
            )
        super().__init__(
            self._unbound, lower=lower, upper=upper, margin=margin, names=self._bounded
        )
        self.limits(len(self._bounded))

    @property
    def label(self) -> str:
        return "bounded" if len(self._bounded) > 1 else self._bounded[0]

    def _unbound(self, u: Any) -> Any:
        raise ConstraintError("a Bounded has to be bound to state names: call bind(states)")

    def bind(self, states: Sequence[str]) -> Inequality:
        states = tuple(states)
        for name in self._bounded:
            if name not in states:
                raise ConstraintError(
                    f"the bounded state {name!r} is not in the data{nearest(name, states)}; the states are "
                    f"{', '.join(states)}"
                )
        bound = copy.copy(self)
        bound.columns = np.array([states.index(name) for name in self._bounded])
        bound.rows = Linear(np.eye(len(states))[bound.columns], names=self._bounded, states=states)
        return bound


class Joined:
    """A law and inequalities at once. Made by `law & inequality`.

    - `law`: the equality law, `None` for that of the data's built-in system, if they have one.
    - `inequalities`: of which each is one or more rows.
    """

    def __init__(self, law: Constraint | None, inequalities: tuple[Inequality, ...]):
        self.law, self.inequalities = law, inequalities

    @property
    def label(self) -> str:
        """What messages call it."""
        parts = [] if self.law is None else [self.law.label]
        return " & ".join([*parts, *(part.label for part in self.inequalities)])

    def __repr__(self) -> str:
        parts = [] if self.law is None else [repr(self.law)]
        return "\n".join([*parts, *(repr(part) for part in self.inequalities)])

    def __and__(self, other: Any) -> Joined:
        if isinstance(other, Joined | Inequality):
            theirs = other.law if isinstance(other, Joined) else None
            law = self.law if theirs is None else theirs if self.law is None else self.law & theirs
            return Joined(law, (*self.inequalities, *other.inequalities))
        return Joined(_joined(self.law, other), self.inequalities)

    def __rand__(self, other: Any) -> Joined:
        law = _joined(None, other)
        return Joined(law if self.law is None else law & self.law, self.inequalities)


def _joined(law: Constraint | None, other: Any) -> Constraint:
    if not isinstance(other, Constraint):
        raise ConstraintError(
            f"an inequality is joined by & with a law or another inequality, not {type(other).__name__}; a plain "
            "function becomes a law by pnde.Conserved"
        )
    return other if law is None else law & other


def split_laws(given: Any) -> tuple[Any, tuple[Inequality, ...]]:
    """What a user passes as `constraint`: the law, or what stands for it, and the inequalities."""
    if isinstance(given, Joined):
        return given.law, given.inequalities
    if isinstance(given, Inequality):
        return None, (given,)
    if isinstance(given, type) and issubclass(given, Inequality):
        raise ConstraintError(
            f"{given.__name__} is a kind of inequality; give one of that kind, such as {given.__name__}(...)"
        )
    return given, ()


def _limit(value: Any, absent: float, what: str) -> np.ndarray:
    """A bound as an array `()` or `(m,)`."""
    wanted = f"{what}= is a number, or a number for each row"
    try:
        given = np.asarray(absent if value is None else value)
        out = given.astype(float) if given.dtype.kind in "iuf" else None
    except (TypeError, ValueError):
        out = None
    if out is None or out.ndim > 1:
        raise ConstraintError(f"{wanted}, not {str(value)[:60]!r}")
    if np.isnan(out).any():
        raise ConstraintError(f"{wanted}; this one has entries that are not numbers")
    return out
