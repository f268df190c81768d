"""How well chains of masses on rods are forecast: the protocol of the constrained-Hamiltonian work, rebuilt.

    python benchmarks/chains.py 2 --models mechanical-pnde,pnde,nde --segments 800 -o chains.csv

Finzi, Wang and Wilson (NeurIPS 2020, "Simplifying Hamiltonian and Lagrangian neural networks via explicit constraints")
train on segments of 5 points, 0.03 s apart, of frictionless chains with masses and lengths 0.6 + 0.8·rand and g = 1,
and forecast 100 test states for 3 s. The error of a trajectory at a time is ‖û - u‖/(‖û‖ + ‖u‖) over positions and
velocities; what is reported is its geometric mean over times (without the start, where it is 0) and trajectories.
"""

from __future__ import annotations

import argparse
import copy
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import pnde
from pnde.config import SolverConfig
from pnde.data import make_dataset
from pnde.engines import get
from pnde.laws import Instant
from pnde.laws.rods import Rods
from pnde.models import ModelKind

DT, POINTS, SECONDS, MOST, TEST, VALID = 0.03, 5, 3.0, 800, 100, 100
EXACT = SolverConfig(solver="dopri8", rtol=1e-12, atol=1e-12)
# What is printed beside ours: Finzi et al. 2020, for chains of 2, 3 and 5 and 800 segments.
PUBLISHED = {
    "plain neural ODE": (6.5e-2, 0.27, 0.44),
    "Hamiltonian network": (1.9e-3, 4.7e-2, 0.34),
    "constrained Hamiltonian network": (1.2e-4, 3.4e-4, 1.1e-3),
}


class Chain:
    """A frictionless chain of n bobs that hangs on the origin, in angles from the downward vertical, with g = 1."""

    def __init__(self, n: int, seed: int):
        rng = np.random.default_rng([seed, n])
        self.n = n
        self.masses = 0.6 + 0.8 * rng.random(n)
        self.lengths = 0.6 + 0.8 * rng.random(n)
        self.states = [f"{name}_{i}" for name in ("x", "y", "vx", "vy") for i in range(1, n + 1)]
        self.law = Rods(self.lengths, self.states)
        self._rng = rng

    def starts(self, count: int) -> np.ndarray:
        """States `(count, 4n)`: angles and rates are normal, positions and velocities perturbed and put on the rods."""
        wanted, count = count, 2 * count  # not all find back to the rods
        rng = copy.deepcopy(self._rng)  # the same states each time
        z = rng.normal(size=(count, 2 * self.n))
        u = self.cartesian(z)
        q, v = u[:, : 2 * self.n], u[:, 2 * self.n :]
        q = q + 0.2 * rng.normal(size=q.shape)
        v = 0.5 * v + 0.4 * rng.normal(size=v.shape)
        u = np.concatenate([q, v], axis=1)
        at = Instant(np.zeros(count))
        c = np.broadcast_to(self.law.target, (count, 2 * self.n))
        on, converged = get("jax").retract(self.law, None, u, at, c)
        return on[converged][:wanted]

    def trajectories(self, u0: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The truth `(B, T, 4n)` from u0 `(B, 4n)`, in angles, which cannot stretch a rod."""
        z = get("jax").integrate(self._rhs, self._angles(u0), times, EXACT).u
        return self.cartesian(z)

    def cartesian(self, z: np.ndarray) -> np.ndarray:
        """(x, y, ẋ, ẏ) `(..., 4n)` of (θ, ω) `(..., 2n)`."""
        angle, rate = z[..., : self.n], z[..., self.n :]
        sine, cosine = self.lengths * np.sin(angle), self.lengths * np.cos(angle)
        parts = [sine, -cosine, cosine * rate, sine * rate]
        return np.concatenate([np.cumsum(part, axis=-1) for part in parts], axis=-1)

    def energy(self, u: np.ndarray) -> np.ndarray:
        """The true potential energy `(...)`."""
        return u[..., self.n : 2 * self.n] @ self.masses

    def _angles(self, u: np.ndarray) -> np.ndarray:
        parts = u.reshape(len(u), 4, self.n)
        links = np.diff(parts, axis=-1, prepend=0)
        x, y, vx, vy = (links[:, i] for i in range(4))
        return np.concatenate([np.arctan2(x, -y), (x * vy - y * vx) / self.lengths**2], axis=-1)

    def _rhs(self, z: Any, at: Instant) -> Any:
        xp, n = z.__array_namespace__(), self.n
        angle, rate = z[:n], z[n:]
        below = np.cumsum(self.masses[::-1])[::-1]  # what hangs on each rod
        pairs = np.minimum.outer(below, below) * np.outer(self.lengths, self.lengths)
        difference = angle[:, None] - angle[None, :]
        torque = -(pairs * xp.sin(difference)) @ rate**2
        torque = torque - below * self.lengths * xp.sin(angle)
        return xp.concatenate([rate, xp.linalg.solve(pairs * xp.cos(difference), torque)])


def data_of(chain: Chain, segments: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Segments for training and validation; and the test trajectories of 3 s.

    A segment, and a test trajectory, begins at a random sample of the first 10 s of a motion of its own.
    """
    count = MOST + VALID + TEST
    u0 = chain.starts(count)
    wait = DT * np.random.default_rng(chain.n).integers(0, int(10 / DT), count)
    # One program for all: each trajectory has its own times.
    times = wait[:, None] + DT * np.arange(POINTS)
    u = chain.trajectories(u0, np.concatenate([np.zeros((count, 1)), times + 1e-9], axis=1))[:, 1:]
    learn = MOST + VALID
    names = chain.states
    ds = make_dataset(u[:learn], DT * np.arange(POINTS), names, time_units="s")
    ds = pnde.split_data(
        ds.isel(trajectory=[*range(segments), *range(MOST, learn)]), segments, VALID, 0
    )
    samples = DT * np.arange(round(SECONDS / DT) + 1)
    truth = make_dataset(chain.trajectories(u[learn:, 0], samples), samples, names, time_units="s")
    return ds, truth


def error(truth: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The geometric mean over time of ‖û - u‖/(‖û‖ + ‖u‖), of each trajectory `(B,)`; 1 where a forecast has failed."""
    norm = np.linalg.norm
    relative = norm(u - truth, axis=-1) / (norm(u, axis=-1) + norm(truth, axis=-1))
    return np.exp(np.log(np.nan_to_num(relative[:, 1:], nan=1.0)).mean(axis=1))


def measure(chain: Chain, name: str, segments: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train a model and forecast; a row of results."""
    kind = ModelKind.parse(name)
    ds, truth = data_of(chain, segments)
    batch = min(options.batch, segments)
    # Each as it does best of the few that were tried on the chain of 2.
    width, rate, decay = (32, 1e-2, 0.03) if kind.form == "mechanical" else (128, 3e-3, 1e-4)
    settings: dict[str, Any] = {
        "activation": "tanh",
        "layers": 2,
        "width": width,
        "batch_size": batch,
        "epochs": -(-options.steps * batch // segments),
        "decay_epochs": -(-options.steps * batch // segments),
        "learning_rate": rate,
        "final_learning_rate": rate / 1000,
        "weight_decay": decay,
        "seed": options.seed,
        # A step for each sample is as accurate as is of use, and the same work for all.
        "solver.step": DT,
        "solver.precision": options.precision,
        "rollout.rtol": 1e-9,
        "rollout.atol": 1e-9,
    }
    if kind.form == "mechanical":
        settings["dissipation"] = "none"
    law = None if kind.method == "nde" else chain.law
    began = time.process_time()
    run = pnde.train(ds, law, order=2, progress=False, **kind.settings, **settings)
    trained = time.process_time() - began
    began = time.process_time()
    forecast = run.rollout(truth)
    errors = error(truth["u"].values, forecast["u"].values)
    row = {
        "chain": chain.n,
        "model": run.label,
        "segments": segments,
        "seed": options.seed,
        "steps": options.steps,
        "width": width,
        "precision": options.precision,
        "error": float(np.exp(np.log(errors).mean())),
        "error, 25 %": float(np.quantile(errors, 0.25)),
        "error, 75 %": float(np.quantile(errors, 0.75)),
        "validation loss": run.report["best_loss"],
        "training (CPU s)": trained,
        "forecast (CPU s)": time.process_time() - began,
    }
    nothing = {"masses": "", "potential": ""}  # a file has the columns of its first row
    return row | (learned(chain, run, truth) if kind.form == "mechanical" else nothing)


def learned(chain: Chain, run: pnde.Run, truth: xr.Dataset) -> dict[str, float]:
    """How far what was learned is from the truth, up to the one factor of all forces and a constant.

    V by its standard deviation on visited states, in parts of its range there; masses, of which a bob has two, along x
    and along y, by the largest relative difference.
    """
    states = truth["u"].values[:, ::10].reshape(-1, 4 * chain.n)
    parts = run.mechanics(states)
    masses = np.diagonal(parts["masses"].values[0])
    true_masses = np.tile(chain.masses, 2)
    scale = np.exp(np.mean(np.log(true_masses) - np.log(masses)))
    v, w = scale * parts["potential"].values, chain.energy(states)
    return {
        "masses": float(np.abs(scale * masses / true_masses - 1).max()),
        "potential": float(np.std(v - w) / np.ptp(w)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="*", default=[2, 3, 5], help="bobs of the chains")
    parser.add_argument("--models", default="nde,snde:10,pnde,mechanical-pnde")
    parser.add_argument("--segments", default="800", help="numbers of training segments")
    parser.add_argument("--steps", type=int, default=8000, help="of the optimiser")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--precision", choices=["float32", "float64"], default="float32")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, help="a CSV file, to which rows are added")
    options = parser.parse_args()
    for n in options.n:
        chain = Chain(n, options.seed)
        for segments in map(int, options.segments.split(",")):
            for name in options.models.split(","):
                row = measure(chain, name, segments, options)
                print(
                    "  ".join(
                        f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}"
                        for k, v in row.items()
                    )
                )
                if options.output is not None:
                    write(options.output, row)


def write(path: Path, row: dict[str, Any]) -> None:
    """Add a row to a CSV file."""
    fresh = not path.exists()
    names = [*row] if fresh else next(csv.reader(path.open(encoding="utf-8")))
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
