"""Training: mean squared error over the predicted points of segments, AdamW, one compiled step for all batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from pnde.config import OptimiserConfig
from pnde.engines import Batch, Epoch, Status, TrainingState
from pnde.engines.jax import fields
from pnde.engines.jax.projection import check_rows
from pnde.engines.jax.retraction import retract
from pnde.engines.jax.solve import Solution, solve
from pnde.engines.jax.stepping import Slots, slot_bytes, solve_storing
from pnde.errors import SolveError
from pnde.models import Model

_ADAM = optax.scale_by_adam()


class Segments(NamedTuple):
    """Segments on the device.

    - `u`: `(S, k+1, n)`; `c`: targets `(S, m)`; `start`: the time of the first point `(S,)`.
    - `grid`: times relative to the start: `(k+1,)` where all segments share them, else `(S, k+1)`.
    - `share`: weight of each segment in the mean `(S,)`; 0 for padding.
    """

    u: Float[Array, "S points n"]
    c: Float[Array, "S m"]
    start: Float[Array, " S"]
    grid: Float[Array, "*S points"]
    share: Float[Array, " S"]


def on_device(batch: Batch, share: np.ndarray, dtype: Any) -> Segments:
    """A batch as the engine holds it. Relative times are taken in float64, before they lose digits."""
    grid = batch.t - batch.t[:, :1]
    if np.allclose(grid, grid[0], rtol=1e-9, atol=1e-9 * abs(grid).max()):
        grid = grid[0]
    arrays = (batch.u, batch.c, batch.t[:, 0], grid, share)
    return Segments(*(jnp.asarray(array, dtype) for array in arrays))


def batch_loss(
    model: Model, parameters: fields.Parameters, segments: Segments, slots: int | None = None
) -> tuple[Float[Array, ""], Solution]:
    """Mean squared error of the normalised states at the predicted points, and the solution.

    The mean is over segments, the points after the first, and states. (The authors' code drops the first segment of a
    batch instead of the first point.) Segments that share their time grid are solved as one system with common steps,
    as in the paper; others each with their own. With `slots` the common steps are stored for their derivative instead
    of recomputed, see `solve_storing`.
    """
    settings = model.config.solver
    law = model.constraint if model.config.method == "pnde" else None

    def field(t, u, args):
        parameters, start, c = args
        return fields.velocity(model, parameters, start + t, u, c)

    def retraction(t, u, args):
        _, start, c = args
        on_manifold = partial(retract, law, model.metric, model.config.projection.method)
        return (on_manifold if u.ndim == 1 else jax.vmap(on_manifold))(u, start + t, c)

    def run(u0, start, grid, c):
        args, retracting = (parameters, start, c), None if law is None else retraction
        if slots is not None and grid.ndim == 1:
            size = slot_bytes(model, u0)
            return solve_storing(field, u0, grid, args, settings, slots, size, retracting)
        return solve(field, u0, grid, args, settings, retracting)

    u, c, start, grid, share = segments
    if grid.ndim == 1:
        solution = run(u[:, 0], start, grid, c)
        predicted = jnp.swapaxes(solution.u, 0, 1)
    else:
        solution = jax.vmap(run)(u[:, 0], start, grid, c)
        predicted = solution.u
    error = (predicted - u)[:, 1:] / model.std.astype(u.dtype)[None, None]
    return share @ jnp.mean(error**2, axis=(1, 2)), solution


def learning_rate(optimiser: OptimiserConfig, epoch: int) -> float:
    """The rate of an epoch, counted from 0: a cosine over `decay_epochs`, then constant (the reference's schedule)."""
    period = optimiser.decay_epochs or max(1, optimiser.epochs // 2)
    low, high = optimiser.final_learning_rate, optimiser.learning_rate
    if epoch >= period:
        return low
    return low + 0.5 * (high - low) * (1 + np.cos(np.pi * epoch / period))


def train(
    model: Model,
    train_batch: Batch,
    valid_batch: Batch,
    state: TrainingState,
    on_step: Callable[[int, int, float, float], None],
) -> Iterator[Epoch]:
    """Train from `state` to the configured number of epochs; see `pnde.engines.Engine.train`."""
    optimiser, dtype = model.config.optimiser, jnp.dtype(model.config.solver.precision)
    seed = model.config.seed
    if model.constraint is not None and model.config.method != "nde":
        at_start = (jnp.asarray(array[:, 0], dtype) for array in (train_batch.t, train_batch.u))
        rcond = _conditions(model, *at_start)
        check_rows(rcond, model.config.projection.method, f"the law {model.constraint.label!r}")
    # Segments are shuffled once; an epoch shuffles the order of the batches (the reference's way).
    shuffle = np.random.default_rng(seed).permutation(len(train_batch.u))
    batches = _batches(train_batch, shuffle, optimiser.batch_size, dtype)
    valid = _batches(valid_batch, np.arange(len(valid_batch.u)), optimiser.batch_size, dtype)
    parameters = fields.parameters(state.weights, dtype)
    adam = _adam_state(state, parameters)
    best, best_weights = state.best_loss, state.best_weights
    slots = Slots.for_training(model, batches[0], state.recent_steps)

    for epoch in range(state.epoch, optimiser.epochs):
        began = time.perf_counter()
        rate = learning_rate(optimiser, epoch)
        order = np.random.default_rng([seed, epoch]).permutation(len(batches))
        losses, steps, norms = [], [], []
        slots.next_epoch()
        for i, index in enumerate(order):
            batch = batches[index]
            while True:
                parameters, adam, loss, norm, status, solver_steps = step(
                    model, slots.count, parameters, adam, batch, jnp.asarray(rate, dtype)
                )
                if not slots.too_few(int(status)):
                    break
            losses.append(float(loss))
            norms.append(float(norm))
            steps.append(float(solver_steps))
            slots.used(steps[-1])
            if not np.isfinite(losses[-1] + norms[-1]):
                raise SolveError(_not_finite("training", epoch, i, int(status)))
            on_step(i + 1, len(batches), losses[-1], steps[-1])
        shares = np.array([np.count_nonzero(batch.share) for batch in valid])
        values = [_valid_loss(model, parameters, batch) for batch in valid]
        valid_loss = float(np.average([float(loss) for loss, _ in values], weights=shares))
        if not np.isfinite(valid_loss):
            worst = max(int(status) for _, status in values)
            raise SolveError(_not_finite("validation", epoch, None, worst))
        if valid_loss < best:
            best, best_weights = valid_loss, fields.weights(parameters)
        recent = slots.recent_steps()

        def snapshot(
            epoch=epoch,
            parameters=parameters,
            adam=adam,
            best=(best, best_weights),
            recent=recent,
        ):
            return TrainingState(
                epoch=epoch + 1,
                weights=fields.weights(parameters),
                optimiser=_optimiser_arrays(adam),
                best_loss=best[0],
                best_weights=best[1],
                recent_steps=recent,
            )

        yield Epoch(
            number=epoch + 1,
            loss=float(np.mean(losses)),
            valid_loss=valid_loss,
            best_loss=best,
            learning_rate=rate,
            steps=float(np.mean(steps)),
            gradient_norm=float(np.mean(norms)),
            seconds=time.perf_counter() - began,
            state=snapshot,
        )


def _batches(batch: Batch, order: np.ndarray, size: int, dtype: Any) -> list[Segments]:
    """Batches of one shape: the last is filled up with segments of no weight, so that one program serves all."""
    size = min(size, len(order))
    out = []
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        share = np.zeros(size)
        share[: len(chosen)] = 1 / len(chosen)
        chosen = np.concatenate([chosen, order[: size - len(chosen)]])
        out.append(
            on_device(Batch(batch.u[chosen], batch.t[chosen], batch.c[chosen]), share, dtype)
        )
    return out


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2, 3))
def step(model, slots, parameters, adam, segments, rate):
    """One step of the optimiser; nothing changes if the steps of the solver did not fit into `slots`."""
    before = parameters, adam
    loss = partial(batch_loss, model, slots=slots)
    (value, solution), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, segments)
    norm = optax.tree.norm(gradient)
    clip = model.config.optimiser.clip
    if clip is not None:
        # Component by component, as the reference does.
        gradient = jax.tree.map(lambda g: jnp.clip(g, -clip, clip), gradient)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes its counter with numbers
        direction, adam = _ADAM.update(gradient, adam)
    decay = model.config.optimiser.weight_decay
    parameters = jax.tree.map(lambda p, d: p - rate * (d + decay * p), parameters, direction)
    steps, status = jnp.mean(solution.steps, dtype=value.dtype), _worst(solution)
    if slots is not None:
        fits = status != Status.MAX_STEPS
        parameters, adam = jax.tree.map(partial(jnp.where, fits), (parameters, adam), before)
    return parameters, adam, value, norm, status, steps


@partial(jax.jit, static_argnums=0)
def _conditions(model, t, u):
    # No more factors at a time than in a step of training.
    size = min(len(u), model.config.optimiser.batch_size)
    return jax.lax.map(lambda x: fields.condition_of(model, *x), (t, u), batch_size=size)


@partial(jax.jit, static_argnums=0)
def _valid_loss(model, parameters, segments):
    loss, solution = batch_loss(model, parameters, segments)
    return loss, _worst(solution)


def _worst(solution: Solution) -> Array:
    return jnp.max(solution.status)


def _not_finite(what: str, epoch: int, batch: int | None, status: int) -> str:
    where = f"epoch {epoch + 1}" + ("" if batch is None else f", batch {batch + 1}")
    cause = (
        "the gradient overflowed; use a smaller learning_rate, or clip"
        if status == Status.OK
        else Status(status).reason
    )
    return f"the {what} loss is not finite in {where}: {cause}"


def fresh_state(parameters: fields.Parameters) -> optax.ScaleByAdamState:
    """The optimiser before its first step."""
    return _ADAM.init(parameters)


def _adam_state(state: TrainingState, parameters: fields.Parameters) -> optax.ScaleByAdamState:
    fresh = fresh_state(parameters)
    if not state.optimiser:
        return fresh
    dtype = parameters[0][0].dtype

    def moment(prefix):
        return fields.parameters(
            {k[len(prefix) :]: v for k, v in state.optimiser.items() if k.startswith(prefix)}, dtype
        )

    count = jnp.asarray(state.optimiser["count"], fresh.count.dtype)
    return optax.ScaleByAdamState(count=count, mu=moment("mu."), nu=moment("nu."))


def _optimiser_arrays(adam: optax.ScaleByAdamState) -> dict[str, np.ndarray]:
    """Adam's state under names that both engines use: `count`, `mu.layers.0.weight`, ..., `nu.layers.0.weight`, ..."""
    moments = {"mu": fields.weights(adam.mu), "nu": fields.weights(adam.nu)}
    arrays = {f"{m}.{name}": value for m, ws in moments.items() for name, value in ws.items()}
    return {"count": np.asarray(adam.count), **arrays}
