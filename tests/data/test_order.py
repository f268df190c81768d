"""Positions and velocities by their names."""

import pytest

from pnde.data._order import velocities
from pnde.data._velocities import _order_by_name


@pytest.mark.parametrize(
    "states",
    [
        "x v",
        "x y vx vy",
        "q1 q2 dq1 dq2",
        "theta1 theta2 omega1 omega2",
        "x_1 x_2 v_1 v_2",
        "x1 y1 x2 y2 vx1 vy1 vx2 vy2",
        "theta x theta_dot x_dot",
        "a b c d",
        "q p",
        "u0 u1 u2 u3",
    ],
)
def test_positions_first_or_names_that_tell_nothing(states):
    assert _order_by_name(states.split()) is None


@pytest.mark.parametrize(
    ("states", "meant"),
    [
        ("x vx y vy", "x y vx vy"),
        ("v x", "x v"),
        ("q1 dq1 q2 dq2", "q1 q2 dq1 dq2"),
        ("theta1 omega1 theta2 omega2", "theta1 theta2 omega1 omega2"),
        ("x x_dot theta theta_dot", "x theta x_dot theta_dot"),
        ("x v theta omega", "x theta v omega"),
        ("vx vy x y", "x y vx vy"),
        ("x y vy vx", "x y vx vy"),
    ],
)
def test_interleaved_names_give_the_order_that_is_meant(states, meant):
    names = states.split()
    assert [names[i] for i in _order_by_name(names)] == meant.split()


def test_names_that_tell_of_one_pair_only():
    assert velocities(["x", "vx", "a", "b"]) == {"x": "vx"}
    assert _order_by_name(["x", "vx", "a", "b"]) is None
