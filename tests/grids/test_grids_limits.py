"""Limits of grids: their rows, what is refused, and that the data of a grid bring them along."""

import json

import jax
import numpy as np
import pytest
from click.testing import CliRunner

import pnde
from pnde.cli.main import main
from pnde.errors import GridError
from pnde.laws import AngleLimit, Instant, VoltageBand
from pnde.systems import System, inequalities_for, law_for


@pytest.fixture(scope="module")
def grid():
    return pnde.grids.ieee14()


def test_voltage_band(grid):
    band = VoltageBand(grid, 0.9, 1.1, margin=0.01).bind(grid.state_names)
    rng = np.random.default_rng(0)
    voltage = rng.uniform(0.8, 1.2, 14) * np.exp(1j * rng.uniform(-3, 3, 14))
    u = grid.state(voltage)
    h = band.rows.value(u, Instant(0.0))
    np.testing.assert_allclose(h, np.abs(voltage)[grid.loads])
    assert band.rows.names[0] == f"|v| at {grid.bus_label(grid.loads[0])}"
    with jax.enable_x64(True):
        slopes = jax.jacrev(lambda u: band.rows.value(u, Instant(0.0)))(u)
    np.testing.assert_allclose(band.rows.jacobian_value(u, Instant(0.0)), slopes, atol=1e-14)
    np.testing.assert_array_equal(band.limits(len(h))[0], 0.91)


def test_angle_limit(grid):
    limit = AngleLimit(grid, 30).bind(grid.state_names)
    angles = np.random.default_rng(1).uniform(-80, 80, 14)
    u = grid.state(1.05 * np.exp(1j * np.deg2rad(angles)))
    h = limit.rows.value(u, Instant(0.0))
    i, j = (
        np.array([int(name.split()[1].split("–")[k]) for name in limit.rows.names]) for k in (0, 1)
    )
    number = {n: k for k, n in enumerate(grid.buses.number)}
    expected = [angles[number[a]] - angles[number[b]] for a, b in zip(i, j, strict=True)]
    expected = (np.array(expected) + 180) % 360 - 180
    np.testing.assert_allclose(h, expected, atol=1e-10)
    assert len(h) == 20


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"voltage_band": [1.1, 0.9]}, "not from 1.1 to 0.9"),
        ({"voltage_band": 0.9}, "two voltages in p.u., such as .0.9, 1.1.; not 0.9"),
        ({"voltage_band": ["a", "b"]}, "two voltages in p.u."),
        ({"angle_limit": 200}, "between 0 and 180 degrees, such as 30; not at 200"),
        ({"angle_limit": "30"}, "a number of degrees"),
    ],
)
def test_refused(limits, said):
    with pytest.raises(GridError, match=said):
        pnde.systems.ieee14(**limits)


def test_data_of_a_grid_bring_its_limits_and_stay_within(monkeypatch):
    """Of random trajectories those whose voltages stay within the band; here every other one does."""

    def simulated(self, count, *_):
        size = np.where(np.arange(count) % 2, 1.0, 1.2)[:, None, None]
        u = size * np.ones((1, 2, 1)) * self.operation_point
        attrs = {"system": self.name, "parameters": json.dumps(self.parameters)}
        return pnde.data.make_dataset(u, [0.0, 0.1], self.states, attrs=attrs)

    monkeypatch.setattr(System, "simulate", simulated)
    system = pnde.systems.ieee14(voltage_band=[0.9, 1.1], angle_limit=40)
    data = system.simulate(trajectories=3)
    np.testing.assert_array_equal(data["trajectory"], [0, 1, 2])
    np.testing.assert_allclose(data["u"].values[:, 0], system.operation_point[None].repeat(3, 0))
    parts = inequalities_for(data, None)
    assert [part.label for part in parts] == ["voltage band", "angle limit"]
    own = pnde.Bounded(system.states[0], lower=0)
    assert inequalities_for(data, own)[0].label == system.states[0]
    assert law_for(data, own).label == system.constraint.label
    with pytest.raises(GridError, match="0 of 16 random trajectories stay within the voltage band"):
        pnde.systems.ieee14(voltage_band=[1.3, 1.4]).simulate(trajectories=2)


def test_what_is_no_grid_has_no_limits():
    result = CliRunner().invoke(main, ["train", "quartic", "--angle-limit", "30"])
    assert result.exit_code == 2
    assert "quartic is no power grid" in result.output
