"""Inequalities as a user states them, their rates, and what of them is refused."""

import pickle

import numpy as np
import pytest

import pnde
from pnde.engines import get
from pnde.errors import ConstraintError, PndeError
from pnde.laws import Joined, split_laws
from pnde.laws.bounds import check_inside, settle
from pnde.laws.instant import Instant
from pnde.systems import inequalities_for, law_for

TIMES = np.linspace(0, 4, 9)


@pytest.fixture(scope="module")
def decay():
    """x decays at the rate 1; y only grows."""
    x = np.exp(-TIMES)
    return pnde.data.make_dataset(np.stack([x, 1 - x], axis=-1)[None], TIMES, ["x", "y"])


def total(u):
    return u[0] + u[1]


def ratio(u, t):
    return u[1] - t * u[0]


def test_joined_in_any_order():
    law, x, h = pnde.Conserved(total), pnde.Bounded("x", lower=0), pnde.Inequality(ratio)
    for joined in (law & x & h, x & law & h, x & h & law, law & (x & h)):
        assert joined.law is law
        assert {part.label for part in joined.inequalities} == {"x", "ratio"}
    assert (x & h).law is None
    twice = (x & law) & (law & h)
    assert isinstance(twice, Joined) and len(twice.law.parts) == 2
    assert split_laws(x) == (None, (x,))
    assert split_laws(total) == (total, ())
    assert pickle.loads(pickle.dumps(law & x)).label == "total & x"
    assert "from 0" in repr(law & x)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: pnde.Bounded("x"), "'x' is bounded on no side"),
        (lambda: pnde.Bounded([], lower=0), "names no state"),
        (lambda: pnde.Bounded("x", lower=1, upper=0), "between the bounds 1 and 0 of 'x'"),
        (lambda: pnde.Bounded("x", lower=0, upper=1, margin=0.6), "0.6 and 0.4 of 'x', its margin"),
        (lambda: pnde.Bounded("x", lower=0, margin=-1), "margin of 'x' is a number from 0 on"),
        (lambda: pnde.Bounded(["x", "y"], lower=[0, 0, 0]), "2 row.s. but 3 bounds"),
        (lambda: pnde.Bounded("x", lower="0"), "lower= is a number, or a number for each row"),
        (lambda: pnde.Bounded("x", lower=np.nan), "entries that are not numbers"),
        (lambda: pnde.Inequality(lambda u, k: u[0]), "takes the arguments u, k"),
        (lambda: pnde.Bounded("x", lower=0) & total, "a plain function becomes a law by pnde.Cons"),
        (lambda: pnde.Bounded("x", lower=0) & 3, "joined by & with a law or another inequality"),
        (lambda: split_laws(pnde.Bounded), "Bounded is a kind of inequality"),
    ],
)
def test_refused_by_itself(make, said):
    with pytest.raises(ConstraintError, match=said):
        make()


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (pnde.Bounded("X", lower=0), "bounded state 'X' is not in the data"),
        (pnde.Bounded("x", lower=0) & pnde.Bounded("x", upper=-1), "0 and -1 .* the state 'x'"),
        (pnde.Inequality(lambda u, w: u[0] - w[0]), "takes inputs, but the data have none"),
        (pnde.Inequality(lambda u: u[5]), "asks for index 5 of 2 states"),
        (pnde.Inequality(total, names=["a", "b"]), "1 rows but 2 names"),
        (pnde.Inequality(total, lower=[0, 1]), "'total' has 1 row.s. but 2 bounds"),
    ],
)
def test_refused_with_data(decay, law, said):
    with pytest.raises(PndeError, match=said):
        settle(get("jax"), inequalities_for(decay, law), decay)


def test_rates_let_a_model_do_what_the_data_do(decay):
    law = pnde.Bounded(["x", "y"], lower=[0, -np.inf], upper=[np.inf, 1]) & pnde.Inequality(total)
    bounds = settle(get("jax"), inequalities_for(decay, law), decay)
    assert bounds.names == ("x", "y", "total")
    # Of half a time unit's decay, twice: x towards 0, and y towards 1.
    fastest = 2 * (1 - np.exp(-0.5)) / 0.5
    np.testing.assert_allclose(bounds.rates[:2], fastest)
    assert bounds.rates[2] > 0
    assert law_for(decay, law) is None
    own = settle(get("jax"), inequalities_for(decay, law), decay, rate=3.0)
    np.testing.assert_array_equal(own.rates, 3.0)


def test_margins_and_both_sides(decay):
    law = pnde.Bounded("x", lower=0, upper=2, margin=0.25)
    bounds = settle(get("jax"), inequalities_for(decay, law), decay)
    np.testing.assert_array_equal([bounds.lower[0], bounds.upper[0]], [0.25, 1.75])
    slack = bounds.slack(np.array([[0.0], [1.0], [1.75], [3.0]]))
    np.testing.assert_allclose(slack[:, 0], [-0.25, 0.75, 0.0, -1.25])


def test_initial_states_outside_are_named(decay):
    engine = get("jax")
    bounds = settle(engine, inequalities_for(decay, pnde.Bounded("x", lower=0)), decay)
    u0 = np.array([[1.0, 0.0], [-0.5, 0.0], [-0.1, 0.0]])
    at, labels = Instant(np.zeros(3)), np.array([3, 4, 5])
    with pytest.raises(ConstraintError, match=r"2 of 3 .* trajectory 4 .* 'x' is -0.5, below 0;"):
        check_inside(engine, bounds, u0, at, 1e-6, labels)
    check_inside(engine, bounds, u0, at, 10.0, labels)


def test_data_held_against_inequalities(decay):
    law = pnde.Constraint(total, target=1.0) & pnde.Bounded("x", lower=0.5, upper=0.8)
    report = pnde.metrics.deviation_table(pnde.check(decay, law))
    assert list(report.index) == ["total", "x"]
    np.testing.assert_allclose(report["max absolute"]["x"], 0.5 - np.exp(-4.0))
    inside = pnde.project(decay, law)
    x, y = inside["u"].values[0].T
    assert (x.min(), x.max()) == (0.5, 0.8)
    assert np.abs(x + y - 1).max() < 1e-15
