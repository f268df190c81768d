"""Positions and velocities by their names."""

import pytest

from pnde.data import check_second_order
from pnde.errors import DataError


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
    check_second_order(states.split())


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
def test_interleaved_names_are_refused_with_the_order_that_is_meant(states, meant):
    with pytest.raises(DataError) as caught:
        check_second_order(states.split())
    assert f"states={meant.split()}" in str(caught.value)


def test_names_that_tell_of_one_pair_only():
    with pytest.raises(DataError, match="vx does not stand 2 behind x"):
        check_second_order(["x", "vx", "a", "b"])


def test_an_odd_number_of_states():
    with pytest.raises(DataError, match="there are 3 states: x, v, F; choose them by states="):
        check_second_order(["x", "v", "F"])
