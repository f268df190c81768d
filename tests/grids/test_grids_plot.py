"""Pictures of grids, on made-up trajectories."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.markers import MarkerStyle

from pnde import plot
from pnde.data import make_dataset
from pnde.errors import GridError
from pnde.systems import ieee14

TIMES = np.linspace(0, 500, 6)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def system():
    return ieee14()


@pytest.fixture(scope="module")
def forecasts(system):
    rest = np.broadcast_to(system.operation_point, (5, 6, 28))
    drift = np.random.default_rng(0).normal(size=(5, 1, 28)) * 1e-4 * TIMES[:, None]
    return {
        method.upper(): make_dataset(
            u, TIMES, system.states, system.units, {"method": method}, time_units="s"
        )
        for method, u in (("nde", rest + drift), ("pnde", rest))
    }


def drawn(axes):
    """Draw the whole figure, so that whatever is wrong with a label or a scale comes up."""
    axes[0].figure.canvas.draw()
    return axes


def test_active_power_at_the_loads(system, forecasts):
    axes = drawn(plot.active_power(system, forecasts))
    assert [ax.get_title() for ax in axes] == [f"Bus {n}" for n in (4, 5, 7, 9, 10, 11, 12, 13, 14)]
    lines = {line.get_label(): line for line in axes[0].get_lines()}
    assert lines["NDE"].get_color() == "#E69F00" and lines["PNDE"].get_color() == "#0072B2"
    assert lines["set-point"].get_ydata()[0] == -0.478
    assert any(line.get_ydata()[0] == 0 for line in axes[0].get_lines() if len(line.get_ydata()))
    bundle = [line for line in axes[0].get_lines() if len(line.get_xdata()) == len(TIMES)]
    assert len(bundle) == 10
    np.testing.assert_allclose(bundle[5].get_ydata(), -0.478, atol=1e-9)
    _, two = plt.subplots(1, 2)
    axes = plot.active_power(system, forecasts["NDE"], ["4", 10], two)
    assert axes[1] is two[1] and axes[0].get_ylabel() == "active power (p.u.)"
    with pytest.raises(GridError, match="has no bus 99"):
        plot.active_power(system, forecasts, [99])


def test_voltage_at_the_sources(system, forecasts):
    axes = drawn(plot.voltage(system, forecasts))
    assert [ax.get_title() for ax in axes] == ["Bus 1", "Bus 3", "Bus 6", "Bus 8"]
    lines = {line.get_label(): line for line in axes[0].get_lines()}
    np.testing.assert_allclose(lines["operation point"].get_ydata(), 1.0, atol=1e-6)


def test_a_runaway_does_not_set_the_scale(system, forecasts):
    u = forecasts["NDE"]["u"].values.copy()
    u[0, -1] = 1e6
    runaway = forecasts["NDE"].assign(u=(("trajectory", "time", "state"), u))
    low, high = plot.active_power(system, runaway, [4])[0].get_ylim()
    assert low < -0.478 < high and high - low < 100


def test_diagram(system, forecasts):
    axes = drawn(plot.diagram(system, forecasts))
    assert [ax.get_title() for ax in axes] == ["NDE, 500 s", "PNDE, 500 s"]
    numbers = {text.get_text(): text for text in axes[0].texts}
    assert set(numbers) == {str(n) for n in range(1, 15)}
    lines = [line for line in axes[0].get_lines() if len(line.get_xdata()) == 2]
    assert len(lines) == 20
    slack, sources, loads = axes[1].collections
    assert (sources.get_facecolor() == 1.0).all()  # no law, no colour
    assert len(loads.get_facecolor()) == 9 and not (loads.get_facecolor() == 1.0).all(axis=1).any()
    diamond = MarkerStyle("D")
    shape = diamond.get_path().transformed(diamond.get_transform())
    np.testing.assert_allclose(slack.get_paths()[0].vertices, shape.vertices)
    (ax,) = plot.diagram(system)
    assert not ax.get_title() and len(ax.figure.axes) == 1  # no colour bar
