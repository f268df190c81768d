"""The order of operations that do not need one another."""

from __future__ import annotations

from jaxtyping import Array


def after(first: Array, then: Array) -> Array:
    """`then`, but not before `first` is there: a sum with nothing, which XLA cannot leave out.

    On a CPU, XLA runs operations side by side that do not need one another. Batched LAPACK calls beside matrix
    products take the threads from them, which is half as slow again; and two batched LAPACK calls at once can take all
    threads of a machine with two cores and then wait for a third, for ever (jaxlib 0.10).
    """
    return then + 0 * first.ravel()[0]
