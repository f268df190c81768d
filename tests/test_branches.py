"""The power balance of large grids, factored along the branches: what it does beside agreeing with the dense way."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_network import along_branches, with_constant_currents

import pnde
from pnde.engines.jax import portions
from pnde.engines.jax.fields import error_as
from pnde.engines.jax.laws import jacobian
from pnde.engines.jax.portions import block_size
from pnde.engines.jax.projection import condition, factorise, project
from pnde.engines.jax.structures.branches import BranchFactor
from pnde.engines.rank import rank_margin
from pnde.errors import ConstraintError
from pnde.grids import Grid, network
from pnde.grids.saddle_point import SaddlePoint
from pnde.laws import Instant, PowerBalance
from pnde.systems import PowerGrid


@pytest.fixture(autouse=True)
def strict():
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture(scope="module")
def pair():
    """The same grid the dense way, and along its branches."""
    systems = [PowerGrid(with_constant_currents()) for _ in range(2)]
    along_branches(systems[1].constraint)
    return systems


def velocity(system, u):
    return system.rhs(u, 0.0)


def test_the_truth_and_its_derivatives(pair):
    u = pair[0].operation_point + 0.02 * np.random.default_rng(0).normal(size=28)
    du, weight = jnp.asarray(np.random.default_rng(1).normal(size=(2, 28)))

    def of(system):
        f = partial(velocity, system)
        value, slope = jax.jvp(f, (jnp.asarray(u),), (du,))
        return value, slope, jax.vjp(f, jnp.asarray(u))[1](weight)[0]

    for dense, sparse in zip(*(jax.jit(partial(of, system))() for system in pair), strict=True):
        np.testing.assert_allclose(sparse, dense, rtol=1e-9, atol=1e-12)
    for system in pair:
        np.testing.assert_allclose(system.rhs(u, 0.0), of(pair[0])[0], atol=1e-13)


def test_single_precision_is_usable(pair):
    law = pair[1].constraint
    u, v = pair[1].operation_point, np.random.default_rng(2).normal(size=28)

    @jax.jit
    def projected(u, v):
        return project(jacobian(law, u, Instant(0.0)), v)

    double = projected(jnp.asarray(u), jnp.asarray(v))
    single = projected(jnp.asarray(u, jnp.float32), jnp.asarray(v, jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, double, atol=1e-5)


def star():
    """Three loads at a slack, one behind a source."""
    rows = [
        {"number": 1, "kind": "slack", "voltage": 1.0},
        {"number": 2, "kind": "load", "active": -0.1, "reactive": 0.0},
        {"number": 3, "kind": "load", "active": -0.1, "reactive": -0.05},
        {"number": 4, "kind": "source", "active": 0.1, "reactive": 0.0, "voltage": 1.0},
        {"number": 5, "kind": "load", "active": -0.1, "reactive": 0.0},
    ]
    ends = [(1, 2), (1, 3), (1, 4), (4, 5)]
    branches = [{"start": i, "end": j, "admittance": 1 - 5j} for i, j in ends]
    return Grid.from_tables(rows, branches)


@pytest.mark.parametrize("half", [0.5, 0.0], ids=["at the nose", "without a voltage"])
def test_dependent_rows_are_told(half):
    """At Re v = 0.5 a load behind a line has all the power that the line can carry: its rows are dependent."""
    law = along_branches(PowerBalance(star()))
    u = law.grid.state(np.array([1, half + 0.2j * (half > 0), 1, 1, 1]))
    factor = factorise(jacobian(law, jnp.asarray(u), Instant(0.0)), None, "cholesky")
    assert isinstance(factor, BranchFactor)
    assert float(rank_margin(condition(factor))) < 1
    with pytest.raises(ConstraintError, match="rows of the law are dependent"):
        project(jacobian(law, jnp.asarray(u), Instant(0.0)), jnp.ones(10))


def test_rows_of_a_good_state_are_not_called_dependent():
    law = along_branches(PowerBalance(star()))
    u = jnp.asarray(law.grid.state(np.ones(5)))
    matrix = np.asarray(law.jacobian(np.asarray(u)))[:6][:, [1, 2, 3, 4, 6, 7, 8, 9]]
    singular = np.linalg.svd(matrix / np.linalg.norm(matrix, axis=1)[:, None])[1]
    rcond = condition(factorise(jacobian(law, u, Instant(0.0)), None, "cholesky"))
    assert 0.5 < float(rcond) / (singular[-1] / singular[0]) < 2


def test_the_order_is_found_without_the_state(pair):
    """Programs are known by the grid alone, not by tables that follow from it."""
    fields = [field.name for field in dataclasses.fields(pair[0].constraint.structure)]
    assert fields == ["grid"]


@pytest.mark.slow
def test_training_and_forecast_of_a_large_grid(monkeypatch):
    """As a user has them, with the 14-bus grid called a large one and portions of states as small as can be."""
    data = PowerGrid("ieee14").simulate(trajectories=3, t_end=1.2, dt=0.1, seed=3)
    monkeypatch.setattr(network, "FACTORED_BUSES", 0)
    monkeypatch.setattr(network, "SaddlePoint", partial(SaddlePoint, core=2))
    monkeypatch.setattr(portions, "_AT_ONCE", 1)
    run = pnde.train(data, epochs=1, width=8, batch_size=4, progress=False)
    forecast = run.rollout()
    assert float(forecast["constraint_error"].max()) < 1e-12
    assert not forecast["status"].any()


def test_its_errors_are_those_of_qr(pair):
    """What is told of nearly dependent rows: 1/κ(G), and not its square."""
    laws = [system.constraint for system in pair]
    assert [error_as(law, None, "cholesky") for law in laws] == ["cholesky", "qr"]
    assert error_as(laws[1], np.eye(28), "cholesky") == "cholesky"


def test_blocks_of_states_fit_into_memory():
    assert block_size(3, 28) == 1024 == block_size(5000, 28)
    assert [block_size(count, 2708) for count in (1, 9, 500)] == [8, 16, 64]
    assert block_size(10_000, 200_000) == 8
