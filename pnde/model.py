"""A model as both engines understand it: what it is made of, without its weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pnde.config import Config
from pnde.constraints import Constraint

Weights = dict[str, np.ndarray]
"""`layers.{i}.weight` of shape `(inputs, outputs)` and `layers.{i}.bias` `(outputs,)`, i = 0 for the first layer."""


@dataclass(frozen=True, eq=False)
class Model:
    """The vector field u̇ = f(u, t) of an NDE, SNDE or PNDE (paper, Sec. II), up to the network's weights.

    - `states`: names, `(n,)`.
    - `config`: method, γ, network, projection, solvers.
    - `mean`, `std`: what the network's inputs are normalised by, `(n,)`, physical units (paper, Appendix F.3).
    - `constraint`: the law, bound to `states`; `None` for a model without one.
    - `order`: 2 if u = (q, q̇) and the network gives accelerations, else 1.
    - `features`: `"state"`, the normalised state; or `"angles"`, for u = (θ, ω): sin θ, cos θ and normalised ω.
    - `metric`: M of the inner product vᵀMw: `None`, weights `(n,)`, a matrix `(n, n)`, or a function of u giving
        either (paper, Appendix A).
    - `physics`: known part of the velocity, a function of u, added to the network's.
    """

    states: tuple[str, ...]
    config: Config
    mean: np.ndarray
    std: np.ndarray
    constraint: Constraint | None = None
    order: Literal[1, 2] = 1
    features: Literal["state", "angles"] = "state"
    metric: Any = None
    physics: Callable[[Any], Any] | None = None

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Units from input to output: (inputs, width, ..., width, outputs)."""
        n = len(self.states)
        inputs = n + n // 2 if self.features == "angles" else n
        outputs = n // 2 if self.order == 2 else n
        network = self.config.network
        return (inputs, *(network.width,) * network.layers, outputs)


def initial_weights(model: Model, seed: int, speed: Any = None) -> Weights:
    """Random weights: uniform with variance 1 / fan-in, biases within ±1/√fan-in (Lux's `Dense` with GELU).

    They are drawn by NumPy so that both engines start from the same ones.

    **Arguments:**

    - `speed`: size of the data's velocities, `(n,)`. Where it is below 1, the last layer's weights are scaled by it: a
        slow system has velocities far below 1 (a power grid 0.01 p.u./s on states that vary by 0.05), and weights of
        the usual size would throw its states out of the data within a segment, from which training does not recover.
    """
    rng = np.random.default_rng(seed)
    weights: Weights = {}
    sizes = model.layer_sizes
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        bound = np.sqrt(3.0 / inputs)
        weights[f"layers.{i}.weight"] = rng.uniform(-bound, bound, (inputs, outputs))
        bound = 1.0 / np.sqrt(inputs)
        weights[f"layers.{i}.bias"] = rng.uniform(-bound, bound, outputs)
    if speed is not None:
        last = len(sizes) - 2
        for name in (f"layers.{last}.weight", f"layers.{last}.bias"):
            weights[name] = weights[name] * np.minimum(1.0, np.asarray(speed)[-sizes[-1] :])
    return weights
