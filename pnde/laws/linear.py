"""Linear laws, and states that keep their value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, nearest
from pnde.laws.constraint import Constraint


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


class ConstantJacobian:
    """Structure of a law whose ∂h/∂u is the same matrix `(m, n)` at every state: it is factored once."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix
