"""The Engine protocol on Julia. Arrays cross the border as NumPy's: a row-major (B, n) is a column-major (n, B)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pnde.config import Config, SolverConfig
from pnde.engines import Batch, Training, Trajectories
from pnde.engines.julia.arrays import to_julia, to_python, trajectories_of
from pnde.engines.julia.laws import julia_law
from pnde.engines.julia.models import flat, julia_metric, julia_model, julia_settings, unflat
from pnde.engines.julia.session import pnde_module, translated
from pnde.engines.julia.training import JuliaTraining, julia_segments
from pnde.errors import ConfigError, EngineError
from pnde.laws import Constraint, Stacked
from pnde.models import Model, Weights


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

    def retract(
        self, constraint: Constraint, metric: Any, u: np.ndarray, t: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        law, metric = julia_law(constraint), julia_metric(metric)
        arrays = (to_julia(array) for array in (u, np.broadcast_to(t, len(u)), c))
        with translated():
            states, converged = pnde_module().retract_states(law, metric, *arrays)
            return to_python(states), to_python(converged)

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
                in_place, to_julia(u0, dtype), to_julia(times, dtype), julia_settings(settings), law
            )
            return trajectories_of(out)

    def push(
        self,
        constraint: Constraint,
        u0: np.ndarray,
        velocity: np.ndarray,
        duration: float,
        settings: SolverConfig,
    ) -> Trajectories:
        raise EngineError(
            'initial states of built-in grids are pushed by engine="jax"; in Julia, ambient_forcing does it for '
            "networks of PowerDynamics.jl"
        )

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
        arrays = (to_julia(array, dtype) for array in (flat(weights), u0, times, c))
        the_model = julia_model(model, dtype)
        with translated():
            return trajectories_of(
                pnde_module().rollout(the_model, *arrays, julia_settings(settings))
            )

    def velocity(
        self, model: Model, weights: Weights, u: np.ndarray, t: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        t = np.broadcast_to(t, len(u))
        arrays = (to_julia(array) for array in (flat(weights), u, c, t))
        the_model = julia_model(model, "float64")
        with translated():
            return to_python(pnde_module().velocity(the_model, *arrays))

    def loss_and_gradient(
        self, model: Model, weights: Weights, batch: Batch
    ) -> tuple[float, Weights]:
        settings = model.config.solver
        self.check(model.config)
        the_model, segments = (
            julia_model(model, settings.precision),
            julia_segments(batch, settings.precision),
        )
        with translated():
            loss, gradient, *_ = pnde_module().loss_and_gradient(
                the_model,
                to_julia(flat(weights), settings.precision),
                segments,
                julia_settings(settings),
            )
            return float(loss), unflat(model, to_python(gradient))

    def start(
        self,
        model: Model,
        train: Sequence[Batch],
        valid: Sequence[Batch],
        weights: Weights,
        state: Mapping[str, np.ndarray] | None = None,
    ) -> Training:
        return JuliaTraining(model, train, valid, weights, state)
