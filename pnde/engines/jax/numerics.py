"""The arithmetic of the engine, whatever JAX is set to outside, and what becomes of JAX's own errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from pnde.errors import EngineError, SolveError

# What carries numbers between processes, by the names that it has in JAX's messages.
_BETWEEN_PROCESSES = ("Gloo ", "NCCL ", "coordination service", "CoordinationService")


@contextmanager
def numerics() -> Iterator[None]:
    """Inside, float64 is there, and products of float32 matrices are float32.

    By default JAX rounds the factors of such products to TF32 on a GPU, to ten bits: a law would hold to 1e-3 only, and
    the solver would take the noise for its error. `network.matmul_precision` sets the network's own products.

    **Raises:** `pnde.errors.SolveError` where an implicit solver's linear equations have no solution;
    `pnde.errors.EngineError` where a device's memory does not suffice, a program fails, or another process has ended.
    """
    try:
        with jax.enable_x64(True), jax.default_matmul_precision("highest"):
            yield
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        text = str(error)
        if any(name in text for name in _BETWEEN_PROCESSES):
            raise EngineError(
                "another process of this training has ended: start all of them again; a run with a checkpoint goes on "
                "by pnde resume",
                traceback=text,
            ) from None
        if isinstance(error, ValueError):  # a fault that has nothing to do with the runtime
            raise
        if "RESOURCE_EXHAUSTED" in text:
            raise EngineError(
                "the device has not enough memory: use a smaller optimiser.batch_size, or fewer trajectories at a time",
                traceback=text,
            ) from None
        if "linear solve" in text or "lineax" in text or "operator" in text:
            raise SolveError(
                "the linear equations of the implicit solver have no finite solution: the state became infinite or "
                'NaN; use a smaller learning_rate or rtol, or projection.metric = "spread"'
            ) from None
        raise EngineError(
            f"a program of JAX failed: {text.partition(chr(10))[0]}", traceback=text
        ) from None
