"""Gradients through steps of a solver that were rejected."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array


def guarded(field: Callable[..., Array]) -> Callable[..., Array]:
    """A field whose derivative counts for nothing where nothing depends on it.

    A step that comes to where the field is NaN is rejected, and no result depends on it. Its derivative is NaN all the
    same, and reverse mode multiplies it by the zero with which it is used: 0 · NaN = NaN. Here the pullback of zero is
    zero.
    """

    @jax.custom_vjp
    def safe(*arguments):
        return field(*arguments)

    def forward(*arguments):
        return jax.vjp(field, *arguments)

    def backward(pullback, cotangent):
        used = jnp.any(cotangent != 0)
        return jax.tree.map(lambda g: jnp.where(used, g, jnp.zeros_like(g)), pullback(cotangent))

    safe.defvjp(forward, backward)
    return safe
