"""What the golden values and the live comparison of the engines share: systems, models and weights by formula."""

from itertools import pairwise

import numpy as np

from pnde import systems
from pnde.config import Config
from pnde.data import Inputs
from pnde.laws import UNDRIVEN, Conditions
from pnde.models import Model

SYSTEMS = {
    "quartic": systems.get("quartic"),
    "lotka-volterra": systems.get("lotka-volterra"),
    "pendulum-4": systems.get("pendulum", n=4),
    "pendulum-8": systems.get("pendulum", n=8),
    "ieee14": systems.get("ieee14"),
}
DRIVEN = {
    "driven-pendulum": systems.get("driven-pendulum", n=2),
    "lotka-volterra-family": systems.get("lotka-volterra-family"),
    "ieee14-loads": systems.get("ieee14-loads"),
}


class SkewQuartic:
    """The quartic oscillator as a model of first order whose network gives A of A ∇h."""

    states, constraint, order = SYSTEMS["quartic"].states, SYSTEMS["quartic"].constraint, 1
    name, inputs, family, form = "quartic-skew-gradient", (), (), "skew-gradient"
    initial = SYSTEMS["quartic"].initial


#: Systems with another form of the network.
FORMS = {"quartic-skew-gradient": SkewQuartic()}
#: How large the inputs of these are.
SIZES = {"driven-pendulum": 0.1, "ieee14-loads": 10.0}
METHODS = ("nde", "snde", "pnde")
PROJECTIONS = ("cholesky", "qr", "truncated")
GAMMA = 1.5


def wave(*shape):
    """The vector that golden.jl calls `wave`, with the dimensions in the opposite order."""
    return np.sin(1.3 * np.arange(np.prod(shape)) + 0.7).reshape(shape)


def model_of(system, method, projection="cholesky", **solver):
    n, inputs, family = len(system.states), system.inputs, system.family
    conditions, form = np.arange(len(inputs) + len(family)), getattr(system, "form", "mlp")
    config = Config.make(
        method=method, gamma=GAMMA, form=form, layers=2, width=8, skip=True,
        solver={"solver": "tsit5", "precision": "float64", "max_steps": 4096, "retract": "never"} | solver,
        projection={"method": projection},
    )  # fmt: skip
    return Model(
        states=system.states,
        config=config,
        mean=0.1 * np.sin(np.arange(n)),
        std=1 + 0.1 * np.cos(np.arange(n)),
        speed=0.5 + 0.1 * np.sin(np.arange(n)) if form == "skew-gradient" else None,
        constraint=system.constraint.bind(system.states),
        order=system.order,
        inputs=inputs,
        parameters=family,
        condition_mean=0.1 * np.cos(conditions) if len(conditions) else None,
        condition_std=SIZES.get(system.name, 1.0) * (1 + 0.1 * np.sin(conditions))
        if len(conditions)
        else None,
    )


def conditions_of(system, dt, count=2):
    """What golden.jl calls `drive_of`, of as many trajectories."""
    k, r = len(system.inputs), len(system.family)
    if not k + r:
        return UNDRIVEN
    p = 0.75 + 0.25 * wave(count, r) if r else None
    if not k:
        return Conditions(None, p)
    jumps = system.name == "ieee14-loads"
    knots = dt * np.array([-1, 2.5, 7.3] if jumps else [-1, 7.3])
    a, x = SIZES[system.name] * wave(count, len(knots), 4, k), knots[-1] - knots[-2]
    powers = x ** np.arange(4)[:, None]
    a[:, -1, 0] = (a[:, -2] * powers).sum(axis=1)
    a[:, -1, 1] = (np.arange(1, 4)[:, None] * a[:, -2, 1:] * powers[:3]).sum(axis=1)
    at = np.full((count, int(jumps)), 2.5 * dt)
    return Conditions(Inputs(np.tile(knots, (count, 1)), a, at, np.empty((count, 0))), p)


def instants_of(system, dt, count=2):
    """Those at which laws and velocities are evaluated, `at_of` of golden.jl."""
    return conditions_of(system, dt, count).at(np.full(count, 1.3 * dt))


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
