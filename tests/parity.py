"""What the golden values and the live comparison of the engines share: systems, models and weights by formula."""

from itertools import pairwise

import numpy as np

from pnde import systems
from pnde.config import Config
from pnde.models import Model

SYSTEMS = {
    "quartic": systems.get("quartic"),
    "lotka-volterra": systems.get("lotka-volterra"),
    "pendulum-4": systems.get("pendulum", n=4),
    "pendulum-8": systems.get("pendulum", n=8),
    "ieee14": systems.get("ieee14"),
}
METHODS = ("nde", "snde", "pnde")
PROJECTIONS = ("cholesky", "qr", "truncated")
GAMMA = 1.5


def wave(*shape):
    """The vector that golden.jl calls `wave`, with the dimensions in the opposite order."""
    return np.sin(1.3 * np.arange(np.prod(shape)) + 0.7).reshape(shape)


def model_of(system, method, projection="cholesky", **solver):
    n = len(system.states)
    config = Config.make(
        method=method, gamma=GAMMA, layers=2, width=8, skip=True,
        solver={"solver": "tsit5", "precision": "float64", "max_steps": 4096, "retract": "never"} | solver,
        projection={"method": projection},
    )  # fmt: skip
    return Model(
        states=system.states,
        config=config,
        mean=0.1 * np.sin(np.arange(n)),
        std=1 + 0.1 * np.cos(np.arange(n)),
        constraint=system.constraint.bind(system.states),
        order=system.order,
    )


def weights_of(model):
    sizes = model.layer_sizes
    flat = 0.4 * wave(sum((a + 1) * b for a, b in pairwise(sizes)))
    weights, start = {}, 0
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
        weights[f"layers.{i}.weight"] = flat[start:middle].reshape(inputs, outputs)
        weights[f"layers.{i}.bias"] = flat[middle:end]
        start = end
    return weights


def flat(weights):
    return np.concatenate([np.ravel(value) for value in weights.values()])


def close(actual, expected, tolerance=1e-8):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
