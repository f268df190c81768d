"""Many states at once, but no more than there is memory for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax

#: So many numbers of states are treated at once: a factor takes up to a few hundred times the memory of its state.
_AT_ONCE = 2**18


def in_portions(function: Callable[..., Any], *arrays: Any) -> Any:
    """`jax.vmap(function)(*arrays)`, with the states `(count, ..., n)`, the last of the arrays, a portion at a time."""
    count, *shape = arrays[-1].shape
    most = max(8, _AT_ONCE // math.prod(shape))
    if count <= most:
        return jax.vmap(function)(*arrays)
    return jax.lax.map(lambda each: function(*each), arrays, batch_size=most)


def block_size(count: int, n: int) -> int:
    """Of how many states a program is compiled that serves any number of them.

    1024 where states are small. Where the states of so many would not fit, no more than `count` needs, as a power of
    two: filling a block up costs more than one program more.
    """
    most = max(8, _AT_ONCE // n)
    if most >= 1024:
        return 1024
    return min(1 << (most.bit_length() - 1), max(8, 1 << (count - 1).bit_length()))
