"""Constraints on the positions of a second-order system."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError
from pnde.laws.constraint import Constraint, as_names, as_target, fill
from pnde.laws.instant import Instant
from pnde.laws.rows import as_row
from pnde.laws.signature import Arguments, arguments_of


class Holonomic(Constraint):
    """Position constraints φ(q, t, w, p) = c of a second-order system with the state u = (q, q̇).

    The velocity rows dφ/dt = ∂φ/∂q q̇ + ∂φ/∂t + ∂φ/∂w ẇ = 0 are added (paper, Eq. 27-28), so that positions stay on the
    manifold and velocities stay tangent to it. An input of a position constraint, such as a pivot that moves, has to
    have an acceleration: `interpolation="cubic"`.

    **Arguments:**

    - `phi`: function of the positions `q` `(n/2,)`, and of any of `t`, `w` and `p`, giving k numbers; the law has
        m = 2k rows.
    - `target`: of the position rows, as in `Constraint`; 0 by default. That of the velocity rows is always 0.
    - `names`: of the position rows.
    """

    of_velocities = True

    def __init__(
        self,
        phi: Callable[..., Any],
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
        self._phi_arguments = arguments_of(phi, f"the position constraint {self.label!r}")
        rows = None if names is None else as_names(names)
        super().__init__(
            self._rows,
            names=None if rows is None else (*rows, *(f"d/dt {name}" for name in rows)),
            **options,
        )
        self.target = as_target(target)
        self.takes = self._phi_arguments.roles

    @property
    def label(self) -> str:
        return getattr(self._phi, "__name__", "phi").strip("<>")

    def own_functions(self) -> list[tuple[str, Callable[..., Any], Arguments]]:
        @functools.wraps(self._phi)
        def of_state(u: Any, *placed: Any, **named: Any) -> Any:
            return self._phi(u[: len(u) // 2], *placed, **named)

        law = (f"the position constraint {self.label!r}", of_state, self._phi_arguments)
        return [law, *super().own_functions()]

    def _rows(self, u: Any) -> Any:
        raise AssertionError("`value` is called instead")

    def value(self, u: Any, at: Instant) -> Any:
        import jax  # a law of this kind is only ever evaluated by the jax engine
        import jax.numpy as jnp

        half = u.shape[-1] // 2

        def phi(q: Any, t: Any, w: Any) -> Any:
            return as_row(
                self._phi_arguments.call(self._phi, q, at._replace(t=t, w=w)), q, self.label
            )

        t = jnp.asarray(at.t, jnp.result_type(at.t, jnp.float32))
        rates = u[half:], jnp.ones_like(t), at.rate
        position, velocity = jax.jvp(phi, (u[:half], t, at.w), rates)
        return jnp.concatenate([position, velocity])

    def velocity_rows(self, m: int) -> np.ndarray:
        return np.arange(m // 2, m)

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
