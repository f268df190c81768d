"""Both engines on the same training: seconds until the first step is done, milliseconds of one, and their ratio.

    python benchmarks/engines.py                                     # 2 × 64 networks, all systems
    python benchmarks/engines.py --size paper --systems quartic      # the paper's network
    python benchmarks/engines.py --threads 1 --output engines.csv

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

import numpy as np
import pandas as pd
from problems import CASES, Problem, problems

from pnde.engines import get

ENGINES = ("jax", "julia")


class TrainStep:
    """A step of the optimiser at weights that stay as they are."""

    def __init__(self, name: str, problem: Problem):
        self._training = get(name).start(problem.model, [problem.batch], [], problem.weights, None)
        self.steps = 0.0

    def __call__(self) -> None:
        self.steps = self._training.step(0, 0.0).solver_steps


def first_step(name: str, problem: Problem) -> float:
    """Seconds from the start of a training to the end of its first step."""
    began = time.perf_counter()
    TrainStep(name, problem)()
    return time.perf_counter() - began


def time_case(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of the table for one system."""
    rows = []
    for problem in problems(name, options.size, options.batch, options.precision):
        if problem.model.config.method not in options.methods:
            continue
        runs = {engine: TrainStep(engine, problem) for engine in ENGINES}
        for run in runs.values():
            # Until the embedded engine has as many slots as its steps need, it compiles anew.
            for _ in range(options.warm):
                run()
        seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
        for _ in range(options.repeats):
            for engine, run in runs.items():
                began = time.perf_counter()
                run()
                seconds[engine].append(time.perf_counter() - began)
        row: dict[str, Any] = {"system": name, "model": problem.label}
        for engine in ENGINES:
            row[f"{engine} ms"] = 1e3 * np.median(seconds[engine])
            row[f"{engine} steps"] = runs[engine].steps
        rows.append(row | {"julia / jax": row["julia ms"] / row["jax ms"]})
    return rows


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
        out[f"{engine} first step s"] = float(done.stdout)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--systems", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--methods", nargs="+", default=["nde", "snde", "pnde"])
    parser.add_argument("--size", choices=["small", "paper"], default="small")
    parser.add_argument("--batch", type=int, default=1024, help="segments in a step")
    parser.add_argument("--precision", choices=["float32", "float64"], default="float32")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--warm", type=int, default=34, help="steps before the clock runs")
    parser.add_argument("--threads", type=int, help="of either engine's linear algebra")
    parser.add_argument("--without-first", action="store_true", help="leave the first steps out")
    parser.add_argument("--first", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help="a CSV file for the table")
    options = parser.parse_args()
    if options.first:
        name, engine, size, batch, precision = options.first
        print(first_step(engine, problems(name, size, int(batch), precision)[-1]))
        return
    if options.threads:
        os.environ["OPENBLAS_NUM_THREADS"] = str(options.threads)
        if hasattr(os, "sched_setaffinity"):  # XLA counts the processors that it may use
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    rows = []
    for name in options.systems:
        first = {} if options.without_first else time_first_steps(name, options)
        rows += [
            row | (first if row["model"] == "PNDE" else {}) for row in time_case(name, options)
        ]
        print(pd.DataFrame(rows[-3:]).to_string(float_format="{:.3g}".format), flush=True)
    table = pd.DataFrame(rows)
    print(table.to_string(float_format="{:.3g}".format))
    if options.output:
        table.to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
