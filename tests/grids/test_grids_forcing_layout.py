"""Pushes for ambient forcing, and coordinates for drawings."""

from pathlib import Path

import numpy as np
import pytest

from pnde.errors import GridError
from pnde.grids import Grid, ambient_forcing, ieee14, layout, read_grid

DATA = Path(__file__).parent / "data"


def test_pushes_have_the_distribution_of_the_paper():
    grid = ieee14()
    push = grid.voltage(ambient_forcing(grid, 4000, 1))
    square = np.abs(push) ** 2
    assert push.shape == (4000, 14)
    assert 0.15 <= square.min() and square.max() <= 1.0
    assert square.mean() == pytest.approx(0.575, abs=0.005)
    assert np.abs(push.mean()) < 0.01  # angles favour no direction
    assert square.std() == pytest.approx(0.85 / np.sqrt(12), abs=0.005)


def test_pushes_are_repeatable_and_can_be_limited_to_a_bus():
    grid = ieee14()
    every = ambient_forcing(grid, 3, 7)
    np.testing.assert_array_equal(every, ambient_forcing(grid, 3, np.random.default_rng(7)))
    one = ambient_forcing(grid, 3, 7, buses=[8])
    np.testing.assert_array_equal(np.flatnonzero(one.any(axis=0)), [7, 21])
    np.testing.assert_array_equal(one[:, [7, 21]], every[:, [7, 21]])
    with pytest.raises(GridError, match="has no bus 15"):
        ambient_forcing(grid, 3, 7, buses=[15])
    with pytest.raises(GridError, match="square_bounds"):
        ambient_forcing(grid, 3, 7, square_bounds=(1.0, 0.15))


def test_the_14_bus_grid_is_drawn_by_hand_whatever_its_parameters():
    points = layout(ieee14())
    np.testing.assert_array_equal(points, layout(read_grid(DATA / "ieee14.m")))
    assert points.shape == (14, 2)


def crossings(grid, points):
    def side(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    pairs = list(zip(grid.branches.start, grid.branches.end, strict=True))
    count = 0
    for k, (a, b) in enumerate(pairs):
        for c, d in pairs[:k]:
            if len({a, b, c, d}) == 4:
                p = points[[a, b, c, d]]
                across = side(*p[[0, 1, 2]]) != side(*p[[0, 1, 3]])
                count += across and side(*p[[2, 3, 0]]) != side(*p[[2, 3, 1]])
    return count


def test_no_branches_cross_in_the_drawing():
    assert crossings(ieee14(), layout(ieee14())) == 0


@pytest.mark.parametrize("file", ["ieee39.raw", "ieee118.m"])
def test_other_grids_are_spread_out(file):
    grid = read_grid(DATA / file)
    points = layout(grid)
    np.testing.assert_array_equal(points, layout(grid))
    gap = np.linalg.norm(points[:, None] - points[None], axis=-1)
    neighbours = gap[grid.branches.start, grid.branches.end]
    assert 0.5 < np.median(neighbours) < 1.5
    assert (gap + np.eye(grid.size)).min() > 0.05  # no two buses on one spot
    assert crossings(grid, points) < len(grid.branches)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_small_and_star_shaped_grids(size):
    buses = [{"number": 0, "kind": "slack", "voltage": 1.0}]
    buses += [{"number": k, "kind": "load", "active": 0.0, "reactive": 0.0} for k in range(1, size)]
    grid = Grid.from_tables(buses, [{"start": 0, "end": k, "reactance": 1} for k in range(1, size)])
    points = layout(grid)
    assert points.shape == (size, 2) and np.isfinite(points).all()
    assert len(np.unique(points.round(2), axis=0)) == size


def test_spectral_layout_of_a_large_grid():
    n = 1600
    buses = [{"number": 0, "kind": "slack", "voltage": 1.0}]
    buses += [{"number": k, "kind": "load", "active": 0.0, "reactive": 0.0} for k in range(1, n)]
    lines = [{"start": k, "end": (k + 1) % n, "reactance": 0.1} for k in range(n)]
    points = layout(Grid.from_tables(buses, lines))
    assert points.shape == (n, 2) and np.isfinite(points).all()
    radius = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert radius.std() < 0.01 * radius.mean()  # a ring is drawn as a circle
