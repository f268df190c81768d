"""Laws pickled, copied, and what they say of themselves."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde.engines import get
from pnde.laws import (
    Conserved,
    Constraint,
    Holonomic,
    Instant,
    Linear,
    Pinned,
    Rods,
    Stacked,
)


def moving(u, t):
    return u[0] - t


def four_states(u):
    return u[0] * u[3]


def position(q):
    return q[0] ** 2 + jnp.sin(q[1])


LAWS = {
    "conserved": lambda: Conserved(four_states, names="energy"),
    "constraint": lambda: Constraint(four_states, target=[2.0]),
    "linear": lambda: Linear([[1, 1, 0, 0], [0, 0, 1, 2]], [1.0, np.nan]),
    "pinned": lambda: Pinned(["b", "d"], [1.0, np.nan]),
    "holonomic": lambda: Holonomic(position, names="arm"),
    "rods": lambda: Rods([1.0]),
    "stacked": lambda: Conserved(four_states) & Linear(np.eye(4)[:1]) & Holonomic(position),
}
STATES = ("a", "b", "c", "d")


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_pickled_and_copied(name):
    u, t = np.random.default_rng(0).normal(size=(3, 4)), np.zeros(3)
    law = LAWS[name]().bind(STATES)
    expected = get("jax").law(law, u, Instant(t))
    for twin in (pickle.loads(pickle.dumps(law)), copy.copy(law), copy.deepcopy(law)):
        assert type(twin) is type(law)
        h = get("jax").law(twin, u, Instant(t))
        np.testing.assert_array_equal(h, expected)
        np.testing.assert_array_equal(twin.targets(h), law.targets(expected))
        assert twin.row_names(h.shape[1]) == law.row_names(h.shape[1])
        assert twin.bind(STATES).states == STATES
    unbound = LAWS[name]()
    assert type(pickle.loads(pickle.dumps(unbound))) is type(unbound)


def test_the_law_of_a_grid_is_pickled():
    law = pnde.systems.ieee14().constraint
    u = np.random.default_rng(0).normal(size=(2, 28))
    twin = pickle.loads(pickle.dumps(law))
    np.testing.assert_array_equal(
        get("jax").law(twin, u, Instant(np.zeros(2))), get("jax").law(law, u, Instant(np.zeros(2)))
    )


@pytest.mark.parametrize("name", LAWS)
def test_a_representation_fits_three_lines(name):
    for law in (LAWS[name](), LAWS[name]().bind(STATES)):
        lines = repr(law).splitlines()
        assert 2 <= len(lines) <= 3 and max(map(len, lines)) <= 200
        assert law.label in lines[0]


def test_representations():
    assert repr(Constraint(moving, target=[0.0, np.nan], names=["p", "q"]).bind(STATES)) == (
        "Constraint 'moving': h(u, t) = c with the rows p, q\n  c: 0, initial\n  u: a, b, c, d"
    )
    assert repr(Conserved(four_states, names="energy")) == (
        "Conserved 'energy': h(u) = c\n  c: the values at the start of each trajectory"
    )
    grid = repr(pnde.systems.ieee14().constraint)
    assert len(grid) < 400 and "(28)" in grid


def test_binding_tells_the_states_and_leaves_the_law_alone():
    law = Conserved(four_states)
    bound = law.bind(STATES)
    assert bound.states == STATES and law.states is None
    assert bound.bind(STATES) is bound
    assert isinstance((law & law).bind(STATES), Stacked)
