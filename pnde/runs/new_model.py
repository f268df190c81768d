"""The model that data, a law and settings make, and what it is trained on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import xarray as xr

from pnde.config import Config
from pnde.data import Normaliser, check_velocities, condition_scale
from pnde.engines import Engine
from pnde.errors import ConfigError
from pnde.laws import split_laws
from pnde.laws.bounds import settle
from pnde.laws.conditions import check_given
from pnde.laws.signature import arguments_of
from pnde.models import (
    Mechanics,
    Model,
    check_mechanics,
    check_skew_gradient,
    checked_metric,
    default_metric,
)
from pnde.runs.record import name_of
from pnde.runs.run import rows_of
from pnde.systems import inequalities_for, law_for, system_of
from pnde.training import Batches, batches_of, epochs_for, output_speed


def new_model(
    engine: Engine,
    ds: xr.Dataset,
    constraint: Any,
    config: Config,
    order: Literal[1, 2] | None,
    metric: Any,
    physics: Any,
) -> tuple[Model, Batches]:
    """The model and its batches, all of it checked; the arguments are those of `pnde.train`."""
    system = system_of(ds)
    law = law_for(ds, constraint, max(1e-2, config.tolerance))
    inequalities = inequalities_for(ds, constraint)
    if law is None and config.method != "nde" and not (inequalities and config.method == "pnde"):
        raise ConfigError(
            f'method = "{config.method}" needs a law: pass constraint=, or use method="nde"'
        )
    scale = Normaliser.fit(ds)
    if metric is None and (law is not None or inequalities):
        of_system = system is not None and split_laws(constraint)[0] is None
        metric = default_metric(config, scale, of_system)
    metric = checked_metric(metric, ds.sizes["state"])
    model = Model(
        states=tuple(str(name) for name in ds["state"].values),
        config=config,
        mean=scale.mean,
        std=scale.std,
        constraint=law,
        order=order or (system.order if system else 1),
        features=system.features if system else "state",
        metric=metric,
        physics=physics,
        bounds=settle(engine, inequalities, ds, config.projection.rate),
        **_conditions(ds),
    )
    check_mechanics(model)
    _check_bounds(model)
    if physics is not None and not isinstance(physics, Mechanics):
        what = f"the physics {name_of(physics)!r}"
        check_given(what, arguments_of(physics, what).roles, ds)
    engine.check(config)
    if config.network.form == "skew-gradient":
        check_skew_gradient(model, rows_of(engine, model, ds))
    if model.order == 2:
        check_velocities(ds)
    batches = batches_of(engine, model, ds)
    model = _with_epochs(model, batches)
    if config.network.output == "speed":
        model = replace(model, speed=output_speed(engine, model, scale, batches))
    return model, batches


def _conditions(ds: xr.Dataset) -> dict[str, Any]:
    """What a model says of the inputs and parameters of its data."""
    scale = condition_scale(ds)
    if scale is None:
        return {}
    return {
        "inputs": tuple(map(str, ds["input"].values)) if "w" in ds else (),
        "parameters": tuple(map(str, ds["parameter"].values)) if "parameters" in ds else (),
        "condition_mean": scale[0],
        "condition_std": scale[1],
    }


def _check_bounds(model: Model) -> None:
    """Whether a model of this form keeps inequalities."""
    if model.bounds is not None and model.mechanical:
        raise ConfigError(
            f"a mechanical model keeps no inequalities such as that of {model.bounds.names[0]!r}, since a force alone "
            'does not hold a position: leave them out, or set network.form = "mlp"'
        )


def _with_epochs(model: Model, batches: Batches) -> Model:
    """The model with the length of its training settled."""
    epochs = epochs_for(model.config.optimiser, batches)
    return replace(model, config=Config.make(model.config, **{"optimiser.epochs": epochs}))
