"""What the golden values and the live comparison of the engines share: systems, models and weights by formula."""

import numpy as np

from pnde import systems
from pnde.config import Config
from pnde.data import Inputs
from pnde.laws import UNDRIVEN, Bounded, Bounds, Conditions, Inequality, Linear
from pnde.models import Model, weight_shapes

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


class Mixture:
    """Three shares of a whole, which are positive, and not too much of the first two."""

    states, order, name, inputs, family = ("a", "b", "c"), 1, "mixture-within-bounds", (), ()
    constraint = Linear([[1, 1, 1]])

    def __init__(self):
        parts = Bounded(["a", "b"], lower=0), Inequality(lambda u: 0.4 - u[0] ** 2 - u[1] ** 2)
        names, columns, ones = ("a", "b", "left"), np.array([0, 1, -1]), np.ones(3)
        self.bounds = Bounds(
            tuple(part.bind(self.states) for part in parts),
            names, columns, 0 * ones, np.inf * ones, np.array([2.0, 3.0, 4.0]), ones,
        )  # fmt: skip


class MechanicalPendulum:
    """Two rods, of which networks give the potential, the masses and the dissipation."""

    name, inputs, family, order, form = "pendulum-2-mechanical", (), (), 2, "mechanical"
    states, constraint = (
        getattr(systems.get("pendulum", n=2), x) for x in ("states", "constraint")
    )
    settings = {"masses": "state", "dissipation": "state"}  # noqa: RUF012


#: Systems that are compared by the same steps: with inequalities, near which the states are; mechanical.
STEPPED = {system.name: system for system in (Mixture(), MechanicalPendulum())}
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
        projection={"method": projection}, **getattr(system, "settings", {}),
    )  # fmt: skip
    return Model(
        states=system.states,
        config=config,
        mean=0.1 * np.sin(np.arange(n)),
        std=1 + 0.1 * np.cos(np.arange(n)),
        speed=None if form == "mlp" else (0.5 + 0.1 * np.sin(np.arange(n)))[: n // system.order],
        constraint=system.constraint.bind(system.states),
        bounds=getattr(system, "bounds", None),
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
    shapes, start, weights = weight_shapes(model), 0, {}
    flat = 0.4 * wave(sum(int(np.prod(shape)) for shape in shapes.values()))
    for name, shape in shapes.items():
        count = int(np.prod(shape))
        weights[name] = flat[start : start + count].reshape(shape)
        start += count
    return weights


def flat(weights, model=None):
    """All weights as one vector; those of a mechanical model in the order that the model has them."""
    names = weights if model is None else weight_shapes(model)
    return np.concatenate([np.ravel(weights[name]) for name in names])


def close(actual, expected, tolerance=1e-8):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
