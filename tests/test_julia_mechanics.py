"""Mechanical models in the julia engine: the numbers of the embedded engine."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from live import batch_of, both, live
from parity import close, flat, weights_of

import pnde
from pnde.config import SolverConfig
from pnde.engines import get
from pnde.errors import ConfigError, ConstraintError
from pnde.laws import Constraint, Holonomic, Instant
from pnde.models import Mechanics

pytestmark = [pytest.mark.julia, live]

N = 2
PENDULUM = pnde.systems.pendulum(n=N, friction=0.3)
ANGLES = pnde.systems.pendulum(n=N, friction=0.3, coordinates="angular")
EXACT = {"solver.precision": "float64", "solver.step": 0.01}


def lengths(q, t):
    x, y = q[:N], q[N:]
    pivot = jnp.array([0.1 * t**2, 0.0])
    return (x - jnp.concatenate([pivot[:1], x[:-1]])) ** 2 + (
        y - jnp.concatenate([pivot[1:], y[:-1]])
    ) ** 2


KNOWN = Mechanics(
    masses=lambda q: 1 + 0.1 * q**2,
    potential=lambda q: 9.81 * q[N:].sum(),
    dissipation=lambda q: 0.1 * jnp.outer(jnp.sin(q), jnp.sin(q)),
    forces=lambda u, t: jnp.sin(t + u[2 * N :]),
)
CASES = {
    "diagonal": {"masses": "diagonal", "dissipation": "constant"},
    "matrix": {"masses": "matrix", "dissipation": "none", "skip": True},
    "of the state": {"masses": "state", "dissipation": "state", "activation": "tanh"},
    "known": {"physics": KNOWN, "dissipation": "none"},
    "known matrix": {"physics": Mechanics(masses=np.eye(2 * N) + 0.2), "dissipation": "state"},
    "another law": {
        "constraint": Holonomic(lengths, target=1.0).bind(PENDULUM.states),
        "masses": "state",
    },
    "by QR": {"projection.method": "qr", "masses": "matrix"},
}


def mechanical(make_model, case, **settings):
    model = make_model(PENDULUM, form="mechanical", **EXACT | {"width": 8} | CASES[case] | settings)
    return replace(model, speed=np.linspace(3, 5, 2 * N))


def states(model, count=3):
    u = PENDULUM.initial(np.random.default_rng(0), count, "paper")
    u = u + 0.1 * np.random.default_rng(1).normal(size=u.shape)
    at = Instant(np.zeros(count))
    c = model.constraint.targets(get("jax").law(model.constraint, u, at))
    return get("jax").retract(model.constraint, None, u, at, c)[0], c, at


@pytest.mark.parametrize("case", CASES)
def test_velocity_and_gradient(make_model, case):
    model = mechanical(make_model, case)
    u, c, at = states(model)
    weights = weights_of(model)
    ours, theirs = (run(model, weights, u, at, c) for run in both("velocity"))
    close(ours, theirs, 1e-11)
    points = u[:, None] + 0.02 * np.arange(4)[:, None] * np.sin(u)[:, None]
    ours, theirs = (
        run(model, weights, batch_of(points, 0.01, c)) for run in both("loss_and_gradient")
    )
    close(ours[0], theirs[0], 1e-11)
    close(flat(ours[1], model), flat(theirs[1], model), 1e-10)


@pytest.mark.parametrize("method", ["nde", "snde"])
def test_other_methods(make_model, method):
    model = mechanical(make_model, "matrix", method=method)
    u, c, at = states(model)
    ours, theirs = (run(model, weights_of(model), u, at, c - 0.1) for run in both("velocity"))
    close(ours, theirs, 1e-11)


def test_forecast_and_what_is_read(make_model):
    model = mechanical(make_model, "of the state")
    weights, (u, c, at) = weights_of(model), states(model)
    settings = SolverConfig(solver="tsit5", step=0.01, retract="step")
    times = np.linspace(0, 1, 11)
    ours, theirs = (run(model, weights, u, times, c, settings) for run in both("rollout"))
    close(ours.u, theirs.u)
    assert not ours.status.any()
    ours, theirs = (run(model, weights, u, at) for run in both("mechanics"))
    np.testing.assert_array_equal(ours.masses, theirs.masses)
    np.testing.assert_array_equal(ours.kinetic, theirs.kinetic)


def test_angles_inputs_and_parameters(make_model):
    model = make_model(ANGLES, "nde", form="mechanical", dissipation="state", **EXACT)
    model = replace(
        model, inputs=("w",), parameters=("p",), condition_mean=np.array([5.0, 1.0]),
        condition_std=np.array([2.0, 0.5]), features="angles",
    )  # fmt: skip
    z, zero = np.random.default_rng(3).normal(size=(3, 2 * N)), np.zeros((3, 1))
    at = Instant(np.zeros(3), np.linspace(4, 6, 3)[:, None], zero, zero, 1 + z[:, :1])
    ours, theirs = (
        run(model, weights_of(model), z, at, np.zeros((3, 0))) for run in both("velocity")
    )
    close(ours, theirs, 1e-11)


def test_a_training(make_model):
    data = pnde.split_data(PENDULUM.simulate(4, t_end=0.2, dt=0.01, seed=1), 2, 1, 1)
    settings = EXACT | {"form": "mechanical", "dissipation": "state", "epochs": 2, "width": 8}
    ours, theirs = (
        pnde.train(data, engine=name, progress=False, **settings) for name in ("julia", "jax")
    )
    np.testing.assert_allclose(ours.history["loss"], theirs.history["loss"], rtol=1e-8)
    np.testing.assert_allclose(ours.energy(), theirs.energy(), rtol=1e-6)
    np.testing.assert_allclose(ours.masses, theirs.masses, rtol=1e-6)
    forecast = ours.rollout(t_end=0.5)
    assert (forecast["status"] == 0).all() and "energy" in forecast


def test_what_cannot_be_is_told_as_by_the_embedded_engine(make_model):
    law = Constraint(lambda u: [u[0] + u[1], u[4] + u[5]], names=["sum", "rate"])
    alone = make_model(PENDULUM, form="mechanical", constraint=law.bind(PENDULUM.states))
    odd = make_model(PENDULUM, form="mechanical", physics=Mechanics(masses=lambda q: q[:3]))
    for model, kind, message in (
        (alone, ConstraintError, r"the row 'sum' .*Holonomic"),
        (odd, ConfigError, r"shape \(3,\) instead of .* for the 4 positions"),
    ):
        u, at = np.ones((1, 4 * N)), Instant(np.zeros(1))
        with pytest.raises(kind, match=message):
            get("julia").velocity(model, weights_of(model), u, at, np.zeros((1, 4)))
