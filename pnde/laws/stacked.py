"""Several laws at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError
from pnde.laws.constraint import Constraint, few


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
