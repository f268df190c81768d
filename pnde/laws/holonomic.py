"""Constraints on the positions of a second-order system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pnde.laws.constraint import Constraint, as_row


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
            position, velocity = jax.jvp(lambda q: as_row(phi(q), q), (u[:half],), (u[half:],))
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
