"""A network's weights, and those that a training starts from."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from pnde.models.model import Model

Weights = dict[str, np.ndarray]
"""`layers.{i}.weight` of shape `(inputs, outputs)` and `layers.{i}.bias` `(outputs,)`, i = 0 for the first layer."""


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
