"""Models with inequalities: trained, forecast, kept in runs, shown."""

import numpy as np
import pytest

import pnde
from pnde.engines import Status, get
from pnde.errors import ConfigError, ConstraintError, DataError, RunError
from pnde.models import initial_weights
from pnde.runs.new_model import new_model

MASS = pnde.Linear([[1, 1, 1]], 1.0, names=["mass"])
POSITIVE = pnde.Bounded(["A", "B", "C"], lower=0)
SMALL = {"width": 8, "epochs": 3, "learning_rate": 1e-2, "progress": False}


@pytest.fixture(scope="module")
def kinetics():
    """A → B → C at the rates 1 and 1/2."""
    t = np.linspace(0, 8, 17)
    start = np.linspace(0.4, 1, 5)[:, None]
    a = start * np.exp(-t)
    b = 2 * start * (np.exp(-t / 2) - np.exp(-t))
    return pnde.data.make_dataset(np.stack([a, b, 1 - a - b], axis=-1), t, ["A", "B", "C"])


@pytest.fixture(scope="module")
def run(kinetics):
    return pnde.train(kinetics, MASS & POSITIVE, **SMALL)


@pytest.fixture(scope="module")
def forecast(run):
    return run.rollout(t_end=80.0)


def test_forecast_is_inside_and_keeps_the_law(forecast):
    u = forecast["u"].values
    assert (forecast["status"] == 0).all()
    assert u.min() == 0.0
    assert np.abs(u.sum(axis=-1) - 1).max() < 1e-15
    np.testing.assert_array_equal(forecast["margin"].values, u)


def test_tables(forecast):
    rows = pnde.metrics.bounds_table(forecast)
    assert list(rows.index) == ["A", "B", "C"]
    assert (rows["outside, max"] == 0).all() and rows["at the bound"].max() > 0.5
    line = pnde.metrics.table({"PNDE": forecast}).loc["PNDE"]
    assert line["outside, max"] == 0 and line["at a bound"] > 0.5
    with pytest.raises(DataError, match="no forecast has margins"):
        pnde.plot.margins(forecast.drop_vars("margin"))
    axes = pnde.plot.margins({"PNDE": forecast})
    assert [ax.get_title() for ax in axes] == ["A", "B", "C"]
    np.testing.assert_array_equal(axes[0].lines[1].get_ydata(), forecast["u"].values[..., 0].min(0))


def test_a_run_keeps_its_rates_and_asks_for_the_rest(run, forecast, tmp_path):
    run.save(tmp_path / "run")
    again = pnde.load(tmp_path / "run", constraint=MASS & POSITIVE)
    np.testing.assert_array_equal(again.model.bounds.rates, run.model.bounds.rates)
    np.testing.assert_array_equal(again.rollout(t_end=80.0)["u"], forecast["u"])
    for given, said in (
        (MASS, "keeps the inequalities 'bounded', which are not stored"),
        (MASS & pnde.Bounded("A", lower=0), "keeps the inequalities A, B, C, but"),
        (POSITIVE, "keeps the law 'mass', which is not stored"),
    ):
        with pytest.raises(RunError, match=said):
            pnde.load(tmp_path / "run", constraint=given)


def test_initial_states_outside_are_refused(run):
    with pytest.raises(ConstraintError, match=r"1 of 1 initial states are outside .* 'B' is -0.5"):
        run.rollout([[1.5, -0.5, 0.0]], t_end=9.0)


def rolled_out(data, law, times, **settings):
    """What an untrained model does from the first states."""
    engine, config = get("jax"), pnde.Config.make(width=8, **settings)
    model, _ = new_model(engine, pnde.split_data(data), law, config, None, None, None)
    u0 = data["u"].values[:, 0]
    c = np.ones((len(u0), 0 if model.constraint is None else 1))
    weights = initial_weights(model, 1)
    return model, engine.rollout(model, weights, u0, times, c, config.rollout)


def test_inequalities_alone_make_a_pnde_but_no_snde(kinetics):
    model, found = rolled_out(kinetics, POSITIVE, np.linspace(0, 20, 9), rate=2.0)
    assert model.constraint is None and found.u.min() == 0.0
    assert (found.status == 0).all()
    np.testing.assert_array_equal(model.bounds.rates, 2.0)
    with pytest.raises(ConfigError, match='method = "snde" needs a law'):
        pnde.train(kinetics, POSITIVE, method="snde", **SMALL)


def test_a_mechanical_model_keeps_none():
    t = np.linspace(0, 3, 16)
    phase = np.linspace(0, 1, 5)[:, None]
    swing = np.stack([np.cos(t + phase), -np.sin(t + phase)], axis=-1)
    data = pnde.data.make_dataset(swing, t, ["q", "v"])
    with pytest.raises(
        ConfigError, match="mechanical model keeps no inequalities such as that of 'q'"
    ):
        pnde.train(data, pnde.Bounded("q", upper=2), order=2, form="mechanical")


def leaking(u, t):
    return u[0] + u[1] + u[2] - 0.5 * t


def test_bounds_that_come_to_contradict_the_law_are_a_status(kinetics):
    """The mass stays, and the sum of the states has to grow: for a while the data allow it."""
    grows = pnde.Inequality(leaking, lower=-4.0)
    _, found = rolled_out(
        kinetics, MASS & grows, np.arange(0.0, 13.0), **{"rollout.retract": "save"}
    )
    assert (found.status == Status.INFEASIBLE).all() and np.isfinite(found.u).all()
