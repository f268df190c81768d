"""What an engine promises, and what crosses the border to it: NumPy arrays and plain records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pnde.config import Config, SolverConfig
from pnde.engines.status import Status
from pnde.laws import UNDRIVEN, Bounds, Conditions, Constraint, Instant
from pnde.models import Model, Weights


@dataclass(frozen=True, eq=False)
class Trajectories:
    """States of B trajectories at T times, with how each integration went.

    - `u`: `(B, T, n)`, float64, NaN from where a trajectory failed.
    - `status`: `(B,)`, values of `Status`.
    - `steps`: `(B,)`, steps of the solver, rejected ones included.
    - `evaluations`: `(B,)`, evaluations of the vector field.
    - `c`: targets `(B, T, m)` where inputs that jump changed them; else `None`.
    """

    u: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    evaluations: np.ndarray
    c: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Mechanical:
    """What a mechanical model has learned, and what it was given, at B states (q, q̇).

    - `kinetic`, `potential`: energies `(B,)`.
    - `masses`: M `(B, n/2, n/2)`; `dissipation`: A `(B, n/2, n/2)`.
    """

    kinetic: np.ndarray
    potential: np.ndarray
    masses: np.ndarray
    dissipation: np.ndarray


@dataclass(frozen=True, eq=False)
class Batch:
    """S segments to train on, float64 and in physical units.

    - `u`: states `(S, k+1, n)`; the first is the initial state.
    - `start`: the time of the first state `(S,)`.
    - `grid`: times since then, `(k+1,)` where all segments share them, else `(S, k+1)`.
    - `c`: targets `(S, m)`, m = 0 without a law.
    - `share`: weight of each segment in the mean `(S,)`; 0 for one that only fills up the batch.
    - `known`: which entries of `u` were measured `(S, k+1, n)`; `None` if all were.
    - `conditions`: of the segments, on clocks that begin at `start`.
    """

    u: np.ndarray
    start: np.ndarray
    grid: np.ndarray
    c: np.ndarray
    share: np.ndarray
    known: np.ndarray | None = None
    conditions: Conditions = UNDRIVEN

    def __len__(self) -> int:
        return len(self.u)


@dataclass(frozen=True)
class Step:
    """What one step of the optimiser, or the evaluation of a loss, came to.

    - `loss`: of the batch.
    - `gradient_norm`: ‖∂loss/∂θ‖₂; 0 for an evaluation.
    - `solver_steps`: mean over the solves, rejected steps included.
    - `status`: the worst of the solves.
    """

    loss: float
    gradient_norm: float
    solver_steps: float
    status: Status


@runtime_checkable
class Training(Protocol):
    """A model in training, with its weights, optimiser and batches on the engine's device."""

    def step(self, index: int, rate: float) -> Step:
        """One step of AdamW on a training batch. The weights stay as they were if the loss is not finite."""

    def loss(self, index: int) -> Step:
        """The loss of a validation batch."""

    def weights(self) -> Weights:
        """The weights now, a copy."""

    def state(self) -> dict[str, np.ndarray]:
        """All else that the next step depends on, a copy: the engine's own, for `Engine.start` of a resumed run."""


@runtime_checkable
class MembersTraining(Protocol):
    """Models of one kind in training, a step of each at a time; see `Training`."""

    def step(self, indices: Sequence[int], rate: float) -> list[Step]:
        """A step of each member, on the training batch that it has at its index."""

    def loss(self, index: int) -> list[Step]:
        """The loss of each member on a validation batch."""

    def weights(self) -> list[Weights]:
        """The weights of each member now, copies."""

    def states(self) -> list[dict[str, np.ndarray]]:
        """What `Training.state` is, of each member."""


@runtime_checkable
class Engine(Protocol):
    """An engine. All arrays are NumPy's; nothing of the engine's own leaks out."""

    name: str

    def status(self) -> dict[str, str]:
        """Versions and devices, for `pnde doctor`."""

    def check(self, config: Config) -> None:
        """Whether this engine can train with these settings.

        **Raises:** `pnde.errors.ConfigError` naming the setting that it cannot follow, and the remedy.
        """

    def law(self, constraint: Constraint, u: np.ndarray, at: Instant) -> np.ndarray:
        """h `(B, m)` in float64, of states `(B, n)` at as many instants; NaN outside of the law's domain."""

    def retract(
        self,
        constraint: Constraint | None,
        metric: Any,
        u: np.ndarray,
        at: Instant,
        c: np.ndarray,
        bounds: Bounds | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """States `(B, n)` at as many instants put on h = c `(B, m)` and inside of the bounds, in float64, and which of
        them are there `(B,)`.

        `metric` is M of the norm in which they move as little as possible, as in `Model`.
        """

    def integrate(
        self,
        rhs: Callable[[Any, Instant], Any],
        u0: np.ndarray,
        times: np.ndarray,
        settings: SolverConfig,
        constraint: Constraint | None = None,
        conditions: Conditions = UNDRIVEN,
    ) -> Trajectories:
        """Solve u̇ = rhs(u, instant) from u0 `(B, n)`, saved at times `(T,)` or `(B, T)`; on the law's manifold, if
        given.

        Where an input jumps, a saved state is the one after it.
        """

    def push(
        self,
        constraint: Constraint,
        u0: np.ndarray,
        velocity: np.ndarray,
        duration: float,
        settings: SolverConfig,
    ) -> Trajectories:
        """Push states along a law's manifold: u̇ = (I - G⁺G) v from u0 `(B, n)` with constant v `(B, n)`.

        Saved at the start and at the end.
        """

    def rollout(
        self,
        model: Model,
        weights: Weights,
        u0: np.ndarray,
        times: np.ndarray,
        c: np.ndarray,
        settings: SolverConfig,
        conditions: Conditions = UNDRIVEN,
    ) -> Trajectories:
        """Solve the model from u0 `(B, n)` with targets c `(B, m)`, each trajectory with steps of its own.

        Where an input jumps, a saved state is the one after it.
        """

    def export(self, model: Model, weights: Weights, settings: SolverConfig, samples: int) -> bytes:
        """The forecast of a model without inputs as a program of `jax.export`, for any number of trajectories.

        Its arguments are initial states `(B, n)`, times `(samples,)` and, of a model with parameters, these `(B, r)`;
        it gives states `(B, samples, n)` and the status `(B,)`, all but the latter in float64.

        **Raises:** `pnde.errors.ConfigError` from an engine that has no such programs; `pnde.errors.EngineError` if a
        package is missing to write them.
        """

    def velocity(
        self, model: Model, weights: Weights, u: np.ndarray, at: Instant, c: np.ndarray
    ) -> np.ndarray:
        """The model's u̇ `(B, n)` in float64."""

    def mechanics(self, model: Model, weights: Weights, u: np.ndarray, at: Instant) -> Mechanical:
        """Energies, masses and dissipation of a mechanical model, in float64, of states `(B, n)` at their instants."""

    def loss_and_gradient(
        self, model: Model, weights: Weights, batch: Batch
    ) -> tuple[float, Weights]:
        """The training loss of a batch and its gradient, in the precision of `model.config.solver`."""

    def start(
        self,
        model: Model,
        train: Sequence[Batch],
        valid: Sequence[Batch],
        weights: Weights,
        state: Mapping[str, np.ndarray] | None = None,
    ) -> Training:
        """Begin to train from `weights`, or go on where `state`, which this engine made, was taken.

        **Arguments:**

        - `train`: batches of one size.

        **Raises:** `pnde.errors.ConstraintError` if rows of the law depend on each other at the segments' starts;
        `pnde.errors.RunError` if `state` is not one of this engine and model.
        """

    def start_members(
        self,
        model: Model,
        train: Sequence[Sequence[Batch]],
        valid: Sequence[Batch],
        weights: Sequence[Weights],
        states: Sequence[Mapping[str, np.ndarray] | None],
    ) -> MembersTraining:
        """Begin to train, or go on with, models that differ in their weights and in their training batches alone.

        **Arguments:** those of `start`; `train`, `weights` and `states` have one of each for each member.

        **Raises:** as `start`; `pnde.errors.ConfigError` from an engine that cannot, or for inputs that jump.
        """
