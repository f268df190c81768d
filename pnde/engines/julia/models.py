"""Models, settings and weights as the Julia package knows them."""

from __future__ import annotations

import weakref
from itertools import pairwise
from typing import Any

import numpy as np

from pnde.config import Config, SolverConfig
from pnde.engines.julia.arrays import has_card, to_julia
from pnde.engines.julia.driving import Sizes
from pnde.engines.julia.laws import is_network, julia_function, julia_law
from pnde.engines.julia.session import julia
from pnde.errors import ConfigError
from pnde.laws import Bounds
from pnde.models import Mechanics, Model, Weights

_models: weakref.WeakKeyDictionary[Model, dict[tuple[str, bool], Any]] = weakref.WeakKeyDictionary()


def julia_model(model: Model, dtype: str, card: bool) -> Any:
    """The model as a Julia object, in a precision, on a card or not; made once for each."""
    made = _models.setdefault(model, {})
    if (dtype, card) not in made:
        config, sizes = model.config, Sizes.of_model(model)
        check_form(config)
        check_bounds(model.bounds)
        law = None if model.constraint is None else julia_law(model.constraint, sizes)
        metric, physics = julia_metric(model.metric, sizes.states), model.physics
        if physics is not None and not isinstance(physics, Mechanics):
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
                projection=config.projection.method,
                mean=constant(model.mean),
                std=constant(model.std),
                speed=constant(model.speed),
                form=config.network.form,
                order=model.order,
                features=model.features,
                metric=metric,
                physics=physics,
                condition_mean=constant(model.condition_mean),
                condition_std=constant(model.condition_std),
            )
    return made[dtype, card]


def check_bounds(bounds: Bounds | None) -> None:
    """Whether there are none, which this engine does not know.

    **Raises:** `pnde.errors.ConfigError`, if there are.
    """
    if bounds is not None:
        raise ConfigError(
            f'the julia engine keeps no inequalities such as that of {bounds.names[0]!r}: use engine="jax"'
        )


def check_form(config: Config) -> None:
    """Whether this engine has the form of the network.

    **Raises:** `pnde.errors.ConfigError` if not.
    """
    if config.network.form == "mechanical":
        raise ConfigError(
            'the julia engine does not have network.form = "mechanical" yet: use engine="jax"'
        )


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


def flat(weights: Weights) -> np.ndarray:
    """All weights in one vector: of each layer the matrix row by row, then the bias."""
    parts = (
        np.ravel(weights[f"layers.{i}.{part}"])
        for i in range(len(weights) // 2)
        for part in ("weight", "bias")
    )
    return np.concatenate(list(parts))


def unflat(model: Model, vector: np.ndarray) -> Weights:
    """The inverse of `flat`."""
    sizes, start, out = model.layer_sizes, 0, {}
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        for part, shape in (("weight", (inputs, outputs)), ("bias", (outputs,))):
            count = int(np.prod(shape))
            out[f"layers.{i}.{part}"] = vector[start : start + count].reshape(shape)
            start += count
    return out
