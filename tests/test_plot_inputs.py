"""Pictures of driven trajectories: their inputs, jumps and parameters."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from pnde import plot
from pnde.data import make_dataset
from pnde.errors import DataError
from pnde.systems import driven_pendulum, get

TIMES = np.linspace(0, 2, 9)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def driven(scale=1.0, **attrs):
    """Three trajectories with a straight input, which jumps at t = 1.1, and a held one."""
    u = scale * np.stack([np.cos(TIMES), np.sin(TIMES)], axis=-1) * np.ones((3, 1, 1))
    w = np.stack([np.where(TIMES < 1.1, TIMES, TIMES + 5), np.floor(TIMES)], axis=-1)
    return make_dataset(
        u,
        TIMES,
        ["x", "v"],
        time_units="s",
        attrs=attrs,
        w=w,
        inputs=["F", "valve"],
        input_units=["N", ""],
        interpolation=["linear", "held"],
        jumps=[1.1],
        p=[[0.5], [1.0], [1.5]],
        parameters=["L"],
        parameter_units=["m"],
    )


def drawn(axes):
    axes[0].figure.canvas.draw()
    return axes


def curves(ax):
    """The lines of a panel but for the marks of jumps."""
    return [line for line in ax.get_lines() if len(line.get_xdata()) > 2]


def test_inputs_stand_below_the_states():
    axes = drawn(plot.trajectories(driven()))
    assert [ax.get_ylabel() for ax in axes] == ["x", "v", "F (N)", "valve"]
    assert axes[3].get_xlabel() == "time (s)" and axes[1].get_xlabel() == ""
    assert curves(axes[0])[1].get_label() == "trajectory 1: L 1 m"
    straight, held = curves(axes[2])[0], curves(axes[3])[0]
    x, y = straight.get_data()
    assert np.isnan(y[x == 1.1][0]) and y[x == 1.1][1] == 6.25 and y[x < 1.1][-1] == 1.0
    assert held.get_drawstyle() == "steps-post" and not np.isnan(held.get_ydata()).any()
    marks = [line.get_xdata()[0] for line in axes[0].get_lines() if len(line.get_xdata()) == 2]
    assert marks == [1.1]


def test_truth_and_forecasts_show_an_input_once():
    axes = plot.trajectories({"truth": driven(), "PNDE": driven(1.1)}, trajectories=[2])
    assert [len(curves(ax)) for ax in axes] == [2, 2, 1, 1]
    assert axes[0].figure.get_suptitle() == "trajectory 2: L 1.5 m"
    other = driven()
    other["w"] = other["w"] + 1
    axes = plot.trajectories({"truth": driven(), "PNDE": other})
    assert [line.get_color() for line in curves(axes[2])] == ["black", "#0072B2"]


def test_some_inputs_and_given_axes():
    axes = plot.trajectories(driven(), ["v"], inputs=["valve"])
    assert [ax.get_ylabel() for ax in axes] == ["v", "valve"]
    assert len(plot.trajectories(driven(), inputs=[])) == 2
    with pytest.raises(DataError, match=r"no input 'G'; the inputs are F, valve"):
        plot.trajectories(driven(), inputs=["G"])
    _, three = plt.subplots(3, 1)
    axes = plot.trajectories(driven(), axes=three)
    assert [ax.get_ylabel() for ax in axes] == ["x", "v", "F (N)"]
    assert len(plot.trajectories(driven(), axes=three[:2])) == 2


def test_many_panels_begin_a_row_with_the_inputs():
    u = np.random.default_rng(0).normal(size=(1, 9, 14))
    ds = make_dataset(u, TIMES, w=u[0, :, :2])
    axes = drawn(plot.trajectories(ds))
    assert len(axes) == 16
    left = [ax.get_position().x0 for ax in axes]
    assert left[14] == left[0] and left[13] != left[0]
    # The time stands below the last panel of each column.
    assert [bool(ax.get_xlabel()) for ax in axes] == [False] * 10 + [True] * 2 + [False] * 2 + [
        True
    ] * 2


def test_phase_names_parameters_and_lets_what_runs_away_leave():
    truth, wild = driven(), driven(method="nde")
    wild["u"][0, 4:] *= 1e6
    axes = drawn(plot.phase(truth, {"NDE": wild}))
    assert axes[1].get_title() == "trajectory 1\nL 1 m"
    assert axes[0].get_ylim()[1] < 2
    top = plot.trajectories({"truth": truth, "NDE": wild})[0]
    assert top.get_ylim()[1] < 3


def test_a_pivot_is_where_it_is(tmp_path):
    system = driven_pendulum()
    u = np.array([0.0, -1.0, 0.0, 0.0]) * np.ones((1, 9, 1))
    w = np.stack([0.1 * TIMES, 0 * TIMES], axis=-1)
    u[0, :, 0] += w[:, 0]
    names = {"inputs": ["X", "Y"], "interpolation": "cubic"}
    ds = make_dataset(u, TIMES, system.states, system.units, time_units="s", w=w, **names)
    figures = plot.system(system, ds, {"PNDE": ds})
    assert set(figures) == {"phase", "trajectories"}
    paths = {line.get_label(): line for line in figures["phase"][0].get_lines()}
    np.testing.assert_array_equal(paths["pivot"].get_xdata(), w[:, 0])
    from pnde.plot._animate import _chain

    chain = _chain(ds, 0, TIMES, ("X", "Y"))
    np.testing.assert_allclose(np.linalg.norm(chain[:, 1] - chain[:, 0], axis=-1), 1.0)
    np.testing.assert_allclose(chain[:, 0, 0], w[:, 0])


def test_the_set_points_of_driven_loads_are_their_inputs():
    system = get("ieee14-loads", driven=[4])
    w = np.stack([40 + 10 * TIMES, 0 * TIMES], axis=-1)
    u = np.broadcast_to(system.operation_point, (2, 9, 28))
    names = {"inputs": system.inputs, "time_units": "s", "attrs": {"method": "pnde"}}
    ds = make_dataset(u, TIMES, system.states, system.units, w=w, **names)
    figures = plot.system(system, ds, {"PNDE": ds})
    bus4, bus5 = figures["power"][:2]
    lines = {line.get_label(): line for line in bus4.get_lines()}
    np.testing.assert_allclose(lines["set-point"].get_ydata(), -(0.4 + 0.1 * TIMES))
    steady = {line.get_label(): line for line in bus5.get_lines()}["set-point"]
    assert steady.get_ydata()[0] == -0.076
    source = drawn(figures["voltage"])[0]
    assert source.figure.get_suptitle() == "trajectory 0"
    colours = {line.get_label(): line.get_color() for line in source.get_lines()}
    assert colours["truth"] == "black" != colours["PNDE"]
    assert set(system.measures(ds)) == set()
