"""Mechanical models as the Julia package holds them; what a user knows of one crosses as one traced function."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.engines import get
from pnde.engines.julia.arrays import to_julia
from pnde.engines.julia.driving import Sizes
from pnde.engines.julia.programs import traced_at
from pnde.engines.julia.session import julia
from pnde.engines.known_forces import evaluated, known_force
from pnde.laws import Instant
from pnde.models import Mechanics, Model, array_shapes, initial_weights, network_sizes, scales


def julia_form(model: Model, sizes: Sizes) -> Any:
    """The form of the network as a Julia object.

    **Raises:** as the embedded engine for functions that return something of another shape, or a law of positions
    alone; `pnde.errors.EngineError` if one does something that Julia cannot.
    """
    _inspect(model)
    known, half = model.physics, model.outputs
    forces = masses = None
    if isinstance(known, Mechanics):
        masses = known.masses
        if callable(masses):
            masses = traced_at(
                lambda q, at: evaluated(known.masses, "masses", q, at),
                Sizes(half, 0, sizes.parameters),
                "the known masses",
            )
        elif masses is not None:
            masses = to_julia(masses)
        if callable(known.masses) or known.parts != ("masses",):
            forces = traced_at(lambda u, at: known_force(known, at, u), sizes, "the known forces")
    spread, kappa, omega = scales(model)
    with julia() as jl:
        return jl.Mechanical(
            spread=to_julia(spread),
            kappa=kappa,
            omega=omega,
            settled=model.physics is None,
            masses=masses,
            forces=forces,
            rows=to_julia(1 + _velocity_rows(model), "int64"),
        )


def julia_layout(model: Model) -> Any:
    """How the weights lie in one vector."""
    networks, arrays = network_sizes(model), array_shapes(model)
    with julia() as jl:
        return jl.named_layout(
            list(networks), list(networks.values()), list(arrays), list(arrays.values())
        )


def _inspect(model: Model) -> None:
    """Evaluate the model by the embedded engine, which says what is wrong with the user's functions."""
    get("jax").mechanics(model, initial_weights(model, 0), model.mean[None], _usual_instant(model))


def _usual_instant(model: Model) -> Instant:
    """The time 0 with the mean inputs and parameters."""
    w = p = still = None
    if model.condition_mean is not None:
        inputs = len(model.inputs)
        w = model.condition_mean[None, :inputs] if inputs else None
        p = model.condition_mean[None, inputs:] if model.parameters else None
        still = None if w is None else np.zeros_like(w)
    return Instant(np.zeros(1), w, still, still, p)


def _velocity_rows(model: Model) -> np.ndarray:
    law = model.constraint
    if law is None or model.config.method != "pnde":
        return np.zeros(0, np.int64)
    count = get("jax").law(law, model.mean[None], _usual_instant(model)).shape[1]
    return law.velocity_rows(count)
