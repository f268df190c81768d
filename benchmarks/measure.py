"""The rate of plain matrix products, which a train step is compared to; timing itself is `pnde.engines.jax.timing`."""

from __future__ import annotations

import jax

from pnde.engines.jax.timing import interleaved


def matrix_rate(rows: int, width: int, dtype: str, repeats: int = 5) -> float:
    """Floating-point operations per second of products of `(rows, width)` and `(width, width)` matrices."""
    x = jax.numpy.ones((rows, width), dtype)
    w = jax.numpy.full((width, width), 1 / width, dtype)
    count = max(1, int(2e10 / (2 * rows * width**2)))

    @jax.jit
    def products(x, w):
        return jax.lax.fori_loop(0, count, lambda _, x: x @ w, x)

    jax.block_until_ready(products(x, w))
    best = interleaved({"": lambda: products(x, w)}, repeats)[""].min()
    return 2 * rows * width**2 * count / best
