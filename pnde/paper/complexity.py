"""How the cost of the projection grows with m and n: the operations of the paper's Table II, timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.projection import project
from pnde.engines.jax.structures.rods import RodsJacobian
from pnde.engines.jax.timing import compile_time, interleaved
from pnde.systems.pendulum import to_cartesian

#: (number of constraints m, size of the state n) along m, along n, and chains of N links.
ALONG_M = tuple((m, 2048) for m in (128, 256, 512, 1024))
ALONG_N = tuple((128, n) for n in (1024, 2048, 4096, 8192))
LINKS = (1024, 2048, 4096, 8192, 16384)
#: The exponents of the paper's Table II: (of m, of n), by operation and method.
THEORY: dict[tuple[str, str], tuple[int, int]] = {
    ("Gram matrix", "Cholesky"): (2, 1),
    ("factorisation", "Cholesky"): (3, 0),
    ("factorisation", "QR"): (2, 1),
    ("triangular solve", "Cholesky"): (2, 0),
    ("triangular solve", "QR"): (2, 0),
    ("matrix-vector product", "Cholesky"): (1, 1),
    ("matrix-vector product", "QR"): (1, 1),
    ("forward pass", "Cholesky"): (2, 1),
    ("forward pass", "QR"): (2, 1),
    ("backward pass", "Cholesky"): (1, 1),
    ("backward pass", "QR"): (1, 1),
}


def measure_complexity(
    sizes_m: tuple[tuple[int, int], ...],
    sizes_n: tuple[tuple[int, int], ...],
    links: tuple[int, ...],
    repeats: int = 7,
) -> pd.DataFrame:
    """Times of every operation at every size, in double precision, for one state.

    **Returns:** the columns `operation`, `method`, `along` (m, n or N), `m`, `n`, `median_s`, `min_s`. Along m
    the state's size is fixed, along n the number of constraints; a chain of N links, factored in O(N), has m = 2 N
    and n = 4 N.
    """
    rows = []
    with numerics():
        for along, sizes in (("m", sizes_m), ("n", sizes_n)):
            for m, n in sizes:
                rows += _time(_operations(m, n), {"along": along, "m": m, "n": n}, repeats)
        for count in links:
            where = {"along": "N", "m": 2 * count, "n": 4 * count}
            rows += _time(_chain(count), where, repeats)
    return pd.DataFrame(rows)


def slope(sizes: Any, seconds: Any) -> float:
    """The exponent with which times grow, by least squares on logarithmic axes."""
    return float(np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(seconds)), 1)[0])


def _time(
    programs: dict[tuple[str, str], Callable[[], object]], where: dict[str, Any], repeats: int
) -> list[dict[str, Any]]:
    runs = {f"{operation}|{method}": run for (operation, method), run in programs.items()}
    for run in runs.values():
        compile_time(run)
    rows = []
    for name, seconds in interleaved(runs, repeats).items():
        operation, method = name.split("|")
        times = {"median_s": float(np.median(seconds)), "min_s": float(seconds.min())}
        rows.append({"operation": operation, "method": method, **where, **times})
    return rows


def _operations(m: int, n: int) -> dict[tuple[str, str], Callable[[], object]]:
    """The rows of Table II for a random Jacobian `(m, n)`."""
    rng = np.random.default_rng(m + n)
    G, v, y = (jnp.asarray(rng.normal(size=shape)) for shape in ((m, n), (n,), (m,)))
    S = G @ G.T
    lower, upper = jnp.linalg.cholesky(S), jnp.linalg.qr(G.T)[1]

    def two_solves(factor, b, lower):
        first = jax.scipy.linalg.solve_triangular(factor, b, lower=lower, trans=0 if lower else 1)
        return jax.scipy.linalg.solve_triangular(
            factor, first, lower=lower, trans=1 if lower else 0
        )

    programs: dict[tuple[str, str], Callable[[], object]] = {
        ("Gram matrix", "Cholesky"): _compiled(lambda G: G @ G.T, G),
        ("factorisation", "Cholesky"): _compiled(jnp.linalg.cholesky, S),
        ("factorisation", "QR"): _compiled(jnp.linalg.qr, G.T),
        ("triangular solve", "Cholesky"): _compiled(lambda f, b: two_solves(f, b, True), lower, y),
        ("triangular solve", "QR"): _compiled(lambda f, b: two_solves(f, b, False), upper, y),
    }
    product = _compiled(lambda G, v, y: (G @ v, y @ G), G, v, y)
    for method in ("Cholesky", "QR"):
        programs["matrix-vector product", method] = product
        forward, backward = _passes(G, v, method.lower())
        programs["forward pass", method], programs["backward pass", method] = forward, backward
    return programs


def _chain(links: int) -> dict[tuple[str, str], Callable[[], object]]:
    """Both passes for a chain of links, whose Jacobian is never formed."""
    rng = np.random.default_rng(links)
    angles, speeds = rng.uniform(0, 2 * np.pi, links), rng.normal(size=links)
    u = jnp.asarray(to_cartesian(np.concatenate([angles, speeds])))
    v = jnp.asarray(rng.normal(size=4 * links))
    forward, backward = _passes(RodsJacobian.at(u), v, "cholesky")
    return {("forward pass", "chain"): forward, ("backward pass", "chain"): backward}


def _passes(G: Any, v: Any, method: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """The projection, and the gradient with the factor that it kept."""

    def run(G, v):
        return jax.vjp(lambda G, v: project(G, v, method=method), G, v)

    _, pullback = jax.jit(run)(G, v)
    backward = _compiled(lambda pullback, p: pullback(p), pullback, jnp.ones_like(v))
    return _compiled(lambda G, v: project(G, v, method=method), G, v), backward


def _compiled(function: Callable[..., Any], *arguments: Any) -> Callable[[], object]:
    run = jax.jit(function)
    return lambda: run(*arguments)
