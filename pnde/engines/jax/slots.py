"""How many steps of a solve are stored for their derivative in a training."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Array

from pnde.engines import Status
from pnde.engines.jax.solve import SOLVERS, is_explicit
from pnde.models import Model


class Slots:
    """How many slots the steps of training get: each number is a program to compile, and room costs memory traffic.

    `count` is `None` where steps are recomputed instead: for solvers that are not explicit, the backward solve,
    segments with time grids or jumps of their own, and steps too many or too large to store. After each step of
    training it follows from the steps of the last batches alone, so that a resumed run takes the same programs. Of
    steps of one size it is known.
    """

    _SIZES = (4, 8, 16, 32)
    WINDOW = 32
    _MEMORY = 4 * 2**30

    def __init__(self, largest: int, recent: Iterable[float] = (), exactly: int | None = None):
        sizes = self._SIZES if exactly is None else ((exactly,) if exactly <= largest else ())
        self._sizes = sorted({min(size, largest) for size in sizes} - {0})
        self._recent: deque[float] = deque(recent, maxlen=self.WINDOW)
        self.count = self._enough()

    @classmethod
    def for_training(
        cls, model: Model, segments: Any, recent: Iterable[float] = (), members: int = 1
    ) -> Slots:
        """For a batch of segments of each member, as many slots as there is memory for; `recent` are steps of earlier
        batches."""
        settings = model.config.solver
        own_steps = segments.grid.ndim > 1 or segments.drive.jumps is not None
        if not is_explicit(settings) or settings.adjoint == "backsolve" or own_steps:
            return cls(0)
        size = _activation_bytes(model, segments.u) + _factor_bytes(model, segments.u)
        size = -(-size // len(segments.u.sharding.device_set))  # of each device's part
        largest = min(cls._MEMORY // (members * size), settings.max_steps)
        if settings.step is None:
            return cls(largest, recent)
        steps = np.ptp(np.asarray(segments.grid)) / settings.step
        return cls(largest, recent, exactly=math.ceil(steps * (1 - 1e-6)))

    def too_few(self, status: int) -> bool:
        """Whether a step has to be done again, because it ran out of slots; there are more of them then."""
        if self.count is None or status != Status.MAX_STEPS:
            return False
        more = [size for size in self._sizes if size > self.count]
        self.count = more[0] if more else None
        return True

    def used(self, steps: float) -> None:
        """Note the steps of a batch, and take as many slots as the last ones needed."""
        self._recent.append(steps)
        self.count = self._enough()

    def at_most(self) -> Iterator[int | None]:
        """The most that there is room for, and where even they are too few, none: for a gradient that is taken once."""
        if self._sizes:
            yield self._sizes[-1]
        yield None

    def recent_steps(self) -> np.ndarray:
        """The steps of the last batches, which a resumed run starts from."""
        return np.array(self._recent, dtype=float)

    def _enough(self) -> int | None:
        needed = max(self._recent, default=0)
        return next((size for size in self._sizes if size >= needed), None)


def _activation_bytes(model: Model, u: Array) -> int:
    """What the derivative of one step needs of a batch `(B, ...)`: of each evaluation, activations and their slopes."""
    evaluations = SOLVERS[model.config.solver.solver].tableau.num_stages
    # Of a potential the forward pass, its gradient, and what the derivatives of both need.
    passes = 6 if model.mechanical else 2
    return passes * evaluations * u.shape[0] * sum(model.layer_sizes) * u.dtype.itemsize


def _factor_bytes(model: Model, u: Array) -> int:
    """What the factors of a step's projections need, kept for their derivatives; it counts for a large grid alone."""
    structure = None if model.constraint is None else model.constraint.structure
    saddle = getattr(structure, "saddle_point", None)
    if saddle is None or model.config.method == "nde":
        return 0
    evaluations = SOLVERS[model.config.solver.solver].tableau.num_stages
    return evaluations * u.shape[0] * saddle.elimination.factor_size * u.dtype.itemsize
