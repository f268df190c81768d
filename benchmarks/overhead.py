"""What the projection costs: train step, forward pass and solve of NDE, SNDE and PNDE (the paper's Table I), as ratios.

    python benchmarks/overhead.py                                  # 2 × 64 networks, all systems: minutes on two cores
    python benchmarks/overhead.py --size paper --systems quartic   # the paper's network
    python benchmarks/overhead.py --output overhead.json

Models of a system are timed in turn in one run, so their ratios hold on a noisy machine; times are medians. A model
whose random weights make it the faster moving one takes more steps: `train / NDE, per step` and `solve / NDE, per step`
compare an evaluation with an evaluation. `GEMM ratio` is the time of a train step over that of the network's matrix
products alone, at the rate of such products measured in the same run: 1 is the limit.
"""

from __future__ import annotations

import argparse
import resource
from itertools import pairwise
from pathlib import Path

import allocator  # noqa: F401
import numpy as np
import pandas as pd
import record
from measure import matrix_rate
from problems import CASES, Problem, problems

from pnde.config import SolverConfig
from pnde.engines import Training, get
from pnde.engines.jax import timing
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.slots import Slots
from pnde.engines.jax.solve import evaluations
from pnde.published import TIMES

# The paper's Table I: minutes of training, ms of a forward pass, ms of a solve.
PAPER = {
    (system, "NDE (angular)" if model == "angular NDE" else model): numbers
    for (system, model), numbers in TIMES.items()
}


class TrainStep:
    """A step of the optimiser, on a batch that stays on the device, at weights that stay as they are."""

    def __init__(self, problem: Problem, engine: str = "jax"):
        self._problem, self._engine = problem, engine
        self._training = self._start(None)
        self.steps = 0.0

    def __call__(self) -> None:
        self.steps = self._training.step(0, 0.0).solver_steps

    def settle(self) -> None:
        """After the first call: compile with as many slots as the solver's steps need, as in training; JAX alone."""
        if self._engine == "julia":
            return
        state = self._training.state()
        self._training = self._start(state | {"recent_steps": np.full(Slots.WINDOW, self.steps)})
        self()

    def _start(self, state: dict[str, np.ndarray] | None) -> Training:
        problem = self._problem
        return get(self._engine).start(problem.model, [problem.batch], [], problem.weights, state)


def forward_pass(problem: Problem):
    """One evaluation of the vector field on the batch."""
    return timing.forward_pass(
        problem.model, problem.weights, problem.batch.u[:, 0], problem.batch.c
    )


def full_solve(problem: Problem, t_end: float, dt: float, tolerance: float):
    """The batch as one system over the horizon of the paper's Table I."""
    u0, c = problem.batch.u[:, 0], problem.batch.c
    return timing.full_solve(problem.model, problem.weights, u0, c, t_end, dt, tolerance)


def time_case(name: str, options: argparse.Namespace) -> list[dict]:
    """Rows of the table for one system."""
    candidates = problems(name, options.size, options.batch, options.precision)
    candidates = [p for p in candidates if p.model.config.method in options.methods]
    case = CASES[name]
    makers = {
        "train": TrainStep,
        "forward": forward_pass,
        "solve": lambda p: full_solve(p, case.t_end * options.horizon, case.dt, 1e-4),
    }
    rows = {p.label: {"system": name, "model": p.label} for p in candidates}
    for what in options.what:
        runs = {p.label: makers[what](p) for p in candidates}
        for label, run in runs.items():
            rows[label][f"{what} compile s"] = timing.compile_time(run)
            if what == "train":
                run.settle()
        seconds = timing.interleaved(runs, options.repeats, options.budget)
        for label, values in seconds.items():
            rows[label][f"{what} ms"] = 1e3 * np.median(values)
            rows[label][f"{what} spread"] = values.max() / values.min()
        for problem in candidates:
            row, run = rows[problem.label], runs[problem.label]
            if what == "train":
                row |= _gemm_ratio(problem, run, row)
            if what == "solve":
                row["solve steps"] = int(run().steps)
    for row in rows.values():
        for what in options.what:
            for other in (first for first in rows.values() if first["model"].startswith("NDE")):
                row[f"{what} / NDE"] = row[f"{what} ms"] / other[f"{what} ms"]
                steps = f"{what} steps"
                if steps in row:
                    share = _evaluations(row[steps]) / _evaluations(other[steps])
                    row[f"{what} / NDE, per step"] = row[f"{what} / NDE"] / share
        paper = PAPER[name, row["model"]]
        base = next(PAPER[key] for key in PAPER if key[0] == name and key[1].startswith("NDE"))
        for i, what in enumerate(("train", "forward", "solve")):
            row[f"paper {what} / NDE"] = paper[i] / base[i]
    return list(rows.values())


def _gemm_ratio(problem: Problem, run: TrainStep, row: dict) -> dict:
    """How the train step compares to its matrix products alone."""
    sizes, count = problem.model.layer_sizes, len(problem.batch)
    products = 2 * count * sum(a * b for a, b in pairwise(sizes))
    rate = matrix_rate(count, sizes[1], problem.model.config.solver.precision)
    # Three products for each evaluation, but for the one that chooses the first step, which has no derivative.
    calls = 3 * (_evaluations(run.steps) - 1) + 1
    limit = calls * products / rate
    return {
        "train steps": run.steps,
        "GEMM limit ms": 1e3 * limit,
        "GEMM ratio": row["train ms"] / 1e3 / limit,
        "peak memory GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def _evaluations(steps: float) -> float:
    """Of the field, of which XLA does once what is asked for twice: the first slope."""
    return evaluations(steps, SolverConfig()) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--size", choices=("paper", "small"), default="small")
    parser.add_argument("--methods", nargs="+", default=["nde", "snde", "pnde"])
    parser.add_argument("--what", nargs="+", default=["train", "forward", "solve"])
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--precision", choices=("float32", "float64"), default="float32")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each comparison")
    parser.add_argument(
        "--horizon", type=float, default=0.1, help="share of the paper's solve time"
    )
    parser.add_argument("--output", type=Path, help="a JSON file")
    options = parser.parse_args()
    rows = []
    with numerics():
        for name in options.systems:
            rows += time_case(name, options)
            shown = pd.DataFrame(rows[-5:]).query("system == @name").set_index(["system", "model"])
            print(shown.T.to_string(float_format=lambda x: f"{x:.3g}"), flush=True)
    if options.output:
        record.write(options.output, rows)


if __name__ == "__main__":
    main()
