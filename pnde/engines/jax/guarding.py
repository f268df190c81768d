"""Gradients through steps of a solver that were rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array


def guarded(field: Callable[[Any, Array, Any], Array]) -> Callable[[Any, Array, Any], Array]:
    """A field whose derivative counts for nothing where nothing depends on it.

    A step that comes to where the field is NaN is rejected, and no result depends on it. Its derivative is NaN all the
    same, and reverse mode multiplies it by the zero with which it is used: 0 · NaN = NaN. Here the pullback of zero is
    zero.
    """

    @jax.custom_vjp
    def safe(t, u, args):
        return field(t, u, args)

    def forward(t, u, args):
        return jax.vjp(field, t, u, args)

    def backward(pullback, cotangent):
        used = jnp.any(cotangent != 0)
        return jax.tree.map(lambda g: jnp.where(used, g, jnp.zeros_like(g)), pullback(cotangent))

    safe.defvjp(forward, backward)
    return safe
