"""Constraints on the positions of a second-order system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError
from pnde.laws.constraint import Constraint, as_names, as_target, fill
from pnde.laws.rows import as_row
from pnde.laws.signature import takes_time


class Holonomic(Constraint):
    """Position constraints φ(q) = c of a second-order system with the state u = (q, q̇).

    The velocity rows φ'(q) q̇ = 0 are added (paper, Eq. 27-28), so that positions stay on the manifold and velocities
    stay tangent to it.

    **Arguments:**

    - `phi`: function of the positions `q` `(n/2,)`, giving k numbers; the law has m = 2k rows.
    - `target`: of the position rows, as in `Constraint`; 0 by default. That of the velocity rows is always 0.
    - `names`: of the position rows.
    """

    def __init__(
        self,
        phi: Callable[[Any], Any],
        *,
        target: Any = 0.0,
        names: Sequence[str] | str | None = None,
        **options: Any,
    ):
        if not callable(phi):
            raise ConstraintError(
                f"a position constraint is a function of the positions, not {type(phi).__name__}"
            )
        self._phi = phi
        if takes_time(phi, f"the position constraint {self.label!r}"):
            raise ConstraintError(
                f"the position constraint {self.label!r} takes the time; it has to take the positions alone"
            )
        rows = None if names is None else as_names(names)
        super().__init__(
            self._rows,
            names=None if rows is None else (*rows, *(f"d/dt {name}" for name in rows)),
            **options,
        )
        self.target = as_target(target)

    @property
    def label(self) -> str:
        return getattr(self._phi, "__name__", "phi").strip("<>")

    def own_functions(
        self, u: Any, t: Any
    ) -> list[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
        law = (f"the position constraint {self.label!r}", self._phi, (u[: len(u) // 2],))
        return [law, *super().own_functions(u, t)]

    def _rows(self, u: Any) -> Any:
        import jax  # a law of this kind is only ever evaluated by the jax engine
        import jax.numpy as jnp

        half = u.shape[-1] // 2

        def phi(q: Any) -> Any:
            return as_row(self._phi(q), q, self.label)

        position, velocity = jax.jvp(phi, (u[:half],), (u[half:],))
        return jnp.concatenate([position, velocity])

    def bind(self, states: Sequence[str]) -> Constraint:
        if len(states) % 2:
            raise ConstraintError(
                f"the position constraint {self.label!r} is one of states (q, q̇), as many velocities as positions, but "
                f"the data have {len(states)} states"
            )
        return super().bind(states)

    def targets(self, h0: np.ndarray) -> np.ndarray:
        position = fill(self.target, h0[..., : h0.shape[-1] // 2], self.label)
        return np.concatenate([position, np.zeros_like(position)], axis=-1)
