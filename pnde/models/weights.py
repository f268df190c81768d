"""A network's weights, and those that a training starts from."""

from __future__ import annotations

import itertools

import numpy as np

from pnde.errors import RunError
from pnde.models.model import Model

Weights = dict[str, np.ndarray]
"""`layers.{i}.weight` of shape `(inputs, outputs)` and `layers.{i}.bias` `(outputs,)`, i = 0 for the first layer."""


def initial_weights(model: Model, seed: int) -> Weights:
    """Random weights: uniform with variance 1 / fan-in, biases within ±1/√fan-in (Lux's `Dense` with GELU).

    They are drawn by NumPy so that both engines start from the same ones.
    """
    rng = np.random.default_rng(seed)
    weights: Weights = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise(model.layer_sizes)):
        bound = np.sqrt(3.0 / inputs)
        weights[f"layers.{i}.weight"] = rng.uniform(-bound, bound, (inputs, outputs))
        bound = 1.0 / np.sqrt(inputs)
        weights[f"layers.{i}.bias"] = rng.uniform(-bound, bound, outputs)
    return weights


def check_weights(model: Model, weights: Weights) -> None:
    """Whether weights are those of a model.

    **Raises:** `pnde.errors.RunError` naming the first array that is missing, surplus, of another shape, or not finite.
    """
    expected: dict[str, tuple[int, ...]] = {}
    for i, shape in enumerate(itertools.pairwise(model.layer_sizes)):
        expected |= {f"layers.{i}.weight": shape, f"layers.{i}.bias": shape[1:]}
    for name in {**expected, **weights}:
        if name not in weights:
            raise RunError(f"the weights have no {name!r}, which the model needs {expected[name]}")
        if name not in expected:
            raise RunError(f"the weights have {name!r}, which the model does not know")
        array = weights[name]
        if array.shape != expected[name]:
            raise RunError(
                f"{name} has the shape {array.shape}, where the model has {expected[name]}"
            )
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise RunError(f"{name} holds values that are not finite numbers")
