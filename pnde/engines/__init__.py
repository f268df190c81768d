"""Engines: what integrates and trains. The front speaks to them through `Engine` alone."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol

import numpy as np

from pnde.config import Config, SolverConfig
from pnde.errors import EngineError, nearest
from pnde.laws import Constraint
from pnde.models import Model, Weights

logger = logging.getLogger("pnde")

NAMES = ("jax", "julia")


class Status(IntEnum):
    """How the integration of a trajectory ended."""

    OK = 0
    MAX_STEPS = 1
    NON_FINITE = 2
    LEFT_DOMAIN = 3
    RANK_DEFICIENT = 4

    @property
    def reason(self) -> str:
        """The status in words, with the remedy."""
        return {
            Status.OK: "ok",
            Status.MAX_STEPS: "the solver needed more than max_steps steps; raise max_steps or the tolerances",
            Status.NON_FINITE: "the state became infinite or NaN; train longer, or use smaller tolerances",
            Status.LEFT_DOMAIN: "the state left the domain of the law",
            Status.RANK_DEFICIENT: "rows of the law became dependent; "
            'use projection.method = "truncated", or "qr" if they are nearly so',
        }[self]


@dataclass(frozen=True)
class Trajectories:
    """States of B trajectories at T times, with how each integration went.

    - `u`: `(B, T, n)`, float64, NaN from where a trajectory failed.
    - `status`: `(B,)`, values of `Status`.
    - `steps`: `(B,)`, steps of the solver, rejected ones included.
    - `evaluations`: `(B,)`, evaluations of the vector field.
    """

    u: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    evaluations: np.ndarray


@dataclass(frozen=True)
class Batch:
    """Segments to train on: `u` `(S, k+1, n)`, `t` `(S, k+1)`, targets `c` `(S, m)` (m = 0 without a law)."""

    u: np.ndarray
    t: np.ndarray
    c: np.ndarray

    def speed(self) -> np.ndarray:
        """The size of the segments' velocities, `(n,)`, as `pnde.models.initial_weights` takes it."""
        velocity = np.diff(self.u, axis=1) / np.diff(self.t, axis=1)[..., None]
        return np.sqrt(np.mean(velocity**2, axis=(0, 1)))


@dataclass(frozen=True)
class TrainingState:
    """All that a later epoch depends on; arrays only, so that a run resumes bit for bit.

    The order of the batches in an epoch follows from the seed and the epoch's number, so there is no generator to keep.
    `recent_steps` are the solver's steps in the last batches, for an engine that chooses its programs by them.
    """

    epoch: int
    weights: Weights
    optimiser: dict[str, np.ndarray]
    best_weights: Weights
    best_loss: float
    recent_steps: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class Epoch:
    """What an engine says after an epoch.

    `state()` copies the training state from the device; it has to be called before the next epoch, which reuses the
    memory.
    """

    number: int
    loss: float
    valid_loss: float
    best_loss: float
    learning_rate: float
    steps: float
    gradient_norm: float
    seconds: float
    state: Callable[[], TrainingState]


class Engine(Protocol):
    """An engine. All arrays are NumPy's; nothing of the engine's own leaks out."""

    name: str

    def status(self) -> dict[str, str]:
        """Versions and devices, for `pnde doctor`."""

    def check(self, config: Config) -> None:
        """Whether this engine can train with these settings.

        **Raises:** `pnde.errors.ConfigError` naming the setting that it cannot follow, and the remedy.
        """

    def law(self, constraint: Constraint, u: np.ndarray, t: np.ndarray) -> np.ndarray:
        """h(u, t) `(B, m)` in float64, of states `(B, n)` at times `(B,)`; NaN outside of the law's domain."""

    def integrate(
        self,
        rhs: Callable[[Any, Any], Any],
        u0: np.ndarray,
        times: np.ndarray,
        settings: SolverConfig,
        constraint: Constraint | None = None,
    ) -> Trajectories:
        """Solve u̇ = rhs(u, t) from u0 `(B, n)`, saved at times `(T,)` or `(B, T)`; on the law's manifold, if given."""

    def rollout(
        self,
        model: Model,
        weights: Weights,
        u0: np.ndarray,
        times: np.ndarray,
        c: np.ndarray,
        settings: SolverConfig,
    ) -> Trajectories:
        """Solve the model from u0 `(B, n)` with targets c `(B, m)`, each trajectory with steps of its own."""

    def velocity(
        self, model: Model, weights: Weights, u: np.ndarray, t: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        """The model's u̇ `(B, n)` in float64."""

    def loss_and_gradient(
        self, model: Model, weights: Weights, batch: Batch
    ) -> tuple[float, Weights]:
        """The training loss of a batch and its gradient, in the precision of `model.config.solver`."""

    def train(
        self,
        model: Model,
        train: Batch,
        valid: Batch,
        state: TrainingState,
        on_step: Callable[[int, int, float, float], None],
    ) -> Iterator[Epoch]:
        """Train from `state`, one item an epoch; `on_step(step, steps in the epoch, loss, solver steps)` after each."""


def get(name: str = "auto") -> Engine:
    """The engine of that name.

    `"auto"` takes the environment variable `PNDE_ENGINE` if it is set, then julia if it has been set up
    (`pnde setup julia`), then jax, and logs which.

    **Raises:** `pnde.errors.EngineError` if there is none of that name, or it cannot run here.
    """
    if name == "auto":
        name = os.environ.get("PNDE_ENGINE") or ("julia" if _julia_is_set_up() else "jax")
        logger.info("engine: %s", name)
    if name not in NAMES:
        raise EngineError(
            f"there is no engine {name!r}{nearest(name, NAMES)}; there are: {', '.join(NAMES)}"
        )
    return importlib.import_module(f"pnde.engines.{name}").load()


def _julia_is_set_up() -> bool:
    from pnde.engines.julia import is_set_up

    return is_set_up()
