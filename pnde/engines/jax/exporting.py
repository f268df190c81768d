"""A forecast as one program that JAX alone reads again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import equinox
import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float, Int

from pnde.config import SolverConfig
from pnde.engines.jax import fields
from pnde.engines.jax.driving import Drive, instant
from pnde.engines.jax.laws import value
from pnde.engines.jax.rolling import rollout
from pnde.errors import EngineError
from pnde.laws import Constraint
from pnde.models import Model, Weights


def exported(model: Model, weights: Weights, settings: SolverConfig, samples: int) -> bytes:
    """The forecast of a model without inputs as `jax.export` serialises it, for any number of trajectories.

    Its arguments are initial states `(B, n)`, times `(samples,)` and, of a model with parameters, these `(B, r)`; it
    gives states `(B, samples, n)` and the status `(B,)`, all but the latter in float64.

    **Raises:** `pnde.errors.EngineError` if the package is missing with which JAX writes programs.
    """
    try:
        import flatbuffers  # noqa: F401
    except ImportError:
        raise EngineError(
            "JAX writes programs with the package flatbuffers, which is not installed: pip install 'pnde[export]'"
        ) from None
    dtype = jnp.dtype(settings.precision)
    parameters = fields.parameters(weights, dtype)

    def forecast(
        u0: Float[Array, "B n"], times: Float[Array, " T"], p: Float[Array, "B r"] | None = None
    ) -> tuple[Float[Array, "B T n"], Int[Array, " B"]]:
        zero = jnp.zeros(u0.shape[0], jnp.float64)
        c = _targets(model.constraint, u0, Drive(zero + times[0], p=p))
        driven = Drive(zero, p=None if p is None else p.astype(dtype))
        grid = jnp.broadcast_to(times.astype(dtype), (u0.shape[0], samples))
        found, _ = rollout(
            model, settings, parameters, u0.astype(dtype), grid, c.astype(dtype), driven
        )
        u = jnp.where(jnp.isfinite(found.u), found.u, jnp.nan)
        return u.astype(jnp.float64), found.status.astype(jnp.int32)

    (B,) = export.symbolic_shape("B")
    shapes: list[Any] = [(B, len(model.states)), (samples,)]
    if model.parameters:
        shapes.append((B, len(model.parameters)))
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float64) for shape in shapes]
    with _checks_as_values():
        return bytes(export.export(jax.jit(forecast))(*arguments).serialize())


def _targets(law: Constraint | None, u0: Array, start: Drive) -> Array:
    """The law at the starts of trajectories, or its fixed targets, `(B, m)`."""
    if law is None:
        return jnp.zeros((u0.shape[0], 0), u0.dtype)
    h = jax.vmap(lambda u, drive: value(law, u, instant(drive, jnp.zeros(()))))(u0, start)
    fixed = law.targets(np.full(h.shape[1], np.nan))
    return jnp.where(jnp.isnan(fixed), h, fixed)


@contextmanager
def _checks_as_values() -> Iterator[None]:
    """Inside, what equinox checks in a program makes NaN of its values: an error calls Python, which is not there where
    the program is read. (Equinox reads its variable EQX_ON_ERROR once, when it is imported.)"""
    errors = equinox._errors
    before = errors.EQX_ON_ERROR
    errors.EQX_ON_ERROR = "nan"
    try:
        # JAX keeps what it traces under another remark apart: what it has traced before, with the calls, is not taken,
        # and what it traces now is not what others get.
        with set_xla_metadata(pnde="exported"):
            yield
    finally:
        errors.EQX_ON_ERROR = before
