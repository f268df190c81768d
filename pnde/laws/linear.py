"""Linear laws, and states that keep their value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, nearest
from pnde.laws.constraint import Constraint, as_names


class Linear(Constraint):
    """Linear laws A u = b.

    **Arguments:**

    - `A`: array `(m, n)`.
    - `b`: array `(m,)`, a number, or `"initial"`.
    """

    def __init__(self, A: Any, b: Any = "initial", **options: Any):
        try:
            self.matrix = np.atleast_2d(np.asarray(A, dtype=float))
        except (TypeError, ValueError):
            raise ConstraintError(
                "the matrix A of a Linear law is not one of real numbers, with rows of one length"
            ) from None
        if self.matrix.ndim > 2:
            raise ConstraintError(
                f"the matrix A of a Linear law has the shape {self.matrix.shape} instead of (rows, states)"
            )
        if not np.isfinite(self.matrix).all():
            raise ConstraintError("the matrix A of a Linear law has entries that are not finite")
        super().__init__(self._rows, target=b, jacobian=self._jacobian, **options)
        # Both numbers are known, so the law can be refused before there are data.
        self.row_names(len(self.matrix))
        self.targets(np.zeros(len(self.matrix)))
        self.structure = ConstantJacobian(self.matrix)

    @property
    def label(self) -> str:
        return self.names[0] if self.names is not None and len(self.names) == 1 else "linear"

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
        self._pinned = as_names(names)
        super().__init__(self._unbound, target=values, names=self._pinned)
        self.targets(np.zeros(len(self._pinned)))

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
        return Linear(rows, self.target, names=self._pinned, states=states)


class ConstantJacobian:
    """Structure of a law whose ∂h/∂u is the same matrix `(m, n)` at every state: it is factored once."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix
