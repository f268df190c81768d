"""Interleaved timing: all candidates in turn, again and again, so that a slow moment of the machine hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import numpy as np


def compile_time(run: Callable[[], object]) -> float:
    """Seconds of the first call."""
    began = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - began


def interleaved(
    runs: dict[str, Callable[[], object]], repeats: int, budget: float = float("inf")
) -> dict[str, np.ndarray]:
    """Seconds of each run, `(repeats,)` or as many as fit into `budget` seconds in all (two at least)."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    began = time.perf_counter()
    for repeat in range(repeats):
        if repeat >= 2 and time.perf_counter() - began > budget:
            break
        for name, run in runs.items():
            start = time.perf_counter()
            jax.block_until_ready(run())
            seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


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
