"""Both engines on the same training: seconds until the first step is done, milliseconds of one, and their ratio.

    python benchmarks/engines.py                                     # 2 × 64 networks, all systems
    python benchmarks/engines.py --size paper --systems quartic      # the paper's network
    python benchmarks/engines.py --threads 1 --output engines.json

The engines start from the same weights, take the same batch with the same tolerances, and are called in turn in one
process, so their ratio holds on a noisy machine; times are medians. A first step is what a user waits for: it
compiles, and is measured once, in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import allocator  # noqa: F401
import numpy as np
import pandas as pd
import record
from overhead import TrainStep
from problems import CASES, Problem, problems

from pnde.engines.jax.timing import interleaved
from pnde.engines.julia.session import pnde_module

ENGINES = ("jax", "julia")


def first_step(problem: Problem, engine: str) -> float:
    """Seconds from the start of a training to the end of its first step."""
    began = time.perf_counter()
    TrainStep(problem, engine)()
    return time.perf_counter() - began


def time_steps(problem: Problem, options: argparse.Namespace) -> dict[str, Any]:
    """A row of the table, without its first steps."""
    runs = {engine: TrainStep(problem, engine) for engine in ENGINES}
    for run in runs.values():
        run()
        run.settle()
    taken = interleaved(runs, options.repeats, options.budget)
    row: dict[str, Any] = {}
    for engine, seconds in taken.items():
        row[f"{engine} ms"] = 1e3 * np.median(seconds)
        row[f"{engine} spread"] = seconds.max() / seconds.min()
        row[f"{engine} steps"] = runs[engine].steps
    return row | {"julia / jax": row["julia ms"] / row["jax ms"]}


def time_first_steps(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Seconds of the first step of a PNDE of a system, for each engine in a fresh process."""
    out = {}
    for engine in ENGINES:
        arguments = [name, engine, options.size, str(options.batch), options.precision]
        done = subprocess.run(
            [sys.executable, __file__, "--first", *arguments], capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(done.stderr)
        out[f"{engine} first s"] = float(done.stdout)
    return out


def time_case(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of the table for one system."""
    rows = []
    for problem in problems(name, options.size, options.batch, options.precision):
        if problem.model.config.method in options.methods:
            rows.append({"system": name, "model": problem.label} | time_steps(problem, options))
            if problem.label == "PNDE" and not options.without_first:
                rows[-1] |= time_first_steps(name, options)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--systems", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--methods", nargs="+", default=["nde", "snde", "pnde"])
    parser.add_argument("--size", choices=["small", "paper"], default="small")
    parser.add_argument("--batch", type=int, default=1024, help="segments in a step")
    parser.add_argument("--precision", choices=["float32", "float64"], default="float32")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for each comparison")
    parser.add_argument("--threads", type=int, help="of either engine's linear algebra")
    parser.add_argument("--without-first", action="store_true", help="leave the first steps out")
    parser.add_argument("--first", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help="a JSON file")
    options = parser.parse_args()
    if options.first:
        name, engine, size, batch, precision = options.first
        print(first_step(problems(name, size, int(batch), precision)[-1], engine))
        return
    if options.threads:
        os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)
        if hasattr(os, "sched_setaffinity"):  # XLA counts the processors that it may use
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    rows = []
    for name in options.systems:
        rows += time_case(name, options)
        shown = pd.DataFrame(rows).query("system == @name")
        print(shown.to_string(index=False, na_rep="", float_format="{:.3g}".format), flush=True)
    if options.output:
        record.write(options.output, rows, julia=str(pnde_module().VERSION))


if __name__ == "__main__":
    main()
