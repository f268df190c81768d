"""The arithmetic of the engine, whatever JAX is set to outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def numerics() -> Iterator[None]:
    """Inside, float64 is there, and products of float32 matrices are float32.

    By default JAX rounds the factors of such products to TF32 on a GPU, to ten bits: a law would hold to 1e-3 only, and
    the solver would take the noise for its error. `network.matmul_precision` sets the network's own products.
    """
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield
