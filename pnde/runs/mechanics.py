"""What a mechanical model has learned, at states: energies, masses, dissipation."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pnde.engines import Engine
from pnde.errors import ConfigError
from pnde.laws import Conditions
from pnde.models import Mechanics, Model, Weights


def mechanics(
    engine: Engine, model: Model, weights: Weights, u: np.ndarray, conditions: Conditions | None
) -> xr.Dataset:
    """Energies, masses and dissipation at states.

    **Arguments:**

    - `u`: states `(..., n)`, NaN where there is none.
    - `conditions`: of as many trajectories as the first axis of `u` has; `None` for a model without parameters.

    **Returns:** `kinetic`, `potential` and `energy`, their sum, over the axes of `u` but the last; `masses` and
    `dissipation`, over two axes `position` and `other` more.

    **Raises:** `pnde.errors.ConfigError` if the model is no mechanical one, or depends on parameters and has none.
    """
    if not model.mechanical:
        raise ConfigError(
            'only a model with network.form = "mechanical" has an energy, masses and dissipation; this one learned '
            "its accelerations or velocities as they are"
        )
    if model.parameters and conditions is None:
        raise ConfigError(
            f"the model depends on the parameters {', '.join(model.parameters)}: pass a data set, which has them, not "
            "an array"
        )
    shape, half = u.shape[:-1], u.shape[-1] // 2
    given = Conditions() if conditions is None else conditions
    at = given.at(np.zeros(shape))
    known = np.isfinite(u).all(axis=-1)
    found = engine.mechanics(model, weights, u[known], at.pick(known))
    out = xr.Dataset(
        coords={"position": list(model.states[:half]), "other": list(model.states[:half])}
    )
    dims = tuple(f"axis_{i}" for i in range(len(shape)))
    for name in ("kinetic", "potential", "masses", "dissipation"):
        values = getattr(found, name)
        full = np.full((*shape, *values.shape[1:]), np.nan)
        full[known] = values
        out[name] = ((*dims, "position", "other")[: full.ndim], full)
    return out.assign(energy=out["kinetic"] + out["potential"])


def check_constant(model: Model, name: str) -> None:
    """Whether masses or dissipation are the same at all states.

    **Raises:** `pnde.errors.ConfigError` if not.
    """
    known = getattr(model.physics, name) if isinstance(model.physics, Mechanics) else None
    learned = name == "dissipation" or known is None
    if callable(known) or (learned and getattr(model.config.network, name) == "state"):
        raise ConfigError(
            f"the {name} of this model depend on the positions: run.mechanics(u) gives them at states of yours"
        )


def compact(matrix: xr.DataArray) -> xr.DataArray:
    """The diagonal of a matrix that has nothing beside it, or the matrix."""
    diagonal: Any = np.diagonal(matrix.values)
    if not np.array_equal(np.diag(diagonal), matrix.values):
        return matrix
    return xr.DataArray(diagonal, {"position": matrix["position"]}, ("position",), matrix.name)
