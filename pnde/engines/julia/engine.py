"""The Engine protocol on Julia. Arrays cross the border as NumPy's: a row-major (B, n) is a column-major (n, B)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pnde.config import Config, SolverConfig
from pnde.engines import Batch, Mechanical, MembersTraining, Training, Trajectories, get
from pnde.engines.julia.arrays import has_card, to_julia, to_python, trajectories_of
from pnde.engines.julia.driving import Sizes, julia_drive, julia_instant
from pnde.engines.julia.laws import has_twin, julia_bounds, julia_law
from pnde.engines.julia.models import (
    flat,
    julia_metric,
    julia_model,
    julia_settings,
    on_card,
    unflat,
)
from pnde.engines.julia.networks import JuliaNetwork, julia_network
from pnde.engines.julia.session import julia
from pnde.engines.julia.training import JuliaTraining, julia_segments
from pnde.engines.julia.twins import check_twin
from pnde.errors import ConfigError
from pnde.laws import UNDRIVEN, Bounds, Conditions, Constraint, Instant, Stacked
from pnde.models import Model, Weights


class JuliaEngine:
    """The engine of the paper; see `pnde.engines.Engine` for what each method promises."""

    name = "julia"

    def status(self) -> dict[str, str]:
        with julia() as jl:
            return {str(name): str(version) for name, version in jl.versions().items()}

    def check(self, config: Config) -> None:
        if config.device == "gpu" and not has_card("gpu"):
            raise ConfigError(
                'device = "gpu", but Julia has no card here: run pnde setup julia --gpu where there is an NVIDIA card, '
                'or set device = "auto"'
            )
        if config.device == "gpu" and config.rollout.solver == "kvaerno5":
            raise ConfigError(
                'device = "gpu", but rollout.solver = "kvaerno5" is for the CPU alone in Julia: use "tsit5" or '
                '"dopri8", or set device = "auto"'
            )
        if config.solver.solver == "kvaerno5":
            raise ConfigError(
                'the julia engine cannot train with solver.solver = "kvaerno5": it stores the steps of explicit '
                'methods alone; use "tsit5" or "dopri8", or engine="jax"'
            )
        if config.network.matmul_precision != "highest":
            raise ConfigError(
                'network.matmul_precision is a setting of engine="jax"; in Julia, CUDA.math_mode! sets that of a GPU'
            )
        if config.devices != 1:
            raise ConfigError(
                f'the julia engine trains on one device: leave devices = "{config.devices}" out, or use engine="jax"'
            )
        if config.members > 1:
            raise ConfigError(
                'the julia engine trains one model at a time: use engine="jax" for members, or train runs with other '
                "seeds"
            )

    def law(self, constraint: Constraint, u: np.ndarray, at: Instant) -> np.ndarray:
        if isinstance(constraint, Stacked):
            parts = [self.law(part, u, at) for part in constraint.parts]
            # What evaluation by the embedded engine leaves behind: the rows of each part.
            constraint._sizes = tuple(part.shape[1] for part in parts)
            return np.concatenate(parts, axis=1)
        at = at.each(len(u))
        law = julia_law(constraint, Sizes.of(u, at))
        with julia() as jl:
            values = to_python(jl.law_values(law, to_julia(u), julia_instant(at, len(u))))
        if has_twin(constraint):
            check_twin(constraint, u, at, values)
        return values

    def retract(
        self,
        constraint: Constraint | None,
        metric: Any,
        u: np.ndarray,
        at: Instant,
        c: np.ndarray,
        bounds: Bounds | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        sizes, metric = Sizes.of(u, at), julia_metric(metric, u.shape[1])
        law = None if constraint is None else julia_law(constraint, sizes)
        arrays = to_julia(u), julia_instant(at, len(u)), to_julia(c)
        with julia() as jl:
            states, converged = jl.retract_states(law, metric, *arrays, julia_bounds(bounds, sizes))
            return to_python(states), to_python(converged)

    def integrate(
        self,
        rhs: Callable[[Any, Instant], Any],
        u0: np.ndarray,
        times: np.ndarray,
        settings: SolverConfig,
        constraint: Constraint | None = None,
        conditions: Conditions = UNDRIVEN,
    ) -> Trajectories:
        if conditions.roles:
            raise ConfigError(
                'the julia engine integrates no right-hand side with inputs or parameters: use engine="jax"'
            )

        def in_place(du: Any, u: Any, t: float) -> None:
            np.asarray(du)[...] = rhs(np.asarray(u), Instant(t))

        law = None if constraint is None else julia_law(constraint, Sizes(u0.shape[1]))
        dtype = settings.precision
        times = np.broadcast_to(times, (len(u0), np.shape(times)[-1]))
        with julia() as jl:
            out = jl.integrate(
                in_place, to_julia(u0, dtype), to_julia(times), julia_settings(settings), law
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
        law, dtype = julia_law(constraint, Sizes(u0.shape[1])), settings.precision
        arrays = [to_julia(array, dtype) for array in (u0, velocity)]
        with julia() as jl:
            return trajectories_of(jl.push_along(law, *arrays, duration, julia_settings(settings)))

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
        dtype = settings.precision
        times = np.broadcast_to(times, (len(u0), np.shape(times)[-1]))
        card = on_card(model, settings.solver, conditions.jump)
        weights_and_states = (to_julia(array, dtype, card) for array in (flat(model, weights), u0))
        the_model = julia_model(model, dtype, card)
        drive = julia_drive(
            model, conditions.since(times[:, 0]), times[:, 0], c.shape[1], dtype, card
        )
        with julia() as jl:
            return trajectories_of(
                jl.rollout(
                    the_model,
                    *weights_and_states,
                    to_julia(times),  # in double precision, whatever that of the states
                    to_julia(c, dtype, card),
                    julia_settings(settings),
                    drive,
                )
            )

    def export(self, model: Model, weights: Weights, settings: SolverConfig, samples: int) -> bytes:
        raise ConfigError(
            'the julia engine exports no programs: load the run by engine="jax", which forecasts with the same weights'
        )

    def velocity(
        self, model: Model, weights: Weights, u: np.ndarray, at: Instant, c: np.ndarray
    ) -> np.ndarray:
        card = on_card(model)
        arrays = (to_julia(array, "float64", card) for array in (flat(model, weights), u, c))
        the_model, instants = (
            julia_model(model, "float64", card),
            julia_instant(at, len(u), card),
        )
        with julia() as jl:
            return to_python(jl.velocity(the_model, *arrays, instants))

    def mechanics(self, model: Model, weights: Weights, u: np.ndarray, at: Instant) -> Mechanical:
        return get("jax").mechanics(model, weights, u, at)  # weights are the same in both

    def loss_and_gradient(
        self, model: Model, weights: Weights, batch: Batch
    ) -> tuple[float, Weights]:
        settings = model.config.solver
        self.check(model.config)
        card = on_card(model)
        the_model = julia_model(model, settings.precision, card)
        segments = julia_segments(model, batch, card)
        with julia() as jl:
            loss, gradient, *_ = jl.loss_and_gradient(
                the_model,
                to_julia(flat(model, weights), settings.precision, card),
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

    def start_members(
        self,
        model: Model,
        train: Sequence[Sequence[Batch]],
        valid: Sequence[Batch],
        weights: Sequence[Weights],
        states: Sequence[Mapping[str, np.ndarray] | None],
    ) -> MembersTraining:
        self.check(model.config)
        raise AssertionError("members are refused before they are trained")

    def network(self, network: Any, inputs: Sequence[str] = ()) -> JuliaNetwork:
        """A network of PowerDynamics.jl 4: Julia code, the path of a file of it, or the object itself; with names of
        its parameters that are inputs.

        **Raises:** `pnde.errors.EngineError` if PowerDynamics is not there, or the code fails;
        `pnde.errors.GridError` if it gives no network; `pnde.errors.ConfigError` for an input that is no parameter.
        """
        return julia_network(network, inputs)
