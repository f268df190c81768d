"""An explicit Runge-Kutta solve of a batch in common steps that is differentiated by storing, not by recomputing.

diffrax's checkpointed adjoint evaluates the field once more for each step on the way back, a third of the cost of a
training step. A training segment takes a handful of steps, so what their derivatives need fits in memory: the steps are
a `lax.scan` over a fixed number of slots, of which those that are not needed are skipped. Tableaus, interpolation and
step size control are diffrax's, and so are the results. Its `solver.step` in place of `_step` was measured too: a
training step of 2 × 64 units takes 2 to 8 % longer, and on two cores that of the 14-bus grid stops for ever (see
`order.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pnde.config import SolverConfig
from pnde.engines import Status
from pnde.engines.jax.sharding import Across
from pnde.engines.jax.solve import (
    SOLVERS,
    Retraction,
    Solution,
    absolute_tolerance,
    error_norm,
    is_explicit,
)
from pnde.models import Model

# So many slots are written out one after the other, which saves the copies of what is stored into the arrays of a loop:
# a tenth to a fifth of a step. More of them would take long to compile, and training starts with more; but where a slot
# is large, so is a step, and the compiler's time is soon made up for.
_UNROLLED, _UNROLLED_LARGE = 3, 8
_LARGE = 64 * 2**20


def solve_together(
    field: Callable[[Any, Array, Any], Array],
    u0: Array,
    times: Array,
    args: Any,
    settings: SolverConfig,
    slots: int | None,
    size: int = 0,
    retraction: Retraction | None = None,
    spread: np.ndarray | None = None,
    large_field: bool = False,
    across: Across | None = None,
) -> Solution:
    """As `pnde.engines.jax.solve.solve` for a batch with common steps, with room for `slots` of them, rejected ones
    included, of `size` bytes each; those of a `large_field` are not written out, for its program would be compiled for
    each. The status is `MAX_STEPS` where they did not suffice. Of a batch that is spread over devices the steps are
    common to all of it.

    With `slots` of `None` there are as many steps as the settings allow, and no derivative. That compiles in less than
    half of the time that diffrax's loop takes.
    """
    field = jax.jit(field)  # traced and differentiated once, not for each stage
    solver: Any = SOLVERS[settings.solver]()
    terms, end = diffrax.ODETerm(field), times[-1]
    order = solver.error_order(terms)
    controller: diffrax.AbstractStepSizeController
    if settings.step is None:
        controller, dt0 = (
            diffrax.PIDController(
                rtol=settings.rtol,
                atol=absolute_tolerance(settings, spread, u0),
                norm=error_norm if across is None else across.norm,
            ),
            None,
        )
    else:
        controller, dt0 = diffrax.ConstantStepSize(), jnp.asarray(settings.step, times.dtype)
    first, control = controller.init(terms, times[0], end, u0, dt0, args, solver.func, order)
    saved = jnp.full((*times.shape, *u0.shape), jnp.nan, u0.dtype).at[0].set(u0)

    def attempt(carry):
        t0, t1, u, slope, control, saved, steps = carry
        new, error, slopes = _step(field, solver.tableau, t0, t1, u, slope, args)
        dense = {"y0": u, "y1": new, "k": (t1 - t0) * slopes}
        interpolation = solver.interpolation_cls(t0=t0, t1=t1, **dense)
        if retraction is not None and settings.retract == "step":
            new = retraction(t1, new, args)
        keep, next0, next1, _, control, _ = controller.adapt_step_size(
            t0, t1, u, new, args, error, order, control
        )
        passed = keep & (times > t0) & (times <= t1)
        values = jax.vmap(interpolation.evaluate)(times)
        saved = jnp.where(jnp.expand_dims(passed, tuple(range(1, saved.ndim))), values, saved)
        u, slope = jnp.where(keep, new, u), jnp.where(keep, slopes[-1], slope)
        return next0, _clip(next1, end), u, slope, control, saved, steps + 1

    def slot(carry, _):
        return jax.lax.cond(carry[0] < end, attempt, lambda carry: carry, carry), None

    slope = field(times[0], u0, args)
    steps = jnp.zeros((), jnp.int32)
    carry = (times[0], _clip(first, end), u0, slope, control, saved, steps)
    if slots is None:
        carry = jax.lax.while_loop(
            lambda carry: (carry[0] < end) & (carry[-1] < settings.max_steps), attempt, carry
        )
    else:
        written_out = slots <= (_UNROLLED_LARGE if size > _LARGE else _UNROLLED) and not large_field
        carry, _ = jax.lax.scan(slot, carry, None, length=slots, unroll=slots if written_out else 1)
    reached, _, _, _, _, saved, steps = carry
    if retraction is not None and settings.retract != "never":
        saved = jax.vmap(retraction, in_axes=(0, 0, None))(times, saved, args)
    finite, defined = jnp.all(jnp.isfinite(saved)), jnp.all(jnp.isfinite(slope))
    if across is not None:
        finite, defined = across.all(finite), across.all(defined)
    status = jnp.where(finite, Status.OK, Status.NON_FINITE)
    # Where the field is not defined from the start, more steps do not help.
    unfinished = (reached < end) & defined
    return Solution(saved, jnp.where(unfinished, Status.MAX_STEPS, status), steps)


def slot_bytes(model: Model, u: Array) -> int:
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


class Slots:
    """How many slots the steps of training get: as few as are needed, for an unused one costs memory traffic too.

    `count` is `None` where steps are recomputed instead: for solvers that are not explicit, the backward solve,
    segments with time grids or jumps of their own, and steps too many or too large to store. After each step of
    training it follows from the steps of the last batches alone, so that a resumed run takes the same programs: others
    round differently.
    """

    _SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    _FIRST = 4  # until a whole window of batches has needed less: each size is a program to compile
    WINDOW = 32
    _MEMORY = 4 * 2**30

    def __init__(self, largest: int, recent: Iterable[float] = ()):
        self._sizes = tuple(size for size in self._SIZES if size <= largest)
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
        size = slot_bytes(model, segments.u) + _factor_bytes(model, segments.u)
        size = -(-size // len(segments.u.sharding.device_set))  # of each device's part
        room = cls._MEMORY // (members * size)
        return cls(min(room, settings.max_steps), recent)

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

    def recent_steps(self) -> np.ndarray:
        """The steps of the last batches, which a resumed run starts from."""
        return np.array(self._recent, dtype=float)

    def _enough(self) -> int | None:
        needed = max(self._recent, default=0)
        if len(self._recent) < self.WINDOW and self._sizes:
            needed = max(needed, min(self._FIRST, self._sizes[-1]))
        return next((size for size in self._sizes if size >= needed), None)


def _step(field, tableau, t0, t1, u, slope, args):
    """One step of a first-same-as-last method: the new state, its error estimate, and the slopes of the stages."""
    h, slopes = t1 - t0, [slope]

    def combine(weights):
        return h * sum(float(w) * k for w, k in zip(weights, slopes, strict=True) if w != 0)

    for row, c in zip(tableau.a_lower, tableau.c, strict=True):
        stage = u + combine(row)
        slopes.append(field(t0 + float(c) * h, stage, args))
    # The last stage of such a method is the new state.
    return stage, combine(tableau.b_error), jnp.stack(slopes)


def _clip(t, end):
    """Onto the end if within rounding of it, so that no sliver of a step is left."""
    return jnp.where(t > end - 100 * jnp.finfo(end.dtype).eps * jnp.abs(end), end, t)
