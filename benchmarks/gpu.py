"""One run on a GPU: is the projection right there, and what does the paper's Table I look like on this card?

    python benchmarks/gpu.py --output benchmarks/results/NAME-DATE     # writes NAME-DATE.json and .md; under 8 minutes
    python benchmarks/gpu.py --quick                                   # small networks, to try the script on a CPU

Needs what `pip install pnde` brings, and a jaxlib that sees the GPU; no network. Correctness first: values and
gradients of every method in float32 and float64, against the plain formula on the CPU in float64. Then the rows of
Table I at batch 1024: train step, forward pass and solve (tolerance 1e-4, the paper's horizon), median and spread of
interleaved runs, compilation apart. The time is bounded: when `--minutes` are used up, what is left is written as not
measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path

import allocator  # noqa: F401
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import record
from measure import matrix_rate
from overhead import PAPER, TrainStep, forward_pass, full_solve
from problems import CASES, problems

from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.projection import project
from pnde.engines.jax.timing import compile_time, interleaved

# Rows first that say most, should the time run out.
ORDER = ("ieee14", "quartic", "lotka-volterra", "pendulum-4", "pendulum-8")


def correctness(batch: int = 256) -> list[dict]:
    """Largest deviations from the plain formula in float64 on the CPU, relative, for each method and precision."""
    rng, rows = np.random.default_rng(0), []
    cpu = jax.devices("cpu")[0]
    for m, n in ((1, 4), (8, 16), (18, 28)):
        G, v, b = (rng.normal(size=(batch, *shape)) for shape in ((m, n), (n,), (m,)))
        W = rng.uniform(0.5, 2.0, n)

        def plain(G, v, b, W):
            S = (G * W) @ G.T
            return v - W * (G.T @ jnp.linalg.solve(S, G @ v + b))

        def energy(f, *args):
            return jnp.sum(jnp.sin(f(*args)))

        with jax.default_device(cpu):
            exact = [jnp.asarray(x, jnp.float64) for x in (G, v, b)]
            expected = _batched(plain, energy)(*exact, jnp.asarray(W))
        for dtype in ("float32", "float64"):
            for method in ("cholesky", "qr", "truncated"):

                def own(G, v, b, W, method=method):
                    return project(G, v, b, W, method)

                given = [jnp.asarray(x, dtype) for x in (G, v, b, W)]
                p, gradients = _batched(own, energy)(*given)
                Gp = jnp.einsum("bmn,bn->bm", given[0], p) + given[2]
                pairs = zip(gradients, expected[1], strict=True)
                rows.append(
                    {
                        "m": m,
                        "n": n,
                        "precision": dtype,
                        "method": method,
                        "value": _deviation(p, expected[0]),
                        "gradient": max(_deviation(g, e) for g, e in pairs),
                        "G p + b": float(jnp.abs(Gp).max() / jnp.abs(given[1]).max()),
                    }
                )
    return rows


def _batched(f, energy):
    def run(G, v, b, W):
        values = jax.vmap(f, (0, 0, 0, None))(G, v, b, W)
        gradient = jax.grad(lambda *a: energy(f, *a), (0, 1, 2))
        return values, jax.vmap(gradient, (0, 0, 0, None))(G, v, b, W)

    return jax.jit(run)


def _deviation(x, expected) -> float:
    x, expected = np.asarray(x, np.float64), np.asarray(expected)
    return float(np.abs(x - expected).max() / np.abs(expected).max())


def table(options: argparse.Namespace, deadline: float) -> list[dict]:
    """The rows of Table I, as far as the time reaches."""
    rows = []
    for name in ORDER:
        case = CASES[name]
        horizon = case.t_end * (0.02 if options.quick else 1.0)
        makers = {
            "train": TrainStep,
            "forward": forward_pass,
            "solve": lambda p, t=horizon, dt=case.dt: full_solve(p, t, dt, 1e-4),
        }
        candidates = problems(name, "small" if options.quick else "paper", options.batch)
        own = {p.label: {"system": name, "model": p.label} for p in candidates}
        for what, make in makers.items():
            left = deadline - time.perf_counter()
            if left < 20:
                continue
            runs = {p.label: make(p) for p in candidates}
            for label, run in runs.items():
                own[label][f"{what} compile s"] = compile_time(run)
                if what == "train":
                    run.settle()
            # A share of the time that is left for each comparison.
            for label, seconds in interleaved(runs, options.repeats, left / 12).items():
                own[label][f"{what} ms"] = 1e3 * float(np.median(seconds))
                own[label][f"{what} min ms"] = 1e3 * float(seconds.min())
                own[label][f"{what} max ms"] = 1e3 * float(seconds.max())
                own[label][f"{what} runs"] = len(seconds)
        rows += own.values()
        print(pd.DataFrame(own.values()).set_index("model").T.to_string(), flush=True)
    return rows


def facts() -> dict[str, str]:
    """Card, driver and versions."""
    out = {
        "device": str(jax.devices()[0].device_kind),
        "platform": jax.default_backend(),
        **record.facts(),
    }
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20)
        out["nvidia-smi"] = done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        pass
    rate = matrix_rate(1024, 512, "float32")
    return out | {"float32 products": f"{rate / 1e12:.3g} Tflop/s"}


def markdown(result: dict) -> str:
    """The result for readers, beside the paper's numbers."""
    lines = [f"# {result['facts']['device']}, {result['facts']['date']}", ""]
    lines += [f"* {key}: {value}" for key, value in result["facts"].items()]
    lines += ["", "## Projection, largest relative deviation from float64 on the CPU", ""]
    lines += _rows(pd.DataFrame(result["correctness"]), "{:.1e}")
    lines += ["", "## Table I: batch 1024, ms (paper: NVIDIA H100; its training in minutes)", ""]
    shown = []
    for row in result["table"]:
        minutes, forward, solve = PAPER[row["system"], row["model"]]
        shown.append(
            {
                "system": row["system"],
                "model": row["model"],
                "train step": row.get("train ms"),
                "forward": row.get("forward ms"),
                "solve": row.get("solve ms"),
                "paper train (min)": minutes,
                "paper forward": forward,
                "paper solve": solve,
            }
        )
    lines += _rows(pd.DataFrame(shown), "{:.3g}")
    return "\n".join(lines) + "\n"


def _rows(frame: pd.DataFrame, number: str) -> list[str]:
    def text(value) -> str:
        if isinstance(value, float):
            return "not measured" if np.isnan(value) else number.format(value)
        return str(value)

    head = [f"| {' | '.join(frame.columns)} |", "|" + "---|" * len(frame.columns)]
    return head + [f"| {' | '.join(map(text, row))} |" for row in frame.itertuples(index=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="path of the result, without suffix")
    parser.add_argument("--quick", action="store_true", help="small networks, short solves")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=7.0)
    options = parser.parse_args()
    deadline = time.perf_counter() + 60 * options.minutes
    with numerics():
        result = {"facts": facts(), "correctness": correctness()}
        print(pd.DataFrame(result["correctness"]).to_string(), flush=True)
        result["table"] = table(options, deadline)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        options.output.with_suffix(".md").write_text(markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main()
