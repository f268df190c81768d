"""The Engine protocol on JAX. Every method works inside `numerics`, and leaves JAX's global switches alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pnde.config import Config, SolverConfig
from pnde.engines import Batch, Status, Training, Trajectories
from pnde.engines.jax import fields
from pnde.engines.jax.devices import check_device, on_device_of
from pnde.engines.jax.inspection import inspect_law, inspect_model
from pnde.engines.jax.laws import jacobian, value
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.portions import block_size, in_portions
from pnde.engines.jax.programs import of_model, of_recent
from pnde.engines.jax.projection import project
from pnde.engines.jax.retraction import is_on_manifold, retract
from pnde.engines.jax.solve import Solution, evaluations, solve
from pnde.engines.jax.training import JaxTraining, batch_loss, can_guard, on_device
from pnde.engines.rank import rank_margin
from pnde.laws import Constraint
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
        check_device(config.device)

    @numerics()
    def law(self, constraint: Constraint, u: np.ndarray, t: np.ndarray) -> np.ndarray:
        times = np.broadcast_to(t, u.shape[:1])
        inspect_law(constraint, u, times)
        return np.concatenate([_law((constraint,), *block) for block in _blocks(u, times)])[
            : len(u)
        ]

    @numerics()
    def retract(
        self, constraint: Constraint, metric: Any, u: np.ndarray, t: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        times, made_of = np.broadcast_to(t, u.shape[:1]), (constraint, metric)
        blocks = [_retract(made_of, *block) for block in _blocks(u, times, c)]
        states, converged = (np.concatenate(parts)[: len(u)] for parts in zip(*blocks, strict=True))
        return states, converged

    @numerics()
    def integrate(
        self,
        rhs: Callable[[Any, Any], Any],
        u0: np.ndarray,
        times: np.ndarray,
        settings: SolverConfig,
        constraint: Constraint | None = None,
    ) -> Trajectories:
        dtype = jnp.dtype(settings.precision)
        start, grid = jnp.asarray(u0, dtype), _grid(times, len(u0), dtype)
        c = np.zeros((len(u0), 0))
        if constraint is not None:
            c = constraint.targets(self.law(constraint, u0, np.asarray(grid[:, 0])))
        target = jnp.asarray(c, dtype)
        return _trajectories(_integrate((rhs, settings, constraint), start, grid, target), settings)

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
    ) -> Trajectories:
        inspect_model(model)
        dtype = jnp.dtype(settings.precision)
        with on_device_of(model.config.device):
            start, grid = jnp.asarray(u0, dtype), _grid(times, len(u0), dtype)
            parameters, target = fields.parameters(weights, dtype), jnp.asarray(c, dtype)
            solution = _rollout(model, settings, parameters, start, grid, target)
        return _trajectories(solution, settings)

    @numerics()
    def velocity(
        self, model: Model, weights: Weights, u: np.ndarray, t: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        inspect_model(model)
        with on_device_of(model.config.device):
            parameters = fields.parameters(weights, jnp.float64)
            times = jnp.broadcast_to(_float64(t), u.shape[:1])
            return np.asarray(_velocity(model, parameters, times, _float64(u), _float64(c)))

    @numerics()
    def loss_and_gradient(
        self, model: Model, weights: Weights, batch: Batch
    ) -> tuple[float, Weights]:
        inspect_model(model)
        dtype = jnp.dtype(model.config.solver.precision)
        with on_device_of(model.config.device):
            parameters = fields.parameters(weights, dtype)
            segments = on_device(batch, dtype)
            (loss, _), gradient = _loss_and_gradient(model, False, parameters, segments)
            finite = all(jnp.isfinite(g).all() for g in jax.tree.leaves(gradient))
            if jnp.isfinite(loss) and not finite and can_guard(model):
                (loss, _), gradient = _loss_and_gradient(model, True, parameters, segments)
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


@of_recent
def _law(made_of, u, t):
    (constraint,) = made_of

    def one(u, t):
        h = value(constraint, u, t)
        return h if constraint.domain is None else jnp.where(constraint.domain(u), h, jnp.nan)

    return jax.vmap(one)(u, t)


@of_recent
def _retract(made_of, u, t, c):
    constraint, metric = made_of

    def one(u, t, c):
        on = retract(constraint, metric, "cholesky", u, t, c)
        return on, is_on_manifold(constraint, on, t, c)

    return jax.vmap(one)(u, t, c)


@of_recent
def _integrate(made_of, u0, times, c):
    rhs, settings, constraint = made_of

    def one(u0, times, c):
        retraction, domain = None, None
        if constraint is not None:
            domain = constraint.domain

            def retraction(t, u, c):
                return retract(constraint, None, "cholesky", u, t, c)

        return solve(
            lambda t, u, _: rhs(u, t),
            u0,
            times,
            c,
            settings,
            retraction,
            domain,
            stop_at_times=True,
        )

    return jax.vmap(one)(u0, times, c)


@of_recent
def _push(made_of, u0, velocity, times):
    settings, constraint = made_of

    def field(t, u, velocity):
        return project(jacobian(constraint, u, t), velocity)

    return jax.vmap(lambda u0, velocity: solve(field, u0, times, velocity, settings))(u0, velocity)


@of_model(static_argnums=(0,))
def _rollout(model, settings, parameters, u0, times, c):
    law = model.constraint
    constrained = law is not None and model.config.method == "pnde"
    method = model.config.projection.method

    def field(t, u, args):
        parameters, c = args
        return fields.velocity(model, parameters, t, u, c)

    def retraction(t, u, args):
        return retract(law, model.metric, method, u, t, args[1])

    def one(u0, times, c):
        solution = solve(
            field,
            u0,
            times,
            (parameters, c),
            settings,
            retraction if constrained else None,
            None if law is None else law.domain,
            spread=model.std,
        )
        if not constrained:
            return solution
        rank = in_portions(lambda t, u: _rank_margin(model, u, t), times, solution.u)
        singular = jnp.any(jnp.isfinite(rank) & (rank < 1))
        status = solution.status
        if settings.retract != "never":
            on = jax.vmap(lambda u, t: is_on_manifold(law, u, t, c))(solution.u, times)
            off = jnp.any(jnp.all(jnp.isfinite(solution.u), axis=1) & ~on)
            status = jnp.where((status == Status.OK) & off, Status.OFF_MANIFOLD, status)
        return solution._replace(status=jnp.where(singular, Status.RANK_DEFICIENT, status))

    return jax.vmap(one)(u0, times, c)


def _rank_margin(model, u, t):
    margin = rank_margin(fields.condition_of(model, t, u))
    return jnp.where(jnp.all(jnp.isfinite(u)), margin, jnp.nan)


@of_model()
def _velocity(model, parameters, t, u, c):
    return jax.vmap(lambda t, u, c: fields.velocity(model, parameters, t, u, c))(t, u, c)


@of_model(static_argnums=(0,))
def _loss_and_gradient(model, guard, parameters, segments):
    loss = functools.partial(batch_loss, model, guard=guard)
    return jax.value_and_grad(loss, has_aux=True)(parameters, segments)


def _float64(array: np.ndarray) -> jax.Array:
    return jnp.asarray(array, jnp.float64)


def _blocks(*arrays: np.ndarray) -> Iterator[list[jax.Array]]:
    """Rows of the arrays in blocks of one shape, the last filled up with rows again: one program serves any number."""
    block = block_size(*arrays[0].shape)
    whole = max(1, -(-len(arrays[0]) // block)) * block
    filled = [np.resize(array, (whole, *array.shape[1:])) for array in arrays]
    for i in range(0, whole, block):
        yield [_float64(array[i : i + block]) for array in filled]


def _grid(times: np.ndarray, count: int, dtype: Any) -> jax.Array:
    """Save times for each of `count` trajectories, `(count, T)`."""
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
