"""Networks of PowerDynamics.jl as the front has them, with Julia's part played by a network of two states."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde.engines import Trajectories, get
from pnde.engines.jax.jumping import jump
from pnde.engines.jax.laws import drift, jacobian
from pnde.engines.jax.numerics import numerics
from pnde.engines.julia.networks import _check_inputs, _program
from pnde.engines.julia.tracing import trace
from pnde.errors import ConfigError, ConstraintError, DataError
from pnde.laws import Instant
from pnde.systems import Driving, PowerDynamicsGrid


class Network:
    """ȧ = 1 - a b with 0 = k (b - a²) - r: what the julia engine makes of such equations."""

    states, operation_point, moving = ("a", "b"), np.ones(2), np.array([True, False])
    rows, columns, colours = np.array([0, 0]), np.array([0, 1]), np.array([0, 1])

    def __init__(self, *inputs):
        self.inputs, self.parameters = inputs, {"load₊k": 2.0, "load₊r": 0.0}
        if inputs:
            made = trace(lambda u, w: w[0] * (u[1:] - u[0] ** 2) - w[1], [2, 2], "the rows")
        else:
            made = trace(lambda u: 2 * (u[1:] - u[0] ** 2), [2], "the rows")
        self.program = lambda: made

    def simulate(self, pushes, times, inputs=None):
        self.inputs_given = inputs
        u = np.ones((len(pushes), len(times), 2))
        none = np.zeros(len(pushes), int)
        return Trajectories(u, none.astype(np.int8), none, none)


@pytest.fixture
def grid():
    return PowerDynamicsGrid(Network("load₊k", "load₊r"))


def driven(grid, trajectories=2, **changes):
    w = np.stack([np.linspace(2.0, 3.0, 11), np.where(np.arange(11) < 6, 0.0, 0.5)], axis=1)
    options = {"driving": Driving(w=w), "interpolation": {"load₊r": "held"}}
    return grid.simulate(trajectories, t_end=1.0, dt=0.1, **options | changes)


def test_its_law_takes_the_inputs(grid):
    law = grid.constraint
    assert law.takes == {"w"} and law.jumps == ("b",)
    at = Instant(np.zeros(1), *(np.array([x]) for x in ([2.5, 0.4], [0.3, -0.2], [0.0, 0.0])))
    u = np.array([[0.7, 1.2]])
    np.testing.assert_allclose(get("jax").law(law, u, at), [[2.5 * (1.2 - 0.49) - 0.4]])
    with numerics():
        one = Instant(*(jnp.asarray(x[0]) for x in at[:4]))
        G = jacobian(law, jnp.asarray(u[0]), one)
        np.testing.assert_allclose(G.matrix, [[-2.5 * 1.4, 2.5]])
        np.testing.assert_allclose(drift(law, jnp.asarray(u[0]), one), [0.3 * 0.71 + 0.2])
        after, _ = jump(law, None, "cholesky", jnp.asarray(u[0]), one, jnp.zeros(1))
    np.testing.assert_allclose(after, [0.7, 0.49 + 0.4 / 2.5], rtol=1e-14)


def test_without_inputs_it_takes_none():
    grid = PowerDynamicsGrid(Network())
    assert not grid.constraint.takes and grid.constraint.jumps is None
    data = grid.simulate(1, t_end=1.0, dt=0.1)
    assert "w" not in data and float(pnde.check(data, grid.constraint)["absolute"].max()) == 0
    with pytest.raises(ConfigError, match=r"has no inputs: name them in from_powerdynamics"):
        driven(grid)


def test_its_data_hold_the_inputs(grid):
    data = driven(grid)
    assert data["input"].values.tolist() == ["load₊k", "load₊r"]
    assert data["interpolation"].values.tolist() == ["linear", "held"]
    given = grid._network.inputs_given
    w = given.at(np.array([[0.25, 0.61], [0.59, 1.0]]))
    np.testing.assert_allclose(w, [[[2.25, 0], [2.61, 0.5]], [[2.59, 0], [3, 0.5]]])
    np.testing.assert_allclose(given.jumps, [[0.6], [0.6]])
    np.testing.assert_array_equal(grid.usual_inputs, [2, 0])


def test_inputs_that_do_not_fit_are_one_sentence(grid):
    with pytest.raises(ConfigError, match=r"has the inputs load₊k, load₊r: say what they are"):
        driven(grid, driving=None)
    with pytest.raises(DataError, match=r"10"):
        driven(grid, driving=Driving(w=np.ones((10, 2))))
    with pytest.raises(DataError, match=r"input"):
        driven(grid, driving=Driving(w=np.ones((11, 3))))
    data = driven(grid)
    other = data.assign_coords(input=["load₊k", "load₊R"])
    with pytest.raises(
        ConstraintError, match=r"'load₊r', which the data lack \(did you mean 'load₊R'"
    ):
        pnde.check(other, grid.constraint)
    with pytest.raises(ConstraintError, match="select and order them alike"):
        pnde.check(data.isel(input=[1, 0]), grid.constraint & grid.constraint)
    with pytest.raises(ConfigError, match=r"no parameter 'load₊q' .*\(did you mean 'load₊[kr]'"):
        _check_inputs(["load₊q"], Network().parameters)
    with pytest.raises(ConfigError, match="named twice"):
        _check_inputs(["load₊k", "load₊k"], Network().parameters)


def test_a_program_of_states_and_inputs():
    """What Julia hands over counts the columns of each operand in the states, the inputs, and then the results."""

    def affine(columns, values, constant=(0.0,)):
        rows = np.ones(len(columns), int)
        return SimpleNamespace(
            rows=rows, columns=np.array(columns), values=values, constant=constant
        )

    steps = [
        SimpleNamespace(
            operation="multiply", parameter=[0.0], operands=[affine([1], [1.0]), affine([3], [2.0])]
        ),
        SimpleNamespace(
            operation="result", parameter=[0.0], operands=[affine([2, 4], [1.0, -1.0], [0.5])]
        ),
    ]
    program = _program(steps, 2, 1)
    assert program.inputs == (2, 1)
    np.testing.assert_allclose(
        program(np.array([3.0, 4.0]), np.array([5.0])), [4 - 3 * 2 * 5 + 0.5]
    )
