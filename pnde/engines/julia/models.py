"""Models, settings and weights as the Julia package knows them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from pnde.config import SolverConfig
from pnde.engines.julia.arrays import has_card, to_julia
from pnde.engines.julia.driving import Sizes
from pnde.engines.julia.laws import is_network, julia_bounds, julia_function, julia_law
from pnde.engines.julia.mechanics import julia_form, julia_layout
from pnde.engines.julia.session import julia
from pnde.errors import ConfigError
from pnde.models import Model, Weights, weight_shapes

_models: weakref.WeakKeyDictionary[Model, dict[tuple[str, bool], Any]] = weakref.WeakKeyDictionary()


def julia_model(model: Model, dtype: str, card: bool) -> Any:
    """The model as a Julia object, in a precision, on a card or not; made once for each."""
    made = _models.setdefault(model, {})
    if (dtype, card) not in made:
        config, sizes = model.config, Sizes.of_model(model)
        law = None if model.constraint is None else julia_law(model.constraint, sizes)
        bounds = julia_bounds(model.bounds, sizes) if config.method == "pnde" else None
        metric, physics = julia_metric(model.metric, sizes.states), model.physics
        own: dict[str, Any] = {"form": config.network.form}
        if model.mechanical:
            own, physics = {"form": julia_form(model, sizes), "layout": julia_layout(model)}, None
        elif physics is not None:
            physics = julia_function(physics, sizes, "physics")

        def constant(x: Any) -> Any:
            return None if x is None else to_julia(x, dtype, card)

        with julia() as jl:
            made[dtype, card] = jl.named_model(
                sizes=model.layer_sizes,
                activation=config.network.activation,
                skip=config.network.skip,
                method=config.method,
                gamma=config.gamma,
                constraint=law,
                bounds=bounds,
                projection=config.projection.method,
                mean=constant(model.mean),
                std=constant(model.std),
                speed=constant(model.speed),
                order=model.order,
                features=model.features,
                metric=metric,
                physics=physics,
                condition_mean=constant(model.condition_mean),
                condition_std=constant(model.condition_std),
                **own,
            )
    return made[dtype, card]


def on_card(model: Model, solver: str = "tsit5", jumps: bool = False) -> bool:
    """Whether a model is solved on a card, as its setting `device` says. What runs on the host alone stays there, such
    as a forecast with `jumps` of the inputs.

    **Raises:** `pnde.errors.ConfigError` if the setting is `"gpu"`, there is a card, and the model or the solver cannot
    be on it.
    """
    if not has_card(model.config.device):
        return False
    fault = ""
    if model.constraint is not None and is_network(model.constraint):
        fault = "a network of PowerDynamics.jl is"
    if solver == "kvaerno5":
        fault = 'solver = "kvaerno5" is'
    if jumps:
        fault = "a forecast with inputs that jump is"
    if fault and model.config.device == "gpu":
        raise ConfigError(
            f'device = "gpu", but {fault} for the CPU alone in Julia; set device = "auto" or "cpu"'
        )
    return not fault


def julia_metric(metric: Any, n: int) -> Any:
    """A metric of n states as the Julia package takes it; see `Model`."""
    if metric is None:
        return None
    return julia_function(metric, Sizes(n), "metric") if callable(metric) else to_julia(metric)


def julia_settings(settings: SolverConfig) -> Any:
    """How an ODE is solved, as the Julia package takes it; `adjoint` is a setting of a training alone."""
    options = settings.model_dump(exclude={"precision"})
    with julia() as jl:
        return jl.named_settings(**options)


def flat(model: Model, weights: Weights) -> np.ndarray:
    """All weights in one vector: of each layer the matrix row by row, then the bias."""
    return np.concatenate([np.ravel(weights[name]) for name in weight_shapes(model)])


def unflat(model: Model, vector: np.ndarray) -> Weights:
    """The inverse of `flat`."""
    start, out = 0, {}
    for name, shape in weight_shapes(model).items():
        count = int(np.prod(shape))
        out[name] = vector[start : start + count].reshape(shape)
        start += count
    return out
