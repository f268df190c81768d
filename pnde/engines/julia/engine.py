"""The Engine protocol on Julia. Arrays cross the border as NumPy's: a row-major (B, n) is a column-major (n, B)."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from pnde.config import Config, SolverConfig
from pnde.engines import Batch, Epoch, Status, TrainingState, Trajectories
from pnde.engines.julia.arrays import to_julia, to_python, trajectories_of
from pnde.engines.julia.laws import julia_function, julia_law
from pnde.engines.julia.session import pnde_module, translated
from pnde.errors import ConfigError, SolveError
from pnde.laws import Constraint, Stacked
from pnde.models import Model, Weights

_models: weakref.WeakKeyDictionary[Model, dict[str, Any]] = weakref.WeakKeyDictionary()


class JuliaEngine:
    """The engine of the paper; see `pnde.engines.Engine` for what each method promises."""

    name = "julia"

    def status(self) -> dict[str, str]:
        with translated():
            return {str(name): str(version) for name, version in pnde_module().versions().items()}

    def check(self, config: Config) -> None:
        if config.method == "pnde" and config.solver.retract == "step":
            raise ConfigError(
                "the julia engine has the gradient from an adjoint equation, which knows nothing of a retraction after "
                'each step: set solver.retract to "save" or "never", or use engine="jax"'
            )
        if config.network.matmul_precision != "highest":
            raise ConfigError(
                'network.matmul_precision is a setting of engine="jax"; in Julia, CUDA.math_mode! sets that of a GPU'
            )

    def law(self, constraint: Constraint, u: np.ndarray, t: np.ndarray) -> np.ndarray:
        if isinstance(constraint, Stacked):
            values = [self.law(part, u, t) for part in constraint.parts]
            # What evaluation by the embedded engine leaves behind: the rows of each part.
            constraint._sizes = tuple(value.shape[1] for value in values)
            return np.concatenate(values, axis=1)
        law = julia_law(constraint)
        t = np.broadcast_to(t, len(u))
        with translated():
            return to_python(pnde_module().law_values(law, to_julia(u), to_julia(t)))

    def integrate(
        self,
        rhs: Callable[[Any, Any], Any],
        u0: np.ndarray,
        times: np.ndarray,
        settings: SolverConfig,
        constraint: Constraint | None = None,
    ) -> Trajectories:
        def in_place(du: Any, u: Any, t: float) -> None:
            np.asarray(du)[...] = rhs(np.asarray(u), t)

        law = None if constraint is None else julia_law(constraint)
        dtype = settings.precision
        times = np.broadcast_to(times, (len(u0), np.shape(times)[-1]))
        with translated():
            out = pnde_module().integrate(
                in_place, to_julia(u0, dtype), to_julia(times, dtype), _settings(settings), law
            )
            return trajectories_of(out)

    def rollout(
        self,
        model: Model,
        weights: Weights,
        u0: np.ndarray,
        times: np.ndarray,
        c: np.ndarray,
        settings: SolverConfig,
    ) -> Trajectories:
        dtype = settings.precision
        times = np.broadcast_to(times, (len(u0), np.shape(times)[-1]))
        arrays = (to_julia(array, dtype) for array in (_flat(weights), u0, times, c))
        julia_model = _julia_model(model, dtype)
        with translated():
            return trajectories_of(pnde_module().rollout(julia_model, *arrays, _settings(settings)))

    def velocity(
        self, model: Model, weights: Weights, u: np.ndarray, t: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        t = np.broadcast_to(t, len(u))
        arrays = (to_julia(array) for array in (_flat(weights), u, c, t))
        julia_model = _julia_model(model, "float64")
        with translated():
            return to_python(pnde_module().velocity(julia_model, *arrays))

    def loss_and_gradient(
        self, model: Model, weights: Weights, batch: Batch
    ) -> tuple[float, Weights]:
        settings = model.config.solver
        self.check(model.config)
        julia_model, segments = (
            _julia_model(model, settings.precision),
            _segments(batch, settings.precision),
        )
        with translated():
            loss, gradient, *_ = pnde_module().loss_and_gradient(
                julia_model,
                to_julia(_flat(weights), settings.precision),
                segments,
                _settings(settings),
            )
            return float(loss), _weights(model, to_python(gradient))

    def train(
        self,
        model: Model,
        train: Batch,
        valid: Batch,
        state: TrainingState,
        on_step: Callable[[int, int, float, float], None],
    ) -> Iterator[Epoch]:
        optimiser, dtype, seed = (
            model.config.optimiser,
            model.config.solver.precision,
            model.config.seed,
        )
        # Segments are shuffled once; an epoch shuffles the order of the batches (the reference's way). NumPy draws
        # both, so that both engines see the same.
        shuffle = np.random.default_rng(seed).permutation(len(train.u))
        batches = _batches(train, shuffle, optimiser.batch_size, dtype)
        valid_batches = _batches(valid, np.arange(len(valid.u)), optimiser.batch_size, dtype)
        trainer = _trainer(model, state)
        jl = pnde_module()
        best, best_weights = state.best_loss, state.best_weights

        for epoch in range(state.epoch, optimiser.epochs):
            began = time.perf_counter()
            rate = jl.learning_rate(
                epoch,
                high=optimiser.learning_rate,
                low=optimiser.final_learning_rate,
                period=optimiser.decay_epochs or max(1, optimiser.epochs // 2),
            )
            order = np.random.default_rng([seed, epoch]).permutation(len(batches))
            rows = []
            for i, index in enumerate(order):
                # Each step returns to Python, so that training can be interrupted between two of them.
                with translated():
                    loss, norm, status, steps = map(
                        float, jl.step_b(trainer, batches[index][0], rate)
                    )
                if not np.isfinite(loss + norm):
                    raise SolveError(
                        _not_finite("training", f"epoch {epoch + 1}, batch {i + 1}", status)
                    )
                rows.append((loss, norm, steps))
                on_step(i + 1, len(batches), loss, steps)
            valid_loss = _validate(trainer, valid_batches, epoch)
            if valid_loss < best:
                best, best_weights = valid_loss, _weights(model, to_python(trainer.θ))
            mean_loss, mean_norm, mean_steps = np.mean(rows, axis=0)
            snapshot = _state(model, trainer, epoch + 1, best, best_weights)
            yield Epoch(
                number=epoch + 1,
                loss=float(mean_loss),
                valid_loss=valid_loss,
                best_loss=best,
                learning_rate=float(rate),
                steps=float(mean_steps),
                gradient_norm=float(mean_norm),
                seconds=time.perf_counter() - began,
                state=snapshot,
            )


def _validate(trainer: Any, batches: list[tuple[Any, int]], epoch: int) -> float:
    losses = []
    for segments, _ in batches:
        with translated():
            loss, status = pnde_module().evaluate(trainer, segments)
        if not np.isfinite(loss):
            raise SolveError(_not_finite("validation", f"epoch {epoch + 1}", status))
        losses.append(float(loss))
    return float(np.average(losses, weights=[count for _, count in batches]))


def _trainer(model: Model, state: TrainingState) -> Any:
    optimiser, settings = model.config.optimiser, model.config.solver
    moments = None
    if state.optimiser:
        mu, nu = (
            _flat({k[3:]: v for k, v in state.optimiser.items() if k.startswith(prefix)})
            for prefix in ("mu.", "nu.")
        )
        precision = settings.precision
        moments = (
            int(state.optimiser["count"]),
            to_julia(mu, precision),
            to_julia(nu, precision),
        )
    julia_model = _julia_model(model, settings.precision)
    with translated():
        return pnde_module().Trainer(
            julia_model,
            to_julia(_flat(state.weights), settings.precision),
            _settings(settings),
            weight_decay=optimiser.weight_decay,
            clip=optimiser.clip,
            moments=moments,
        )


def _state(
    model: Model, trainer: Any, epoch: int, best_loss: float, best_weights: Weights
) -> Callable[[], TrainingState]:
    # The trainer goes on changing its arrays, so they are copied now.
    weights = _weights(model, to_python(trainer.θ))
    mu, nu = (
        _weights(model, to_python(moment)) for moment in (trainer.moments[0], trainer.moments[1])
    )
    optimiser = {"count": np.asarray(int(trainer.count), np.int32)}
    optimiser |= {f"mu.{name}": value for name, value in mu.items()}
    optimiser |= {f"nu.{name}": value for name, value in nu.items()}
    return lambda: TrainingState(epoch, weights, optimiser, best_weights, best_loss)


def _not_finite(what: str, where: str, status: float) -> str:
    cause = (
        "the gradient overflowed; use a smaller learning_rate, or clip"
        if status == Status.OK
        else Status(int(status)).reason
    )
    return f"the {what} loss is not finite in {where}: {cause}"


def _batches(batch: Batch, order: np.ndarray, size: int, dtype: str) -> list[tuple[Any, int]]:
    """Batches on the Julia side, each with its number of segments."""
    chunks = [order[first : first + size] for first in range(0, len(order), size)]
    return [
        (_segments(Batch(batch.u[chosen], batch.t[chosen], batch.c[chosen]), dtype), len(chosen))
        for chosen in chunks
    ]


def _segments(batch: Batch, dtype: str) -> Any:
    """Relative times are taken in float64, before they lose digits; one grid where all segments share it."""
    grid = batch.t - batch.t[:, :1]
    if np.allclose(grid, grid[0], rtol=1e-9, atol=1e-9 * abs(grid).max()):
        grid = grid[0]
    share = np.full(len(batch.u), 1 / len(batch.u))
    arrays = (batch.u, batch.c, batch.t[:, 0], grid, share)
    with translated():
        return pnde_module().Segments(*(to_julia(array, dtype) for array in arrays))


def _julia_model(model: Model, dtype: str) -> Any:
    """The model as a Julia object, in a precision; made once for each."""
    made = _models.setdefault(model, {})
    if dtype not in made:
        config = model.config
        law = None if model.constraint is None else julia_law(model.constraint)
        metric, physics = model.metric, model.physics
        if metric is not None:
            metric = julia_function(metric, "metric") if callable(metric) else to_julia(metric)
        if physics is not None:
            physics = julia_function(physics, "physics")
        with translated():
            made[dtype] = pnde_module().named_model(
                sizes=model.layer_sizes,
                activation=config.network.activation,
                skip=config.network.skip,
                method=config.method,
                gamma=config.gamma,
                constraint=law,
                projection=config.projection.method,
                mean=to_julia(model.mean, dtype),
                std=to_julia(model.std, dtype),
                order=model.order,
                features=model.features,
                metric=metric,
                physics=physics,
            )
    return made[dtype]


def _settings(settings: SolverConfig) -> Any:
    options = settings.model_dump(exclude={"precision"})
    with translated():
        return pnde_module().named_settings(**options)


def _flat(weights: Weights) -> np.ndarray:
    """All weights in one vector: of each layer the matrix row by row, then the bias."""
    parts = (
        np.ravel(weights[f"layers.{i}.{part}"])
        for i in range(len(weights) // 2)
        for part in ("weight", "bias")
    )
    return np.concatenate(list(parts))


def _weights(model: Model, flat: np.ndarray) -> Weights:
    """The inverse of `_flat`."""
    sizes, start, out = model.layer_sizes, 0, {}
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        for part, shape in (("weight", (inputs, outputs)), ("bias", (outputs,))):
            count = int(np.prod(shape))
            out[f"layers.{i}.{part}"] = flat[start : start + count].reshape(shape)
            start += count
    return out
