"""How long this engine takes: interleaved calls of compiled programs, with compilation apart."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pnde.config import SolverConfig
from pnde.engines.jax import fields
from pnde.engines.jax.solve import solve
from pnde.laws import Instant
from pnde.models import Model, Weights


def compile_time(run: Callable[[], object]) -> float:
    """Seconds of the first call."""
    began = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - began


def interleaved(
    runs: Mapping[str, Callable[[], object]], repeats: int, budget: float = float("inf")
) -> dict[str, np.ndarray]:
    """Seconds of each run, `(repeats,)` or as many as fit into `budget` seconds in all (two at least).

    All candidates are called in turn, again and again, so that a slow moment of the machine hits all alike.
    """
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


def forward_pass(
    model: Model, weights: Weights, u: np.ndarray, c: np.ndarray
) -> Callable[[], jax.Array]:
    """One evaluation of the vector field at states `(B, n)` with targets `(B, m)`, in the precision of training."""
    dtype = jnp.dtype(model.config.solver.precision)
    parameters = fields.parameters(weights, dtype)
    states, targets = jnp.asarray(u, dtype), jnp.asarray(c, dtype)
    still = jnp.zeros(len(u), dtype)
    run = jax.jit(partial(fields.velocity, model))
    return lambda: run(parameters, Instant(still), states, targets)


def full_solve(
    model: Model,
    weights: Weights,
    u: np.ndarray,
    c: np.ndarray,
    t_end: float,
    dt: float,
    tolerance: float,
) -> Callable[[], Any]:
    """The solution of a batch as one system with common steps, without retraction, as the paper times it."""
    dtype = jnp.dtype(model.config.solver.precision)
    settings = SolverConfig(rtol=tolerance, atol=tolerance, retract="never")
    parameters = fields.parameters(weights, dtype)
    states, targets = jnp.asarray(u, dtype), jnp.asarray(c, dtype)
    times = jnp.arange(round(t_end / dt) + 1, dtype=dtype) * dt
    still = jnp.zeros(len(u), dtype)

    @jax.jit
    def run(parameters, u, c):
        def field(t, u, args):
            return fields.velocity(model, args[0], Instant(still), u, args[1])

        return solve(field, u, times, (parameters, c), settings)

    return lambda: run(parameters, states, targets)


def devices() -> dict[str, Any]:
    """The devices to time on, by name: an accelerator, if there is one, and the CPU."""
    found = {device.platform: device for device in (jax.devices()[0], jax.devices("cpu")[0])}
    return {
        processor() if kind == "cpu" else str(device.device_kind): device
        for kind, device in found.items()
    }


def processor() -> str:
    """The name of the processor, with how many of its cores may be used."""
    import os

    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        pass  # only Linux says it there
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {count} core{'' if count == 1 else 's'}"
