"""Inputs and parameters that a law, a model or a forecast lacks or takes: one sentence, or in any form."""

from functools import cache

import numpy as np
import pytest

import pnde
from pnde.data import make_dataset
from pnde.errors import ConfigError, ConstraintError, DataError
from pnde.laws import Constraint, Holonomic

T = np.linspace(0.0, 2.0, 21)

TANK = make_dataset(
    np.stack(
        [
            np.stack([np.cos(T + k), np.sin(T + k), 0.1 * k * T, np.full(21, 1.0 + k)], axis=1)
            for k in range(4)
        ]
    ),
    T,
    ["x", "y", "F", "L"],
)


def train_tank(law=None, **options):
    return pnde.train(
        TANK,
        law,
        method="nde" if law is None else "pnde",
        epochs=1,
        network={"width": 4, "layers": 1},
        progress=False,
        data={"train": 2, "valid": 1, "test": 1},
        **options,
    )


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda u, w: u[0] - w[0], "takes inputs, but the data have none; name the columns"),
        (lambda u, p: u[0] * p[0], "takes parameters, but the data have none; name the columns"),
    ],
)
def test_a_law_asks_for_what_the_data_lack(law, message):
    with pytest.raises(ConstraintError, match=message):
        train_tank(law)
    with pytest.raises(ConstraintError, match=message):
        pnde.check(TANK, law)


def test_physics_asks_for_what_the_data_lack():
    with pytest.raises(ConstraintError, match="the physics 'push' takes inputs, but the data have"):

        def push(u, w):
            return u * w[0]

        train_tank(physics=push)


def test_a_law_of_velocities_asks_for_cubic_inputs():
    def rope(q, w):
        return q[0] - w[0]

    with pytest.raises(
        ConstraintError, match="the input 'F' needs an acceleration, but it is linear"
    ):
        pnde.check(pnde.data.assign_roles(TANK, inputs=["F"]).isel(state=[0, 1]), Holonomic(rope))


def test_as_many_states_as_fixed_rows_may_jump():
    def both(u, w):
        return [u[0] - w[0], u[1] + w[0]]

    law = Constraint(both, target=[0.0, 0.0], jumps=["x"])
    data = make_dataset(
        np.stack([T, -T], axis=1)[None].repeat(4, axis=0), T, ["x", "y"], w=T[:, None], inputs="F"
    )
    with pytest.raises(ConstraintError, match="lets 1 states jump with an input, but has 2 rows"):
        pnde.train(data, law, epochs=1, progress=False)


def test_an_input_that_is_not_there_is_named():
    with pytest.raises(ConstraintError, match=r"asks for index 1 of an array of 1"):
        train_tank(lambda u, w: u[0] ** 2 + 0 * w[1], inputs="F", parameters="L")


@cache
def tank_run():
    return train_tank(inputs=["F"], parameters=["L"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": [1.0]}, "the model takes the input 'F', which is not there: pass inputs="),
        ({"inputs": np.zeros(3)}, r"the model takes the parameter 'L', which is not there"),
        (
            {"inputs": np.zeros(3), "parameters": [1.0, 2.0]},
            r"shape \(2,\) instead of \(1,\) or \(1, 1\): L",
        ),
        ({"inputs": np.zeros(3), "parameters": {"M": 1.0}}, "parameters= has 'M'"),
        (
            {"inputs": np.zeros(4), "parameters": [1.0]},
            r"the inputs have the shape \(4,\) instead of",
        ),
        ({"inputs": [0.0, np.nan, 0.0], "parameters": [1.0]}, "have no value at t = 0.5"),
        (
            {"inputs": lambda t: [t, t], "parameters": [1.0]},
            r"gives an array of shape \(2,\) at t = 0 ",
        ),
        ({"inputs": lambda t: [np.sign(t - 0.4)], "parameters": [1.0]}, "corner, near t = 0.4"),
        ({"inputs": lambda t: [np.log(t)], "parameters": [1.0]}, "is not finite at t = 0"),
        (
            {"inputs": TANK.isel(time=slice(5), trajectory=[0]), "parameters": [1.0]},
            "end at t = 0.4, before the forecast at 1",
        ),
        (
            {"inputs": TANK.isel(time=slice(5, None), trajectory=[0]), "parameters": [1.0]},
            "begin at t = 0.5",
        ),
        (
            {"inputs": TANK.isel(trajectory=slice(2)), "parameters": [1.0]},
            "inputs for 2 trajectories, but 1",
        ),
    ],
)
def test_conditions_of_a_forecast_that_do_not_fit(options, message):
    with pytest.raises(DataError, match=message):
        tank_run().rollout([[1.0, 0.0]], t_end=1.0, dt=0.5, **options)


def test_conditions_of_a_forecast_in_any_form():
    run, u0 = tank_run(), [[1.0, 0.0]]
    t = np.array([0.0, 0.5, 1.0])
    forms = [
        0.2 * t,
        0.2 * t[:, None],
        0.2 * t[None, :, None],
        lambda t: 0.2 * t,
        make_dataset(np.stack([0.2 * t, 0 * t], axis=1), t, ["F", "other"]),
        make_dataset(np.zeros((3, 1)), t, ["x"], w=0.2 * t[:, None], inputs=["F"]),
    ]
    found = [
        run.rollout(u0, t_end=1.0, dt=0.5, inputs=form, parameters={"L": 3.0})["u"].values
        for form in forms
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-8)


def test_a_model_without_inputs_takes_none():
    run = pnde.train(
        TANK.sel(state=["x", "y"]),
        method="nde",
        epochs=1,
        network={"width": 4, "layers": 1},
        progress=False,
    )
    with pytest.raises(DataError, match="the model takes no inputs: leave inputs= out"):
        run.rollout(inputs=np.zeros(3))
    with pytest.raises(DataError, match="the model takes no parameters"):
        run.rollout(parameters=[1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": "kvaerno5"}, "cannot train on inputs that jump"),
        ({"solver": "tsit5", "adjoint": "backsolve", "retract": "never"}, "back through inputs"),
    ],
)
def test_what_cannot_train_on_jumps_says_so(change, message):
    settings = {"train": 2, "valid": 1, "test": 1}
    with pytest.raises(ConfigError, match=message):
        pnde.train(
            TANK,
            inputs="F",
            jumps=[0.9],
            method="nde",
            epochs=1,
            progress=False,
            solver=change,
            data=settings,
        )
