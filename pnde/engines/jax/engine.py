"""The Engine protocol on JAX. Every method works inside `numerics`, and leaves JAX's global switches alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pnde.config import Config, SolverConfig
from pnde.engines import (
    Batch,
    Mechanical,
    MembersTraining,
    Status,
    Training,
    Trajectories,
)
from pnde.engines.jax import fields, mechanics
from pnde.engines.jax.batches import on_device
from pnde.engines.jax.devices import check_devices, on_device_of
from pnde.engines.jax.driving import drive
from pnde.engines.jax.dynamics import Dynamics
from pnde.engines.jax.enclosing import is_inside, put_back
from pnde.engines.jax.exporting import exported
from pnde.engines.jax.inspection import inspect_law, inspect_model
from pnde.engines.jax.laws import jacobian, value
from pnde.engines.jax.members import JaxMembers
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.portions import block_size
from pnde.engines.jax.programs import of_model, of_recent
from pnde.engines.jax.projection import project
from pnde.engines.jax.retraction import is_on_manifold
from pnde.engines.jax.rolling import rollout
from pnde.engines.jax.sharding import filled_up, mesh_of, on_each, put
from pnde.engines.jax.slots import Slots
from pnde.engines.jax.solve import Solution, evaluations, is_explicit, solve
from pnde.engines.jax.training import (
    JaxTraining,
    batch_loss,
    can_guard,
)
from pnde.errors import EngineError
from pnde.laws import UNDRIVEN, Bounds, Conditions, Constraint, Instant
from pnde.models import Model, Weights


class JaxEngine:
    """The embedded engine; see `pnde.engines.Engine` for what each method promises.

    `law` is NaN where a state is outside the law's domain.
    """

    name = "jax"

    @numerics()
    def status(self) -> dict[str, str]:
        import diffrax
        import optax

        return {
            "jax": jax.__version__,
            "diffrax": diffrax.__version__,
            "equinox": eqx.__version__,
            "optax": optax.__version__,
            "devices": ", ".join(str(device) for device in jax.devices()),
        }

    def check(self, config: Config) -> None:
        check_devices(config)

    @numerics()
    def law(self, constraint: Constraint, u: np.ndarray, at: Instant) -> np.ndarray:
        at = at.each(len(u))
        inspect_law(constraint, u, at)
        values = [_law((constraint,), *block) for block in _blocks(u, at)]
        return np.concatenate(values)[: len(u)]

    @numerics()
    def retract(
        self,
        constraint: Constraint | None,
        metric: Any,
        u: np.ndarray,
        at: Instant,
        c: np.ndarray,
        bounds: Bounds | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        at, made_of = at.each(len(u)), (constraint, bounds, metric)
        blocks = [_retract(made_of, *block) for block in _blocks(u, at, c)]
        states, converged = (np.concatenate(parts)[: len(u)] for parts in zip(*blocks, strict=True))
        return states, converged

    @numerics()
    def integrate(
        self,
        rhs: Callable[[Any, Instant], Any],
        u0: np.ndarray,
        times: np.ndarray,
        settings: SolverConfig,
        constraint: Constraint | None = None,
        conditions: Conditions = UNDRIVEN,
    ) -> Trajectories:
        dtype = jnp.dtype(settings.precision)
        start, grid = jnp.asarray(u0, dtype), _grid(times, len(u0), dtype)
        c = np.zeros((len(u0), 0))
        if constraint is not None:
            c = constraint.targets(self.law(constraint, u0, conditions.at(np.asarray(grid[:, 0]))))
        target, driven = jnp.asarray(c, dtype), drive(conditions, np.zeros(len(u0)), dtype)
        made_of = (rhs, settings, constraint)
        return _trajectories(_integrate(made_of, start, grid, target, driven), settings)

    @numerics()
    def push(
        self,
        constraint: Constraint,
        u0: np.ndarray,
        velocity: np.ndarray,
        duration: float,
        settings: SolverConfig,
    ) -> Trajectories:
        grid = _float64(np.array([0.0, duration]))
        made_of = (settings, constraint)
        return _trajectories(_push(made_of, _float64(u0), _float64(velocity), grid), settings)

    @numerics()
    def rollout(
        self,
        model: Model,
        weights: Weights,
        u0: np.ndarray,
        times: np.ndarray,
        c: np.ndarray,
        settings: SolverConfig,
        conditions: Conditions = UNDRIVEN,
    ) -> Trajectories:
        inspect_model(model)
        dtype = jnp.dtype(settings.precision)
        with on_device_of(model.config.device):
            start, grid = jnp.asarray(u0, dtype), _grid(times, len(u0), dtype)
            parameters, target = fields.parameters(weights, dtype), jnp.asarray(c, dtype)
            each = start, grid, target, drive(conditions, np.zeros(len(u0)), dtype)
            # A forecast needs no other process.
            mesh = mesh_of(model.config, own=True)
            if mesh is not None:
                rows = filled_up(mesh, len(u0))
                each = put(mesh, jax.tree.map(lambda array: array[rows], each), True)
            solution, c_then = jax.tree.map(
                lambda array: np.asarray(array)[: len(u0)],
                _rollout(model, settings, mesh, put(mesh, parameters), each),
            )
        found = _trajectories(solution, settings)
        return replace(found, c=c_then.astype(np.float64)) if conditions.jump else found

    @numerics()
    def export(self, model: Model, weights: Weights, settings: SolverConfig, samples: int) -> bytes:
        inspect_model(model)
        with on_device_of(model.config.device):
            return exported(model, weights, settings, samples)

    @numerics()
    def velocity(
        self, model: Model, weights: Weights, u: np.ndarray, at: Instant, c: np.ndarray
    ) -> np.ndarray:
        inspect_model(model)
        with on_device_of(model.config.device):
            parameters = fields.parameters(weights, jnp.float64)
            at = at.each(len(u))
            states, instants, targets = jax.tree.map(_float64, (u, at, c))
            return np.asarray(_velocity(model, parameters, instants, states, targets))

    @numerics()
    def mechanics(self, model: Model, weights: Weights, u: np.ndarray, at: Instant) -> Mechanical:
        inspect_model(model)
        with on_device_of(model.config.device):
            parameters = fields.parameters(weights, jnp.float64)
            at = at.each(len(u))
            blocks = [_mechanics(model, parameters, *block) for block in _blocks(u, at)]
        parts = (np.concatenate(part)[: len(u)] for part in zip(*blocks, strict=True))
        return Mechanical(*parts)

    @numerics()
    def loss_and_gradient(
        self, model: Model, weights: Weights, batch: Batch
    ) -> tuple[float, Weights]:
        inspect_model(model)
        dtype = jnp.dtype(model.config.solver.precision)
        with on_device_of(model.config.device):
            parameters = fields.parameters(weights, dtype)
            segments = on_device(batch, dtype)
            for slots in Slots.for_training(model, segments).at_most():
                gradient_of = functools.partial(_loss_and_gradient, model, slots)
                (loss, solution), gradient = gradient_of(False, parameters, segments)
                if slots is None or jnp.max(solution.status) != Status.MAX_STEPS:
                    break
            finite = all(jnp.isfinite(g).all() for g in jax.tree.leaves(gradient))
            if jnp.isfinite(loss) and not finite and can_guard(model):
                (loss, _), gradient = gradient_of(True, parameters, segments)
            return float(loss), fields.weights(gradient)

    @numerics()
    def start(
        self,
        model: Model,
        train: Sequence[Batch],
        valid: Sequence[Batch],
        weights: Weights,
        state: Mapping[str, np.ndarray] | None = None,
    ) -> Training:
        inspect_model(model)
        with on_device_of(model.config.device):
            return JaxTraining(model, train, valid, weights, state)

    @numerics()
    def start_members(
        self,
        model: Model,
        train: Sequence[Sequence[Batch]],
        valid: Sequence[Batch],
        weights: Sequence[Weights],
        states: Sequence[Mapping[str, np.ndarray] | None],
    ) -> MembersTraining:
        inspect_model(model)
        with on_device_of(model.config.device):
            return JaxMembers(model, train, valid, weights, states)


@of_recent
def _law(made_of, u, at):
    (constraint,) = made_of

    def one(u, at):
        h = value(constraint, u, at)
        return h if constraint.domain is None else jnp.where(constraint.domain(u), h, jnp.nan)

    return jax.vmap(one)(u, at)


@of_recent
def _retract(made_of, u, at, c):
    constraint, bounds, metric = made_of

    def one(u, at, c):
        on = put_back(constraint, bounds, metric, "cholesky", u, at, c)
        return on, _is_there(constraint, bounds, on, at, c)

    return jax.vmap(one)(u, at, c)


@of_recent
def _integrate(made_of, u0, times, c, driven):
    rhs, settings, constraint = made_of
    dynamics = Dynamics(
        velocity=lambda parameters, at, u, c: rhs(u, at),
        law=constraint,
        retracts=constraint is not None,
        domain=None if constraint is None else constraint.domain,
    )

    def one(u0, times, c, driven):
        return dynamics.solve(u0, times, ((), driven, c), settings, stop_at_times=True)[0]

    return jax.vmap(one)(u0, times, c, driven)


@of_recent
def _push(made_of, u0, velocity, times):
    settings, constraint = made_of

    def field(t, u, velocity):
        return project(jacobian(constraint, u, Instant(t)), velocity)

    return jax.vmap(lambda u0, velocity: solve(field, u0, times, velocity, settings))(u0, velocity)


def _is_there(law, bounds, u, at, c):
    """Whether a state is on the manifold and inside of the bounds."""
    there = jnp.ones((), bool) if law is None else is_on_manifold(law, u, at, c)
    return there if bounds is None else there & is_inside(bounds, u, at)


@of_model(static_argnums=(0, 1))
def _rollout(model, settings, mesh, parameters, each):
    def of_part(parameters, each):
        return rollout(model, settings, parameters, *each)

    by_itself, split = not is_explicit(settings), (False, True)
    return on_each(mesh, of_part, lambda _: split, parameters, each, out=True, by_itself=by_itself)


@of_model()
def _velocity(model, parameters, at, u, c):
    return jax.vmap(lambda at, u, c: fields.velocity(model, parameters, at, u, c))(at, u, c)


@of_model()
def _mechanics(model, parameters, u, at):
    def one(u, at):
        q = u[: u.shape[0] // 2]
        M = mechanics.masses(model, parameters, at, q)
        return (
            *mechanics.energy(model, parameters, at, u),
            jnp.diag(M) if M.ndim == 1 else M,
            mechanics.dissipation(model, parameters, at, q),
        )

    return jax.vmap(one)(u, at)


@of_model(static_argnums=(0, 1))
def _loss_and_gradient(model, slots, guard, parameters, segments):
    loss = functools.partial(batch_loss, model, slots=slots, guard=guard)
    return jax.value_and_grad(loss, has_aux=True)(parameters, segments)


def _float64(array: np.ndarray) -> jax.Array:
    return jnp.asarray(array, jnp.float64)


def _blocks(*trees: Any) -> Iterator[Any]:
    """Rows of arrays in blocks of one shape, the last filled up with rows again: one program serves any number."""
    states = jax.tree.leaves(trees)[0]
    block = block_size(*states.shape)
    whole = max(1, -(-len(states) // block)) * block
    filled = jax.tree.map(lambda array: np.resize(array, (whole, *array.shape[1:])), trees)
    for i in range(0, whole, block):
        yield jax.tree.map(lambda array, i=i: _float64(array[i : i + block]), filled)


def _grid(times: np.ndarray, count: int, dtype: Any) -> jax.Array:
    """Save times for each of `count` trajectories, `(count, T)`."""
    if np.any(np.diff(times) < 0):
        raise EngineError("the times of a forecast are not in order: sort them")
    return jnp.broadcast_to(jnp.asarray(times, dtype), (count, np.shape(times)[-1]))


def _trajectories(solution: Solution, settings: SolverConfig) -> Trajectories:
    u = np.asarray(solution.u, np.float64)
    steps = np.asarray(solution.steps)
    return Trajectories(
        u=np.where(np.isfinite(u), u, np.nan),
        status=np.asarray(solution.status, np.int8),
        steps=steps,
        evaluations=evaluations(steps, settings),
    )
