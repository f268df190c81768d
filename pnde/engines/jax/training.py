"""A training step: mean squared error over the predicted points of segments, AdamW, one program for all batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pnde.engines import Batch, Status, Step
from pnde.engines.jax import fields
from pnde.engines.jax.batches import Segments, on_device, split_segments, spread
from pnde.engines.jax.devices import on_device_of
from pnde.engines.jax.driving import drive, instant
from pnde.engines.jax.dynamics import Dynamics
from pnde.engines.jax.guarding import guarded
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.optimiser import ADAM, restored, saved
from pnde.engines.jax.processes import check_alike
from pnde.engines.jax.programs import of_model
from pnde.engines.jax.sharding import mesh_of, on_each, put
from pnde.engines.jax.slots import Slots
from pnde.engines.jax.solve import Solution, check_inputs, is_explicit
from pnde.engines.jax.stepping import room_size, solve_together
from pnde.engines.rank import check_rows
from pnde.models import Model, Weights


def batch_loss(
    model: Model,
    parameters: fields.Parameters,
    segments: Segments,
    slots: int | None = None,
    guard: bool = False,
    derivative: bool = True,
    room: Array | None = None,
) -> tuple[Float[Array, ""], Solution]:
    """Mean squared error of the normalised states at the predicted points, and the solution.

    The mean is over segments, the points after the first, and states. (The authors' code drops the first segment of a
    batch instead of the first point.) Segments that share their time grid are solved as one system with common steps,
    as in the paper; others, and those with jumps, each with their own. With `slots` the common steps are stored for
    their derivative instead of recomputed, in `room` if there is one, see `solve_together`; without `derivative` there
    is none. With `guard` the gradient is right where a rejected step met NaN; it takes a little longer. Of segments
    that are spread over devices the loss is that of this device's part, and the sum over devices the whole's.
    """
    settings = model.config.solver
    dynamics = model_dynamics(model)
    if guard:
        dynamics = replace(dynamics, velocity=guarded(dynamics.velocity))

    def run(u0, drive, grid, c):
        args = (parameters, drive, c)
        if common and (slots is not None or not derivative):
            return solve_together(
                dynamics.field,
                u0,
                grid,
                args,
                settings,
                slots,
                dynamics.retraction,
                model.std,
                across,
                room,
            )
        # The errors of a training are larger than what a kink adds.
        return dynamics.solve(
            u0,
            grid,
            args,
            settings,
            stop_at_kinks=False,
            spread=model.std,
            across=across if common else None,
        )[0]

    u, c, drive, grid, share, known, _ = segments
    across = segments.across
    # An implicit solver would not see that the segments of one system do not touch each other.
    common = grid.ndim == 1 and is_explicit(settings) and drive.jumps is None
    if common:
        solution = run(u[:, 0], drive, grid, c)
        predicted = jnp.swapaxes(solution.u, 0, 1)
    else:
        solution = jax.vmap(run, (0, 0, None if grid.ndim == 1 else 0, 0))(u[:, 0], drive, grid, c)
        predicted = solution.u
    error = (predicted - u)[:, 1:] / model.std.astype(u.dtype)[None, None]
    if known is None:
        return share @ jnp.mean(error**2, axis=(1, 2)), solution
    # The mean over the entries that are known; what stands for the others has no weight, and no gradient.
    squares = jnp.sum(jnp.where(known > 0, error, 0) ** 2, axis=(1, 2))
    return share @ (squares / jnp.maximum(jnp.sum(known, axis=(1, 2)), 1)), solution


def model_dynamics(model: Model, domain: Any = None) -> Dynamics:
    """How a model moves; `domain` is that of its law, where a solve ends outside of it."""
    law = model.constraint if model.config.method != "nde" else None
    bounds = model.bounds if model.config.method == "pnde" else None

    def velocity(parameters, at, u, c):
        return fields.velocity(model, parameters, at, u, c)

    return Dynamics(
        velocity=velocity,
        law=law,
        metric=model.metric,
        method=model.config.projection.method,
        retracts=(law is not None or bounds is not None) and model.config.method == "pnde",
        domain=domain,
        bounds=bounds,
    )


class JaxTraining:
    """A model in training; see `pnde.engines.Training`."""

    def __init__(
        self,
        model: Model,
        train: Sequence[Batch],
        valid: Sequence[Batch],
        weights: Weights,
        state: Mapping[str, np.ndarray] | None,
    ):
        self._model = model
        self._dtype = jnp.dtype(model.config.solver.precision)
        conditions = [batch.conditions for batch in (*train, *valid)]
        if conditions[0].inputs is not None:
            check_inputs(model.config.solver, any(each.jump for each in conditions))
        self._mesh = mesh_of(model.config)
        self._train, starts = [], []
        for batch in train:
            segments = on_device(batch, self._dtype)
            if model.constraint is not None and model.config.method != "nde":
                starts.append(_conditions(model, segments.drive, segments.u[:, 0]))
            self._train.append(spread(self._mesh, segments))
        self._valid = [spread(self._mesh, on_device(batch, self._dtype)) for batch in valid]
        if model.constraint is not None and starts:
            check_rows(
                jnp.concatenate(starts),
                fields.error_as(model.constraint, model.metric, model.config.projection.method),
                f"the law {model.constraint.label!r}",
                best=lambda segment: _best_condition(model, train, segment),
            )
        self._parameters = fields.parameters(weights, self._dtype)
        if state is None:
            self._adam, recent = ADAM.init(ravel_pytree(self._parameters)[0]), np.empty(0)
        else:
            self._adam, recent = restored(self._parameters, state)
        check_alike(self._adam.count, *(weights[k] for k in sorted(weights)), *(b.u for b in train))
        self._parameters, self._adam = put(self._mesh, (self._parameters, self._adam))
        self._slots = Slots.for_training(model, self._train[0], recent)
        self._room: Array | None = None
        self._slots_of_room: int | None = None

    @numerics()
    def step(self, index: int, rate: float) -> Step:
        with on_device_of(self._model.config.device):
            return self._step(index, rate)

    def _step(self, index: int, rate: float) -> Step:
        of_step = np.asarray(rate, self._dtype)
        batch, guard = self._train[index], False
        # Segments that jump, in batches of their own, share no steps that could be stored.
        slots = self._slots if batch.drive.jumps is None else Slots(0)
        while True:
            room = None if guard else self._room_for(slots.count)
            self._parameters, self._adam, loss, norm, status, solver_steps, room = step(
                self._model,
                slots.count,
                guard,
                self._mesh,
                self._parameters,
                self._adam,
                batch,
                of_step,
                room,
            )
            if room is not None:
                self._room = room
            if slots.too_few(int(status)):
                continue
            if guard or not can_guard(self._model) or not np.isfinite(loss) or np.isfinite(norm):
                break
            guard = True
        done = Step(float(loss), float(norm), float(solver_steps), Status(int(status)))
        slots.used(done.solver_steps)
        return done

    def _room_for(self, slots: int | None) -> Array | None:
        """Where a step stores what its derivative needs: in the same place as the last one, which saves clearing it."""
        if slots is None or self._mesh is not None:
            return None
        if slots != self._slots_of_room:
            self._room = None  # before there is another
            largest = max(self._train, key=lambda batch: batch.u.shape[0])
            self._room = _new_room(self._model, self._parameters, largest, slots)
            self._slots_of_room = slots
        return self._room

    @numerics()
    def loss(self, index: int) -> Step:
        with on_device_of(self._model.config.device):
            loss, steps, status = _valid_loss(
                self._model, self._mesh, self._parameters, self._valid[index]
            )
        return Step(float(loss), 0.0, float(steps), Status(int(status)))

    def weights(self) -> Weights:
        return fields.weights(self._parameters)

    @numerics()
    def state(self) -> dict[str, np.ndarray]:
        return saved(self._adam, self._parameters, self._slots.recent_steps())


def can_guard(model: Model) -> bool:
    """Whether a solve can be differentiated through `guarded`: an implicit solver needs the field's forward mode."""
    return is_explicit(model.config.solver)


def _new_room(model: Model, parameters: fields.Parameters, segments: Segments, slots: int) -> Array:
    """For the steps of a batch. The field is traced once more for its size, some tenths of a second."""
    size = room_size(
        model_dynamics(model).field,
        segments.u[:, 0],
        segments.grid,
        (parameters, segments.drive, segments.c),
        (True, False, False),
        model.config.solver,
        slots,
    )
    return jnp.zeros(size, segments.u.dtype)


def one_step(model, slots, guard, parameters, adam, segments, rate, room=None):
    """One step of the optimiser; nothing changes if the gradient is not finite, or `slots` were too few."""
    loss = partial(batch_loss, model, slots=slots, guard=guard, room=room)
    (value, solution), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, segments)
    if segments.across is not None:
        value, gradient = segments.across.sum((value, gradient))
    # As one vector: the optimiser is compiled once then, and not for each array.
    before, unravel = ravel_pytree(parameters)
    gradient, _ = ravel_pytree(gradient)
    norm = optax.tree.norm(gradient)
    clip = model.config.optimiser.clip
    if clip is not None:
        # Component by component, as the reference does.
        gradient = jnp.clip(gradient, -clip, clip)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes its counter with numbers
        direction, next_adam = ADAM.update(gradient, adam)
    after = before - rate * (direction + model.config.optimiser.weight_decay * before)
    steps, status = _how_it_went(solution, segments)
    done = jnp.isfinite(norm)
    if slots is not None:
        done = done & (status != Status.MAX_STEPS)
    parameters = unravel(jnp.where(done, after, before))
    adam = jax.tree.map(partial(jnp.where, done), next_adam, adam)
    return parameters, adam, value, norm, status, steps, solution.room


@of_model(static_argnums=(0, 1, 2), donate_argnums=(3, 4, 7))
def step(model, slots, guard, mesh, parameters, adam, segments, rate, room):
    """`one_step` on the devices of a mesh, if there is one."""
    of_model = partial(one_step, model, slots, guard)
    arguments = parameters, adam, segments, rate, room
    return on_each(mesh, of_model, split_segments, *arguments, by_itself=slots is None)


@of_model()
def _conditions(model, drive, u):
    # No more factors at a time than in a step of training.
    size = min(len(u), model.config.optimiser.batch_size)

    def of_start(x):
        drive, u = x
        return fields.condition_of(model, instant(drive, jnp.zeros((), u.dtype)), u)

    return jax.lax.map(of_start, (drive, u), batch_size=size)


def _best_condition(model: Model, batches: Sequence[Batch], segment: int) -> float:
    """1/κ(G) by QR in float64 at the start of a segment, counted over all batches."""
    first = np.cumsum([0, *map(len, batches)])
    index = int(np.searchsorted(first, segment, side="right")) - 1
    batch, row = batches[index], np.array([segment - first[index]])
    with numerics():
        start = drive(batch.conditions.rows(row), batch.start[row], jnp.float64)
        at = instant(start, jnp.zeros(())).pick(0)
        return float(fields.condition_of(model, at, jnp.asarray(batch.u[row[0], 0]), "qr"))


def valid_loss(model, parameters, segments):
    """The loss of a batch, the steps of its solution, and its status."""
    loss, solution = batch_loss(model, parameters, segments, derivative=False)
    if segments.across is not None:
        loss = segments.across.sum(loss)
    return loss, *_how_it_went(solution, segments)


@of_model(static_argnums=(0,))
def _valid_loss(model, mesh, parameters, segments):
    of_model, by_itself = partial(valid_loss, model), not is_explicit(model.config.solver)
    return on_each(mesh, of_model, split_segments, parameters, segments, by_itself=by_itself)


def _how_it_went(solution: Solution, segments: Segments) -> tuple[Array, Array]:
    """The mean of the solver's steps, and the worst status."""
    worst, across = jnp.max(solution.status), segments.across
    if across is None:
        return jnp.mean(solution.steps, dtype=segments.u.dtype), worst
    return across.mean(solution.steps), across.worst(worst)
