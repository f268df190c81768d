"""The same job in pnde, diffrax, torchdiffeq and torchode: a projected training step and a rollout.

    pip install torch torchdiffeq torchode        # beside pnde; CPU builds will do
    python benchmarks/peers.py                    # 4-pendulum and 14-bus grid, 2 × 64 networks, batch 1024
    python benchmarks/peers.py --size paper --jobs ieee14

Network, weights, data, solver (Dormand-Prince 5), tolerance and precision are the same. The peers are written as their
own documentation does, with the Jacobian by hand and the projection through their library's linear solve and automatic
differentiation. torchdiffeq solves the batch as one system with common steps, torchode each trajectory with its own;
diffrax is timed in both ways, pnde trains in the former and rolls out in the latter.

Each library has a process of its own, as its users have it, so that threads and memory of one do not touch another;
they take turns, and times are medians. Training steps come ten in a row, as in training, where a step finds the caches
as the last one left them. The first call, which compiles, is apart. Each peer's loss and gradient must agree with
pnde's to `--agreement`, which the tolerance of the solver limits.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

import numpy as np
import pandas as pd
import record
from problems import CASES, Problem, problems

from pnde.cli.process import MALLOC
from pnde.config import Config, SolverConfig


class Peer(Protocol):
    """A library doing the job of a problem, from the problem's weights."""

    def loss_and_gradient(self) -> tuple[float, np.ndarray]:
        """Of the batch; the gradient by all weights, layer by layer, weight before bias."""

    def train_step(self) -> object:
        """One step of AdamW."""

    def rollout(self, times: np.ndarray, tolerance: float) -> np.ndarray:
        """States `(B, T, n)`."""


class Pnde:
    """This package."""

    def __init__(self, problem: Problem):
        from overhead import TrainStep

        from pnde.engines import get

        self.problem, self.engine = problem, get("jax")
        step = TrainStep(problem)
        self.train_step: Callable[[], object] = step
        self.settle = step.settle

    def loss_and_gradient(self) -> tuple[float, np.ndarray]:
        p = self.problem
        loss, gradient = self.engine.loss_and_gradient(p.model, p.weights, p.batch)
        return loss, np.concatenate([gradient[name].ravel() for name in p.weights])

    def rollout(self, times: np.ndarray, tolerance: float) -> np.ndarray:
        p = self.problem
        solver = p.model.config.solver
        settings = SolverConfig(
            solver=solver.solver,
            rtol=tolerance,
            atol=tolerance,
            precision=solver.precision,
            retract="never",  # the peers cannot
        )
        return self.engine.rollout(
            p.model, p.weights, p.batch.u[:, 0], times, p.batch.c, settings
        ).u


def diffrax(problem: Problem, common_steps: bool) -> Peer:
    from peers_diffrax import Diffrax

    return Diffrax(problem, common_steps)


def torchdiffeq(problem: Problem) -> Peer:
    from peers_torch import TorchDiffEq

    return TorchDiffEq(problem)


def torchode(problem: Problem) -> Peer:
    from peers_torch import TorchOde

    return TorchOde(problem)


PEERS: dict[str, Callable[[Problem], Peer]] = {
    "pnde": Pnde,
    "diffrax + AD, common steps": partial(diffrax, common_steps=True),
    "diffrax + AD, own steps": partial(diffrax, common_steps=False),
    "torchdiffeq": torchdiffeq,
    "torchode": torchode,
}


def work(label: str, problem: Problem, calls: Connection) -> None:
    """The process of a peer: calls of its methods come in, and their values go out if they are wanted."""
    x64 = nullcontext()
    if "torch" not in label:
        import jax

        x64 = jax.enable_x64(True)
    with x64:
        peer = PEERS[label](problem)
        while (call := calls.recv()) is not None:
            wanted, method, *arguments = call
            value = finished(getattr(peer, method)(*arguments))
            calls.send(value if wanted else None)


def finished(value: Any) -> Any:
    """The value once it is there: JAX computes while Python goes on."""
    wait = getattr(value, "block_until_ready", None)
    return value if wait is None else wait()


class Worker:
    """A peer in a process of its own."""

    def __init__(self, label: str, problem: Problem):
        context = multiprocessing.get_context("spawn")
        self._calls, other = context.Pipe()
        self._process = context.Process(target=work, args=(label, problem, other), daemon=True)
        # The others have the allocator of a plain Python, as their users do.
        ours = {name: str(value) for name, (_, value) in MALLOC.items()} if label == "pnde" else {}
        with mock.patch.dict(os.environ, ours):
            self._process.start()
        other.close()

    def value(self, *call: Any) -> Any:
        """What a method returns."""
        self._calls.send((True, *call))
        return self._calls.recv()

    def run(self, *call: Any) -> None:
        """The same without sending the value over, which would be timed too."""
        self._calls.send((False, *call))
        self._calls.recv()

    def repeat(self, count: int, *call: Any) -> None:
        """`run`, so many times in a row."""
        for _ in range(count):
            self.run(*call)

    def close(self) -> None:
        self._calls.send(None)
        self._process.join()


def time_job(name: str, options: argparse.Namespace) -> list[dict]:
    """Rows of the table for one job, the first of them pnde."""
    # Not above: a peer's process imports this file, and is to go without the engine's settings of memory.
    from pnde.engines.jax.timing import compile_time, interleaved

    problem = problems(name, options.size, options.batch, options.precision)[-1]
    config = Config.make(problem.model.config, **{"solver.solver": "dopri5"})
    problem = dataclasses.replace(problem, model=dataclasses.replace(problem.model, config=config))
    case = CASES[name]
    t_end = case.t_end * options.horizon
    times = np.linspace(0, t_end, round(t_end / case.dt) + 1)
    peers = {label: Worker(label, problem) for label in PEERS}
    rows: dict[str, dict] = {label: {"job": name, "library": label} for label in peers}
    found = {label: peer.value("loss_and_gradient") for label, peer in peers.items()}
    loss, gradient = found["pnde"]
    for label, (own, slope) in found.items():
        rows[label]["loss off by"] = abs(own / loss - 1)
        rows[label]["gradient off by"] = np.linalg.norm(slope - gradient) / np.linalg.norm(gradient)
        worst = max(rows[label]["loss off by"], rows[label]["gradient off by"])
        if not worst <= options.agreement:
            raise SystemExit(f"{label} does another job on {name}: it is off by {worst:.2g}")
    rollout = ("rollout", times, options.tolerance)
    for what, call, count in (("train step", ("train_step",), 10), ("rollout", rollout, 1)):
        for label, peer in peers.items():
            rows[label][f"{what} first s"] = compile_time(partial(peer.run, *call))
        if what == "train step":  # pnde compiles once more
            peers["pnde"].run("settle")
        runs = {label: partial(peer.repeat, count, *call) for label, peer in peers.items()}
        taken = interleaved(runs, options.repeats, options.budget)
        seconds = {label: values / count for label, values in taken.items()}
        base = np.median(seconds["pnde"])
        for label, values in seconds.items():
            rows[label][f"{what} ms"] = 1e3 * np.median(values)
            rows[label][f"{what} spread"] = values.max() / values.min()
            rows[label][f"{what} / pnde"] = np.median(values) / base
    states = {label: peer.value(*rollout) for label, peer in peers.items()}
    for label, u in states.items():
        rows[label]["rollout off by"] = float(np.abs(u - states["pnde"]).max())
    for peer in peers.values():
        peer.close()
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", nargs="+", choices=CASES, default=["pendulum-4", "ieee14"])
    parser.add_argument("--size", choices=("paper", "small"), default="small")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--precision", choices=("float32", "float64"), default="float32")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of the rollout")
    parser.add_argument("--horizon", type=float, default=0.2, help="share of the paper's rollout")
    parser.add_argument(
        "--agreement",
        type=float,
        default=0.03,
        help="of losses and gradients at the tolerance of training",
    )
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for each comparison")
    parser.add_argument("--output", type=Path, help="a JSON file")
    options = parser.parse_args()
    rows = []
    for name in options.jobs:
        new = time_job(name, options)
        rows += new
        shown = pd.DataFrame(new).set_index(["job", "library"])
        print(shown.T.to_string(float_format=lambda x: f"{x:.3g}"), flush=True)
    if options.output:
        record.write(options.output, rows)


if __name__ == "__main__":
    main()
