"""Systems with inputs and parameters in the julia engine: the numbers of the embedded engine."""

import copy
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from live import SETTINGS, SimpleSystem, both, live
from parity import (
    DRIVEN,
    METHODS,
    close,
    conditions_of,
    flat,
    instants_of,
    model_of,
    wave,
    weights_of,
)

import pnde
from pnde.config import SolverConfig
from pnde.data import Inputs, make_dataset
from pnde.engines import Batch, get
from pnde.laws import Conditions, Instant

EXACT = {"solver": "dopri8", "rtol": 1e-12, "atol": 1e-12}

pytestmark = [pytest.mark.julia, live]


def dt_of(name):
    return 0.01 if name == "driven-pendulum" else 0.1


def states_of(name):
    """States near which the law is regular."""
    rng = np.random.default_rng(5)
    system = DRIVEN[name]
    if name == "lotka-volterra-family":
        return system.initial(rng, 2, "paper")
    at = conditions_of(system, dt_of(name)).at(np.zeros(2))
    return system.start(system.initial(rng, 2, "paper"), at)


def batch_of(u, dt, c, conditions, start=None):
    points = u[:, None] + 0.02 * np.arange(5)[:, None] * wave(len(u), 5, u.shape[1])
    start = np.zeros(len(u)) if start is None else start
    share = np.full(len(u), 1 / len(u))
    return Batch(points, start, dt * np.arange(5), c, share, None, conditions)


@pytest.mark.parametrize("name", DRIVEN)
class TestParity:
    @pytest.mark.parametrize("traced", [False, True])
    def test_law_and_velocity(self, name, traced):
        system, u, at = DRIVEN[name], states_of(name), instants_of(DRIVEN[name], dt_of(name))
        model = model_of(system, "pnde")
        if traced:
            law = copy.copy(model.constraint)
            law.julia = None
            model = replace(model, constraint=law)
        values = [run(model.constraint, u, at) for run in both("law")]
        close(*values, 1e-12)
        on = [run(model.constraint, None, 1.001 * u, at, values[1]) for run in both("retract")]
        close(on[0][0], on[1][0], 1e-12)
        np.testing.assert_array_equal(on[0][1], on[1][1])
        for method in METHODS:
            of_method = replace(model, config=model_of(system, method).config)
            ours, theirs = (
                run(of_method, weights_of(model), u, at, values[1] - 0.1)
                for run in both("velocity")
            )
            close(ours, theirs, 1e-12)

    @pytest.mark.parametrize("method", METHODS)
    def test_loss_and_gradient(self, name, method):
        system, dt, u = DRIVEN[name], dt_of(name), states_of(name)
        conditions = conditions_of(system, dt)
        c = get("jax").law(system.constraint, u, conditions.at(np.zeros(2)))
        model = model_of(system, method, **EXACT)
        batch = batch_of(u, dt, c, conditions)
        ours, theirs = (run(model, weights_of(model), batch) for run in both("loss_and_gradient"))
        close(ours[0], theirs[0])
        close(flat(ours[1]), flat(theirs[1]))

    @pytest.mark.parametrize("retract", ["step", "never"])
    def test_rollout(self, name, retract):
        system, dt, u0 = DRIVEN[name], dt_of(name), states_of(name)
        conditions, times = conditions_of(system, dt), dt * np.arange(0.0, 16.0, 5.0)
        c = get("jax").law(system.constraint, u0, conditions.at(np.zeros(2)))
        model = model_of(system, "pnde")
        settings = SolverConfig(**EXACT, retract=retract)
        ours, theirs = (
            run(model, weights_of(model), u0, times, c, settings, conditions)
            for run in both("rollout")
        )
        close(ours.u, theirs.u)
        assert not ours.status.any() and not theirs.status.any()
        assert (ours.c is None) == (theirs.c is None)
        if ours.c is not None:
            close(ours.c, theirs.c)


def all_at_once(u, t, w, p):
    return [u[0] ** 2 * w[0] + p[0] * u[1] - jnp.sin(t), u[2] * w[1] + u[3]]


ALL = "(u, t, w, p) -> [u[1]^2 * w[1] + p[1] * u[2] - sin(t), u[3] * w[2] + u[4]]"
SPRING = "(u, t, w, p) -> vcat(u[3:4, :], .-p .* u[1:2, :] .+ w .* sin.(t))"


def spring(u, p, t, w):
    return jnp.concatenate([u[2:], -p * u[:2] + w * jnp.sin(t)])


@pytest.mark.parametrize("twins", [False, True])
def test_laws_and_physics_of_time_inputs_and_parameters(twins):
    law = pnde.Conserved(all_at_once, jumps=["a", "d"], julia=ALL if twins else None)
    rod = pnde.Holonomic(
        lambda q, w: (q[0] - w[0]) ** 2 + (q[1] - w[1]) ** 2,
        julia="(q, w) -> (q[1] - w[1])^2 + (q[2] - w[2])^2" if twins else None,
    )

    def physics(u, p, t, w):
        return spring(u, p, t, w)

    if twins:
        physics.julia = SPRING
    u = np.random.default_rng(1).uniform(0.5, 1.5, (3, 4))
    knots = np.tile([-0.1, 0.17, 0.23], (3, 1))
    inputs = Inputs(knots, 0.3 * wave(3, 3, 4, 2) + 1, np.full((3, 1), 0.17), np.empty((3, 0)))
    conditions, start = Conditions(inputs, 1 + 0.3 * wave(3, 1)), np.array([0.1, 0.5, 2.0])
    at = conditions.at(np.full(3, 0.05))._replace(t=start)
    for own in (law, rod):
        own = own.bind(("a", "b", "c", "d"))
        system = SimpleSystem(DRIVEN["driven-pendulum"], own)
        system.order, system.inputs, system.family = 1, ("x", "y"), ("k",)
        model = replace(model_of(system, "pnde", **EXACT), physics=physics)
        values = [run(own, u, at) for run in both("law")]
        close(*values, 1e-12)
        ours, theirs = (run(model, weights_of(model), u, at, values[1]) for run in both("velocity"))
        close(ours, theirs, 1e-12)
        if own is not rod:
            c = get("jax").law(own, u, conditions.at(np.zeros(3))._replace(t=start))
            batch = batch_of(u, 0.1, c, conditions, start)
            ours, theirs = (
                run(model, weights_of(model), batch) for run in both("loss_and_gradient")
            )
            close(ours[0], theirs[0])
            close(flat(ours[1]), flat(theirs[1]))


def test_a_training_on_steps_of_an_input():
    """The front's loop, with held inputs and segments of which some begin or end at a jump."""
    t = np.linspace(0, 4, 41)
    rng = np.random.default_rng(2)
    w = np.repeat(rng.uniform(0.5, 1.5, (6, 9)), 5, axis=1)[:, :41, None]
    u = np.stack([np.sin(t) + 0 * w[..., 0], w[..., 0] - np.sin(t)], axis=-1)
    data = make_dataset(u, t, ["x", "y"], w=w, inputs="F", interpolation="held")
    data = pnde.split_data(data, 4, 1, 1)
    law = pnde.Constraint(lambda u, w: u[0] + u[1] - w[0], target=0.0, jumps="y")
    exact = {"precision": "float64", "rtol": 1e-10, "atol": 1e-10, "max_steps": 1000}
    settings = SETTINGS | {"batch_size": 16, "solver": exact}
    ours, theirs = (
        pnde.train(data, law, progress=False, engine=name, **settings) for name in ("julia", "jax")
    )
    for column in ("loss", "valid_loss", "gradient_norm"):
        np.testing.assert_allclose(ours.history[column], theirs.history[column], rtol=1e-6)
    a, b = (run.rollout(t_end=4.0) for run in (ours, theirs))
    np.testing.assert_allclose(a["u"], b["u"], rtol=1e-4)
    assert float(a["constraint_error"].max()) < 1e-12
    # What the solver does at a jump is the same: the other state does not move.
    np.testing.assert_array_equal(a["jumps"], b["jumps"])


def test_what_is_not_there_is_said():
    law = pnde.Conserved(lambda u, w: u[0] * w[0], julia="(u, w) -> u[1] * w[1]")
    at = Instant(np.zeros(1), np.ones((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)))
    assert get("julia").law(law, np.full((1, 2), 3.0), at) == [[3.0]]
