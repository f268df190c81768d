"""A network's weights, and those that a training starts from."""

from __future__ import annotations

import itertools

import numpy as np

from pnde.errors import RunError
from pnde.models.mechanics import Mechanics
from pnde.models.model import Model

Weights = dict[str, np.ndarray]
"""`layers.{i}.weight` of shape `(inputs, outputs)` and `layers.{i}.bias` `(outputs,)`, i = 0 for the first layer. Of a
mechanical model, each of `potential`, `masses`, `dissipation`, `forces` that is a network of the positions has layers
`{name}.{i}.weight`, `{name}.{i}.bias` and beside them a linear map `{name}.linear` `(inputs, outputs)`; constants are
`masses` (logarithms `(k,)`, or a factor `(k, k)` with logarithms on its diagonal), `dissipation.factor` and
`dissipation.skew`, both `(k, k)`."""


def initial_weights(model: Model, seed: int) -> Weights:
    """Random weights: uniform with variance 1 / fan-in, biases within ±1/√fan-in (Lux's `Dense` with GELU).

    A mechanical model starts as one without forces: the last layers of its networks are 0, its masses equal (or, where
    the spreads of positions are of different sizes, in the ratio of their inverse squares), its dissipation small.

    They are drawn by NumPy so that both engines start from the same ones.
    """
    rng = np.random.default_rng(seed)
    weights: Weights = {}
    for name, sizes in network_sizes(model).items():
        for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
            bound = np.sqrt(3.0 / inputs)
            weight = rng.uniform(-bound, bound, (inputs, outputs))
            bound = 1.0 / np.sqrt(inputs)
            bias = rng.uniform(-bound, bound, outputs)
            silent = model.mechanical and i == len(sizes) - 2
            weights[f"{name}.{i}.weight"] = 0 * weight if silent else weight
            weights[f"{name}.{i}.bias"] = 0 * bias if silent else bias
    for name, shape in array_shapes(model).items():
        factor = name == "dissipation.factor"
        weights[name] = 0.1 * np.eye(shape[0]) if factor else np.zeros(shape)
    return weights


def check_weights(model: Model, weights: Weights) -> None:
    """Whether weights are those of a model.

    **Raises:** `pnde.errors.RunError` naming the first array that is missing, surplus, of another shape, or not finite.
    """
    expected = weight_shapes(model)
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


def weight_shapes(model: Model) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's weights, by name: of each network its layers, then the arrays that belong to none."""
    out: dict[str, tuple[int, ...]] = {}
    for name, sizes in network_sizes(model).items():
        for i, shape in enumerate(itertools.pairwise(sizes)):
            out |= {f"{name}.{i}.weight": shape, f"{name}.{i}.bias": shape[1:]}
    return out | array_shapes(model)


def learns_masses(model: Model) -> bool:
    """Whether the masses of a mechanical model are learned."""
    return not (isinstance(model.physics, Mechanics) and model.physics.masses is not None)


def network_sizes(model: Model) -> dict[str, tuple[int, ...]]:
    """Units from input to output of each network, by name."""
    if not model.mechanical:
        return {"layers": model.layer_sizes}
    network, half, inputs = model.config.network, model.outputs, model.layer_sizes[0]
    outputs = {"potential": 1}
    if network.masses == "state" and learns_masses(model):
        outputs["masses"] = half * half
    if network.dissipation == "state":
        outputs["dissipation"] = half * half
    if model.inputs:
        outputs["forces"] = half * len(model.inputs)
    return {name: model.sizes(inputs, count) for name, count in outputs.items()}


def array_shapes(model: Model) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a mechanical model that belong to no layer, by name."""
    if not model.mechanical:
        return {}
    network, half = model.config.network, model.outputs
    out: dict[str, tuple[int, ...]] = {
        f"{name}.linear": (sizes[0], sizes[-1]) for name, sizes in network_sizes(model).items()
    }
    if network.masses != "state" and learns_masses(model):
        out["masses"] = (half,) if network.masses == "diagonal" else (half, half)
    if network.dissipation != "none":
        out |= {"dissipation.factor": (half, half), "dissipation.skew": (half, half)}
    return out
