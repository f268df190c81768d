"""An explicit Runge-Kutta solve of a batch in common steps that is differentiated by storing, not by recomputing.

diffrax's checkpointed adjoint evaluates the field once more for each step on the way back, a third of the cost of a
training step. A training segment takes a handful of steps, so what their derivatives need fits in memory. Both ways are
loops over steps and stages, so that the field is compiled once for each way and not for each stage. Tableaus,
interpolation and step size control are diffrax's, and so are the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import CustomVJPPrimal, SymbolicZero
from jaxtyping import Array

from pnde.config import SolverConfig
from pnde.engines import Status
from pnde.engines.jax.recording import Pullback, Pullbacks, Recorder
from pnde.engines.jax.sharding import Across
from pnde.engines.jax.solve import (
    SOLVERS,
    Retraction,
    Solution,
    absolute_tolerance,
    error_norm,
)


def solve_together(
    field: Callable[[Any, Array, Any], Array],
    u0: Array,
    times: Array,
    args: Any,
    settings: SolverConfig,
    slots: int | None,
    retraction: Retraction | None = None,
    spread: np.ndarray | None = None,
    across: Across | None = None,
    room: Array | None = None,
) -> Solution:
    """As `pnde.engines.jax.solve.solve` for a batch with common steps, with room for the derivatives of `slots` of them
    by u0 and args. The status is `MAX_STEPS` where they did not suffice. A rejected step takes none, and none of its
    NaN gets into a gradient. Of a batch that is spread over devices the steps are common to all of it.

    They are stored in `room`, of `room_size` numbers, if there is one: it need not be cleared, and is returned for the
    next solve.

    With `slots` of `None` there is no derivative.
    """
    times = jnp.asarray(times, u0.dtype)
    norm = error_norm if across is None else across.norm
    solve = _Solve(field, times, settings, spread, norm, retraction)
    if slots is None:
        saved, ended = solve.there(u0, args)[:2]
    else:
        saved, ended, room = _differentiable(solve, slots)(u0, args, room)
    if retraction is not None and settings.retract != "never":
        saved = jax.vmap(retraction, in_axes=(0, 0, None))(times, saved, args)
    finite = jnp.all(jnp.isfinite(saved))
    if across is not None:
        finite = across.all(finite)
    status = jnp.where(finite, Status.OK, Status.NON_FINITE)
    status = jnp.where(ended.out_of_room, Status.MAX_STEPS, status)
    return Solution(saved, status, ended.attempted, room)


def room_size(
    field: Callable[[Any, Array, Any], Array],
    u0: Array,
    times: Array,
    args: Any,
    by: Any,
    settings: SolverConfig,
    slots: int,
) -> int:
    """How many numbers a solve stores for its derivatives by u0 and the args that `by` says."""
    evaluations = slots * len(SOLVERS[settings.solver].tableau.c)
    return evaluations * _recorder(field, times[0], u0, *eqx.partition(args, by)).size


class _Ended(NamedTuple):
    """How a walk ended: out of steps or of room for them, or not; and after how many that it attempted."""

    out_of_room: Array
    attempted: Array


class _Record(NamedTuple):
    """What the way back needs.

    - `ends`: the times between which each step went `(slots, 2)`.
    - `first`: of the field at u0. `evaluations`: of the field, one for each stage of a step.
    - `retractions`: of each step, if there are.
    """

    ends: Array
    first: Pullback
    evaluations: Pullbacks
    retractions: Pullbacks | None


class _Walk(NamedTuple):
    """Where a solve is: at u, with its slope, about to step from t0 to t1."""

    t0: Array
    t1: Array
    u: Array
    slope: Array
    control: Any
    saved: Array
    attempted: Array
    taken: Array
    record: _Record | None


class _Solve:
    """One explicit solve, there and back."""

    def __init__(
        self,
        field: Callable[[Any, Array, Any], Array],
        times: Array,
        settings: SolverConfig,
        spread: np.ndarray | None,
        norm: Callable[[Any], Array],
        retraction: Retraction | None,
    ):
        self.field, self.times, self.settings, self.spread = field, times, settings, spread
        self.norm = norm
        self.after_step = retraction if settings.retract == "step" else None
        self.solver: Any = SOLVERS[settings.solver]()
        tableau = self.solver.tableau
        # As arrays, by stage; the last stage of such a method is the new state, and its slope that of the next step.
        self.stages = len(tableau.c)
        self.lower = np.zeros((self.stages, self.stages + 1), times.dtype)
        for i, row in enumerate(tableau.a_lower):
            self.lower[i, : i + 1] = row
        self.c = np.asarray(tableau.c, times.dtype)
        self.error = np.asarray(tableau.b_error, times.dtype)

    def there(
        self,
        u0: Array,
        args: Any,
        slots: int | None = None,
        by: Any = None,
        room: Array | None = None,
    ) -> tuple[Array, _Ended, _Record | None, Array]:
        """The states at the times, how it ended, a record of the steps that were taken for their derivatives by u0 and
        the args that `by` says, in `room` if there is one, and how many these are. Without `slots` there is no
        record."""
        times, settings = self.times, self.settings
        evaluate, put_back, slope, record = self._functions(u0, args, slots, by, room)
        terms, end = diffrax.ODETerm(self.field), times[-1]
        order = self.solver.error_order(terms)
        controller, dt0 = self._controller(u0)
        first, control = controller.init(
            terms,
            times[0],
            end,
            u0,
            dt0,
            args,
            lambda terms, t, u, args: evaluate(record, 0, t, u)[0],
            order,
        )
        smallest = 16 * jnp.finfo(times.dtype).eps * jnp.max(jnp.abs(times))

        def goes_on(walk):
            moves = (walk.t1 - walk.t0 > smallest) | (walk.t1 >= end)
            room = True if slots is None else walk.taken < slots
            return (walk.t0 < end) & moves & room & (walk.attempted < settings.max_steps)

        def attempt(walk):
            t0, h, row = walk.t0, walk.t1 - walk.t0, walk.taken * self.stages

            def stage(i, carry):
                slopes, _, record = carry
                u = walk.u + h * _weighed(jnp.asarray(self.lower)[i], slopes)
                slope, record = evaluate(record, row + i, t0 + jnp.asarray(self.c)[i] * h, u)
                return slopes.at[i + 1].set(slope), u, record

            slopes = jnp.zeros((self.stages + 1, *u0.shape), u0.dtype).at[0].set(walk.slope)
            slopes, new, record = jax.lax.fori_loop(
                0, self.stages, stage, (slopes, walk.u, walk.record)
            )
            values = _weighed(self._dense(t0, walk.t1), jnp.stack([walk.u, new, *slopes]))
            new, record = put_back(record, walk.taken, walk.t1, new)
            keep, next0, next1, _, control, _ = controller.adapt_step_size(
                t0,
                walk.t1,
                walk.u,
                new,
                args,
                h * _weighed(self.error, slopes),
                order,
                walk.control,
            )
            if record is not None:
                record = record._replace(
                    ends=record.ends.at[walk.taken].set(jnp.stack([t0, walk.t1]))
                )
            return _Walk(
                next0,
                _clip(next1, end),
                jnp.where(keep, new, walk.u),
                jnp.where(keep, slopes[-1], walk.slope),
                control,
                jnp.where(keep & self._inside(t0, walk.t1), values, walk.saved),
                walk.attempted + 1,
                walk.taken + jnp.asarray(keep, jnp.int32),
                record,
            )

        zero = jnp.zeros((), jnp.int32)
        saved = jnp.full((*times.shape, *u0.shape), jnp.nan, u0.dtype).at[0].set(u0)
        walk = _Walk(times[0], _clip(first, end), u0, slope, control, saved, zero, zero, record)
        walk = jax.lax.while_loop(goes_on, attempt, walk)
        full = walk.attempted >= settings.max_steps
        if slots is not None:
            full = full | (walk.taken >= slots)
        ended = _Ended(full & (walk.t0 < end), walk.attempted)
        return walk.saved, ended, walk.record, walk.taken

    def back(self, record: _Record, taken: Array, saved: Array) -> tuple[Array, Any]:
        """What changed states at the times ask of u0 and args, by the steps that were taken."""
        shape = saved.shape[1:]
        zeros = jnp.zeros(shape, saved.dtype)

        def step(done, carry):
            of_u, of_slope, of_args = carry
            place = taken - 1 - done
            t0, t1 = record.ends[place]
            if record.retractions is not None:
                of_u, more = record.retractions.at(place)(of_u)
                of_args = _sum(of_args, more)
            values = jnp.where(self._inside(t0, t1), saved, 0)
            shares = _weighed(self._dense(t0, t1).T, values)

            def stage(done, carry):
                of_slopes, of_old, of_stage, of_args = carry
                i = self.stages - 1 - done
                asked = record.evaluations.at(place * self.stages + i)(of_slopes[i + 1])
                of_stage, of_args = _sum((of_stage, of_args), asked)
                weights = (t1 - t0) * jnp.asarray(self.lower)[i]
                of_slopes = of_slopes + jnp.tensordot(weights, of_stage, 0)
                return of_slopes, of_old + of_stage, zeros, of_args

            carry = (shares[2:].at[-1].add(of_slope), shares[0], of_u + shares[1], of_args)
            of_slopes, of_old, _, of_args = jax.lax.fori_loop(0, self.stages, stage, carry)
            return of_old, of_slopes[0], of_args

        nothing = jax.tree.map(jnp.zeros_like, jax.eval_shape(record.first, zeros)[1])
        of_u, of_slope, of_args = jax.lax.fori_loop(0, taken, step, (zeros, zeros, nothing))
        more_of_u, more_of_args = record.first(of_slope)
        return of_u + more_of_u + saved[0], _sum(of_args, more_of_args)

    def _functions(self, u0, args, slots, by, room):
        """The field, and what is done to the end of a step, each with a record that goes in and, longer by a row, out;
        and the first slope and the first record."""
        start = self.times[0]
        if slots is None:
            back = self.after_step or (lambda t, u, args: u)
            return (
                lambda record, row, t, u: (self.field(t, u, args), None),
                lambda record, row, t, u: (back(t, u, args), None),
                self.field(start, u0, args),
                None,
            )
        moving, still = eqx.partition(args, by)
        field = _recorder(self.field, start, u0, moving, still)

        def evaluate(record, row, t, u):
            slope, pullback = field(t, u, moving)
            return slope, record._replace(evaluations=record.evaluations.put(row, pullback))

        def put_back(record, row, t, u):
            if record.retractions is None:
                return u, record
            u, pullback = after_step(t, u, moving)
            return u, record._replace(retractions=record.retractions.put(row, pullback))

        retractions = None
        if self.after_step is not None:
            after_step = _recorder(self.after_step, start, u0, moving, still)
            retractions = after_step.pullbacks(slots, after_step(start, u0, moving)[1])
        slope, first = field(start, u0, moving)
        record = _Record(
            jnp.zeros((slots, 2), self.times.dtype),
            first,
            field.pullbacks(slots * self.stages, first, room),
            retractions,
        )
        return evaluate, put_back, slope, record

    def _controller(self, u0):
        settings = self.settings
        if settings.step is not None:
            return diffrax.ConstantStepSize(), jnp.asarray(settings.step, self.times.dtype)
        atol = absolute_tolerance(settings, self.spread, u0)
        return diffrax.PIDController(rtol=settings.rtol, atol=atol, norm=self.norm), None

    def _inside(self, t0, t1):
        """Which of the times a step from t0 to t1 passes `(T, 1, 1)`."""
        return ((self.times > t0) & (self.times <= t1))[:, None, None]

    def _dense(self, t0, t1):
        """What the state at each time is made of: the old state, the new one, and the slopes `(T, S + 3)`."""
        old, new, *slopes = np.eye(self.stages + 3, dtype=self.times.dtype)
        between = self.solver.interpolation_cls(
            t0=t0, t1=t1, y0=jnp.asarray(old), y1=jnp.asarray(new), k=(t1 - t0) * np.stack(slopes)
        )
        return jax.vmap(between.evaluate)(self.times)


def _recorder(function, start, u0, moving, still):
    """Of a function of (t, u, args), to be differentiated by u and those of the args that move."""

    def of_moving(t, u, moving):
        return function(t, u, eqx.combine(moving, still))

    return Recorder(of_moving, start, u0, moving)


def _differentiable(
    solve: _Solve, slots: int
) -> Callable[[Array, Any, Array | None], tuple[Array, _Ended, Array | None]]:
    """`solve.there`, with `solve.back` as its derivative by u0 and those args that it is differentiated by; and the
    room, if one was given."""

    @jax.custom_vjp
    def run(u0, args, room):
        return *solve.there(u0, args, slots, True)[:2], room

    def forward(u0, args, room):
        room = None if room is None else room.value
        by = jax.tree.map(lambda x: x.perturbed, args, is_leaf=_is_primal)
        u0, args = jax.tree.map(lambda x: x.value, (u0, args), is_leaf=_is_primal)
        saved, ended, record, taken = solve.there(u0, args, slots, by, room)
        rest = jax.tree.map(jnp.zeros_like, eqx.filter(args, by, inverse=True))
        assert record is not None  # as there are slots
        room = None if room is None else record.evaluations.room
        return (saved, ended, room), (record, taken, rest)

    def backward(kept, cotangents):
        record, taken, rest = kept
        saved, *_ = cotangents
        if isinstance(saved, SymbolicZero):
            saved = jnp.zeros(saved.shape, saved.dtype)
        of_u, of_args = solve.back(record, taken, saved)
        return of_u, eqx.combine(of_args, rest), None

    run.defvjp(forward, backward, symbolic_zeros=True)
    return run


def _is_primal(x: Any) -> bool:
    return isinstance(x, CustomVJPPrimal)


def _weighed(weights: Any, arrays: Array) -> Array:
    """Σ weights arrays, over the last axis of the one and the first of the other."""
    return jnp.tensordot(jnp.asarray(weights, arrays.dtype), arrays, 1)


def _sum(one: Any, other: Any) -> Any:
    return jax.tree.map(jnp.add, one, other)


def _clip(t, end):
    """Onto the end if within rounding of it, so that no sliver of a step is left."""
    return jnp.where(t > end - 100 * jnp.finfo(end.dtype).eps * jnp.abs(end), end, t)
