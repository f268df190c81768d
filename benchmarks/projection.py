"""How long the projection of an N-pendulum takes: the chain's own factor, dense factors, and plain differentiation.

    python benchmarks/projection.py                    # a minute or two: some N, float64
    python benchmarks/projection.py --full --output projection.json

`solve` is v - Gᵀ solve(G Gᵀ, G v) by `jnp.linalg.solve`, which JAX differentiates itself. All methods start from the
state, so the Jacobian is part of the time, and the backward pass gives the gradients with respect to state
and velocity.
Calls are interleaved between the methods, so that a busy machine slows all of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import record

from pnde.engines.jax.projection import project
from pnde.engines.jax.structures.rods import RodsJacobian
from pnde.laws.rods import Rods
from pnde.systems.pendulum import to_cartesian

METHODS = ("chain", "cholesky", "qr", "solve")
REFERENCE = "solve"
PASSES = ("forward", "forward+backward")
SLOPE_FROM = 32


def projection(method: str, links: int) -> Callable[[Any, Any], Any]:
    """(u, v) ↦ p, for one state of a pendulum."""
    law = Rods(np.ones(links))

    def projected(u, v):
        if method == "chain":
            return project(RodsJacobian.at(u), v)
        G = law.jacobian(u)
        if method == "solve":
            return v - G.T @ jnp.linalg.solve(G @ G.T, G @ v)
        return project(G, v, method=method)

    return projected


def program(method: str, links: int, what: str) -> Callable[..., Any]:
    """The compiled function of a batch `(B, 4N)` of states and one of velocities."""
    batched = jax.vmap(projection(method, links))
    if what == "forward":
        return jax.jit(batched)
    return jax.jit(jax.grad(lambda u, v: jnp.sum(batched(u, v) ** 2), argnums=(0, 1)))


def states(links: int, batch: int, dtype: str) -> tuple[jax.Array, jax.Array]:
    """States on the manifold at random angles and angular velocities of 5 rad/s, and random velocities."""
    rng = np.random.default_rng(links)
    angles, speeds = rng.uniform(0, 2 * np.pi, (batch, links)), 5 * rng.normal(size=(batch, links))
    u = to_cartesian(np.concatenate([angles, speeds], axis=1))
    return jnp.asarray(u, dtype), jnp.asarray(rng.normal(size=u.shape), dtype)


def measure(
    programs: dict[str, Callable[..., Any]], arguments: Any, seconds: float
) -> dict[str, np.ndarray]:
    """Times of interleaved calls, in seconds: as many as fit into `seconds` for each program, 5 at least."""
    for run in programs.values():
        jax.block_until_ready(run(*arguments))
    times: dict[str, list[float]] = {name: [] for name in programs}
    end = time.perf_counter() + seconds * len(programs)
    while len(next(iter(times.values()))) < 5 or time.perf_counter() < end:
        for name, run in programs.items():
            began = time.perf_counter()
            jax.block_until_ready(run(*arguments))
            times[name].append(time.perf_counter() - began)
    return {name: np.array(row) for name, row in times.items()}


def needed(links: int, batch: int, dtype: str) -> float:
    """About how many bytes a dense method needs: G, its factors and their cotangents."""
    return 8.0 * batch * (2 * links) * (4 * links) * np.dtype(dtype).itemsize


def run(options: argparse.Namespace) -> pd.DataFrame:
    """Every case, printed as it comes."""
    rows: list[dict[str, Any]] = []
    for dtype in options.precision:
        for batch in options.batch:
            for what in PASSES:
                print(
                    f"\n{dtype}, batch {batch}, {what}: median time (and its ratio to `{REFERENCE}`)"
                )
                print("     N" + "".join(f"{name:>21}" for name in METHODS), flush=True)
                last: dict[str, tuple[int, float]] = {}
                for links in options.links:
                    programs, left_out = {}, {}
                    for name in METHODS:
                        reason = (
                            None
                            if name == "chain"
                            else too_much(options, links, batch, dtype, last.get(name))
                        )
                        if reason is None:
                            programs[name] = program(name, links, what)
                        else:
                            left_out[name] = reason
                    times = measure(programs, states(links, batch, dtype), options.seconds)
                    last |= {name: (links, float(np.median(row))) for name, row in times.items()}
                    for name, row in times.items():
                        rows.append(
                            {
                                "precision": dtype,
                                "batch": batch,
                                "pass": what,
                                "method": name,
                                "N": links,
                                "median_s": np.median(row),
                                "minimum_s": row.min(),
                                "repeats": len(row),
                                "ratio": np.median(row) / np.median(times[REFERENCE])
                                if REFERENCE in times
                                else np.nan,
                            }
                        )
                    print(
                        f"{links:6d}" + "".join(cell(name, times, left_out) for name in METHODS),
                        flush=True,
                    )
                print_slopes(pd.DataFrame(rows), dtype, batch, what)
    return pd.DataFrame(rows)


def too_much(
    options: argparse.Namespace, links: int, batch: int, dtype: str, last: tuple[int, float] | None
) -> str | None:
    """Why a dense case is left out: its memory, or its time if that grows with N³."""
    gigabytes = needed(links, batch, dtype) / 1e9
    if gigabytes > options.memory:
        return f"{gigabytes:.0f} GB"
    expected = 0.0 if last is None else last[1] * (links / last[0]) ** 3
    return f"~{expected:.0f} s a call" if expected > options.longest else None


def cell(name: str, times: dict[str, np.ndarray], left_out: dict[str, str]) -> str:
    if name in left_out:
        return f"{'skipped, ' + left_out[name]:>21}"
    median = float(np.median(times[name]))
    ratio = f" ({median / np.median(times[REFERENCE]):5.2f})" if REFERENCE in times else " " * 8
    unit, scale = next(
        (u, s) for u, s in (("µs", 1e6), ("ms", 1e3), ("s ", 1.0)) if median * s < 1e4
    )
    return f"{median * scale:10.1f} {unit}{ratio}"


def print_slopes(table: pd.DataFrame, dtype: str, batch: int, what: str) -> None:
    """The exponent of N from 32 on, by least squares on log-log axes."""
    chosen = table[
        (table["precision"] == dtype)
        & (table["batch"] == batch)
        & (table["pass"] == what)
        & (table["N"] >= SLOPE_FROM)
    ]
    slopes = []
    for name in METHODS:
        part = chosen[chosen["method"] == name]
        if len(part) > 1:
            logs = np.log(part[["N", "median_s", "minimum_s"]].to_numpy())
            median, minimum = (np.polyfit(logs[:, 0], logs[:, i], 1)[0] for i in (1, 2))
            slopes.append(f"{name} {median:.2f} ({minimum:.2f} of the minima)")
    if slopes:
        print(f"  time ~ N^slope from N = {SLOPE_FROM}: " + ", ".join(slopes), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full", action="store_true", help="N = 1, 2, 4, ..., 256 and both precisions"
    )
    parser.add_argument("--links", type=int, nargs="+", metavar="N")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64, 1024])
    parser.add_argument("--precision", nargs="+", choices=["float32", "float64"])
    parser.add_argument("--seconds", type=float, default=0.3, help="for the repeats of a case")
    parser.add_argument(
        "--longest", type=float, default=1.0, help="dense cases that take longer a call are skipped"
    )
    parser.add_argument(
        "--memory", type=float, default=4.0, help="dense cases that need more gigabytes are skipped"
    )
    parser.add_argument("--output", type=Path, help="a JSON file")
    options = parser.parse_args()
    options.links = options.links or ([2**k for k in range(9)] if options.full else [8, 32, 256])
    options.precision = options.precision or (
        ["float32", "float64"] if options.full else ["float64"]
    )
    jax.config.update("jax_enable_x64", True)
    print(f"jax {jax.__version__} on {jax.devices()[0]}")
    began = time.perf_counter()
    table = run(options)
    print(f"\n{time.perf_counter() - began:.0f} s")
    if options.output:
        record.write(options.output, table.to_dict("records"))


if __name__ == "__main__":
    main()
