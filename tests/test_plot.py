"""The pictures: what is drawn, and how it is labelled."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from pnde import plot
from pnde.data import make_dataset
from pnde.errors import DataError, PndeError
from pnde.metrics import deviation, state_error

TIMES = np.linspace(0, 10, 41)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def circles(growth=0.0, count=4):
    phases = np.arange(count)[:, None] + TIMES
    u = np.stack([np.cos(phases), np.sin(phases)], axis=-1) * np.exp(growth * TIMES)[:, None]
    return make_dataset(u, TIMES, ["x", "v"], ["m", "m/s"], time_units="s")


def forecast(growth, constraint_error=0.0, **attrs):
    ds = circles(growth).assign_attrs(attrs)
    return ds.assign(
        state_error=state_error(circles(), ds),
        constraint_error=(("trajectory", "time"), np.full((4, 41), constraint_error)),
        status=("trajectory", np.zeros(4, int)),
    )


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def drawn(axes):
    """Draw the whole figure, so that whatever is wrong with a label or a scale comes up."""
    figure = np.atleast_1d(np.asarray(axes, dtype=object)).reshape(-1)[0].figure
    figure.canvas.draw()
    return figure


def test_errors():
    axes = plot.errors({"NDE": forecast(0.05, 0.1), "PNDE": forecast(0.01)})
    figure = drawn(axes)
    assert figure.get_figwidth() == pytest.approx(245 / 72)
    left, right = axes
    assert (left.get_yscale(), right.get_yscale()) == ("linear", "log")
    assert left.get_xlabel() == "time (s)"
    expected = state_error(circles(), circles(0.05)).mean("trajectory")
    np.testing.assert_allclose(lines(left)["NDE"].get_ydata(), expected)
    # Exact zeros are drawn at the floor, not dropped.
    np.testing.assert_array_equal(lines(right)["PNDE"].get_ydata(), 1e-17)
    assert len(left.collections) == 2
    assert not plot.errors(forecast(0.01), band=False)[0].collections


def test_errors_counts_failures_and_keeps_the_rest():
    bad = forecast(0.05, 0.1)
    bad["status"][0] = 2
    for name in ("u", "state_error", "constraint_error"):
        bad[name][0, 20:] = np.nan
        bad[name][:, 35:] = np.nan
    left, _ = plot.errors({"NDE": bad})
    line = lines(left)["NDE (1 of 4 failed)"]
    np.testing.assert_array_equal(np.isfinite(line.get_ydata()), TIMES < TIMES[35])


def test_errors_on_given_axes_without_truth():
    _, given = plt.subplots(1, 2)
    axes = plot.errors(forecast(0.01).drop_vars("state_error"), given)
    assert axes[0] is given[0]
    assert [text.get_text() for text in axes[0].texts] == ["no truth\nto compare with"]
    with pytest.raises(PndeError, match="has 2 panels, but only 1 axes"):
        plot.errors(forecast(0.01), given[0])


def test_errors_of_trajectories_with_their_own_times():
    one = circles(count=2)
    shifted = make_dataset(one["u"].values, np.stack([TIMES, TIMES + 3]), ["x", "v"])
    shifted["constraint_error"] = (("trajectory", "time"), np.tile(TIMES, (2, 1)))
    _, right = plot.errors({"PNDE": shifted}, band=False)
    np.testing.assert_allclose(lines(right)["PNDE"].get_ydata()[1:], TIMES[1:])


def test_colours_are_the_papers():
    models = {
        "SNDE γ = 10": forecast(0.03),
        "PNDE": forecast(0.01),
        "SNDE γ = 1": forecast(0.04),
        "plain": forecast(0.05, method="nde"),
        "hybrid": forecast(0.02),
    }
    colours = {name: line.get_color() for name, line in lines(plot.errors(models)[0]).items()}
    assert colours["plain"] == "#E69F00"
    assert colours["PNDE"] == "#0072B2"
    assert colours["SNDE γ = 1"] == "#56B4E9"
    assert colours["SNDE γ = 10"] == "#009E73"
    assert len(set(colours.values())) == 5


def test_two_models_of_one_method_are_told_apart():
    axes = plot.errors({"PNDE a": forecast(0.01), "PNDE b": forecast(0.02)})
    colours = {line.get_color() for line in axes[0].get_lines()}
    assert len(colours) == 2


def test_phase():
    truth, model = circles(), forecast(0.02).isel(trajectory=[3, 1, 0])
    axes = plot.phase(truth, {"PNDE": model}, ("v", "x"))
    drawn(axes)
    assert len(axes) == 3
    assert [ax.get_title() for ax in axes] == ["trajectory 3", "trajectory 1", "trajectory 0"]
    np.testing.assert_array_equal(lines(axes[0])["truth"].get_xdata(), truth["u"].values[3, :, 1])
    assert lines(axes[1])["initial state"].get_color() == "#B22222"
    assert axes[2].get_xlabel() == "v (m/s)"
    assert axes[0].get_ylabel() == "x (m)"
    with pytest.raises(DataError, match="there is no state 'y'"):
        plot.phase(truth, model, ("x", "y"))
    with pytest.raises(DataError, match="has only 3 trajectories"):
        plot.phase(truth, model, trajectories=[5])


def test_trajectories():
    axes = plot.trajectories(circles())
    drawn(axes)
    assert [ax.get_ylabel() for ax in axes] == ["x (m)", "v (m/s)"]
    assert [ax.get_xlabel() for ax in axes] == ["", "time (s)"]
    assert set(lines(axes[0])) == {f"trajectory {i}" for i in range(4)}
    (ax,) = plot.trajectories({"truth": circles(), "PNDE": forecast(0.01)}, ["v"], [2])
    assert {name: line.get_color() for name, line in lines(ax).items()} == {
        "truth": "black",
        "PNDE": "#0072B2",
    }


def test_trajectories_of_many_states_keep_their_names():
    rng = np.random.default_rng(0)
    ds = make_dataset(rng.standard_normal((9, 14)), np.arange(9))
    axes = plot.trajectories(ds)
    assert [ax.get_ylabel() for ax in axes] == [f"u{i}" for i in range(14)]
    # Two columns end a row earlier, and have their time axis all the same.
    assert [bool(ax.get_xlabel()) for ax in axes] == [False] * 10 + [True] * 4


def test_history():
    df = pd.DataFrame({"epoch": [1, 2, 3], "loss": [1, 0.5, 0.4], "valid_loss": [1, 0.6, 0.7]})
    ax = plot.history(df)
    assert ax.get_yscale() == "log"
    assert set(lines(ax)) == {"training", "validation", "best (epoch 2)"}
    assert set(lines(plot.history(df[["epoch", "loss"]], plt.subplots()[1]))) == {"training"}
    with pytest.raises(DataError, match=r"no column 'loss' \(did you mean 'losses'\?\)"):
        plot.history(df.rename(columns={"loss": "losses"}))


def test_check():
    g = np.zeros((4, 41, 3))
    g[..., 0] = 0.05 * np.sin(TIMES)
    g[2, :, 0] *= 2
    g[..., 2] = np.nan
    axes = plot.check(deviation(g, [1.0, 1.0, 1.0], circles(), ["energy", "length", "lost"]))
    drawn(axes)
    assert axes[0].get_title() == "energy\nat most 9.99 %, trajectory 2"
    assert axes[1].get_title() == "length\nno deviation"
    assert axes[2].get_title() == "lost\nno samples"
    assert axes[1].get_xlim() == (0, 10)
    np.testing.assert_array_equal(axes[1].get_lines()[1].get_ydata(), 1e-17)


def test_check_shows_the_worst_of_many_rows():
    g = np.ones((4, 41, 18)) * 10.0 ** np.arange(18)
    axes = plot.check(deviation(g, 1e18, circles()))
    assert len(axes) == 12
    assert axes[0].get_title().startswith("row 6\n")


def test_style_is_put_back():
    before = mpl.rcParams["font.size"]
    with plot.style():
        assert mpl.rcParams["font.size"] == 7
    plot.errors(forecast(0.01))
    assert mpl.rcParams["font.size"] == before
