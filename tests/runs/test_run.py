"""Training from data to a run folder and back: what a user of the Python interface sees."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import pnde
from pnde.errors import ConfigError, ConstraintError, DataError, RunError

SETTINGS = {"epochs": 3, "width": 8, "batch_size": 64, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "pnde"
    return pnde.train(data, folder=folder, progress=False, **SETTINGS), folder


def test_a_rollout_keeps_the_law_and_tells_its_errors(trained):
    forecast = trained[0].rollout(t_end=10.0)
    assert forecast.sizes == {"trajectory": 3, "time": 101, "state": 2}
    assert float(forecast["constraint_error"].max()) < 1e-13
    assert int(forecast["status"].sum()) == 0 and int(forecast["steps"].min()) > 0
    known = np.isfinite(forecast["state_error"].values)
    assert known[:, :21].all() and not known[:, 21:].any()  # the truth ends at t = 2
    assert forecast["state_error"].values[:, 0].max() == 0


def test_a_rollout_from_bare_states(trained):
    forecast = trained[0].rollout(np.array([[1.0, 1.0], [2.0, 1.5]]), t_end=1.0, dt=0.25)
    np.testing.assert_allclose(forecast["time"], [0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_array_equal(forecast["u"][:, 0], [[1.0, 1.0], [2.0, 1.5]])
    assert "state_error" not in forecast


def test_the_folder_gives_the_run_back(trained):
    run, folder = trained
    again = pnde.load(folder)
    for name, weight in run.weights.items():
        np.testing.assert_array_equal(again.weights[name], weight)
    pd.testing.assert_frame_equal(again.history, run.history)
    np.testing.assert_array_equal(again.rollout()["u"], run.rollout()["u"])
    assert again.report["complete"] and again.report["engine"] == "jax"


def test_save_writes_a_folder_that_loads(data, tmp_path):
    run = pnde.train(data, method="nde", progress=False, **SETTINGS)
    path = run.save(tmp_path / "saved")
    np.testing.assert_array_equal(pnde.load(path).rollout()["u"], run.rollout()["u"])
    with pytest.raises(RunError, match=r"holds config.toml already"):
        run.save(path)


def test_an_own_law_on_a_file_with_unequal_lengths_gaps_and_uneven_steps(tmp_path):
    """A circle, sampled unevenly: one short trajectory, one with a missing sample."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(6):
        times = np.sort(rng.uniform(0, 3, 30 if k else 12))
        angle = times + k
        for i, (t, a) in enumerate(zip(times, angle, strict=True)):
            x = "" if (k, i) == (1, 7) else repr(float(np.cos(a)))
            rows.append(f"{k},{float(t)!r},{x},{float(np.sin(a))!r}")
    path = tmp_path / "circle.csv"
    path.write_text("trajectory,time,x,y\n" + "\n".join(rows))

    def radius(u):
        return u[0] ** 2 + u[1] ** 2

    run = pnde.train(path, radius, progress=False, folder=tmp_path / "run", **SETTINGS)
    forecast = run.rollout(path)
    assert float(forecast["constraint_error"].max()) < 1e-13
    assert np.isfinite(forecast["u"].values[0]).all(axis=-1).sum() == 12
    again = pnde.load(tmp_path / "run", constraint=radius)
    assert again.evaluate().equals(run.evaluate())
    with pytest.raises(RunError, match="keeps the law 'radius', which is not stored"):
        pnde.load(tmp_path / "run")


def test_known_physics_is_added_to_the_network(data):
    system = pnde.systems.lotka_volterra()
    run = pnde.train(
        data, physics=lambda u: system.rhs(u, 0.0), progress=False, **SETTINGS | {"epochs": 1}
    )
    still = {name: 0 * weight for name, weight in run.weights.items()}
    run.weights = still
    assert float(run.rollout()["state_error"].max()) < 1e-4


def test_a_metric_weights_the_projection(data):
    run = pnde.train(data, metric=[1.0, 100.0], progress=False, **SETTINGS | {"epochs": 1})
    assert float(run.rollout()["constraint_error"].max()) < 1e-13
    with pytest.raises(ConfigError, match="2 positive weights"):
        pnde.train(data, metric=[1.0, -1.0], progress=False, **SETTINGS)


def test_a_data_set_of_more_states_than_the_law_knows_is_refused(data):
    other = data.assign_coords(state=["x", "z"])
    with pytest.raises(ConstraintError, match=r"knows the states x, y: the data have a state 'z'"):
        pnde.train(other, progress=False, **SETTINGS)


def test_initial_states_off_the_manifold_are_named(data):
    law = pnde.Constraint(lambda u: u[0] + u[1], target=1.0, names=("sum",))
    with pytest.raises(ConstraintError, match=r"trajectory \d+ at t = [\d.]+, where row 'sum' is"):
        pnde.train(data, law, progress=False, **SETTINGS)


def test_states_outside_the_domain_are_named(data):
    negative = data.copy(deep=True)
    negative["u"][2, 5] = [-1.0, 2.0]
    with pytest.raises(ConstraintError, match=r"state \(-1, 2\), trajectory 2 at t = 0.5"):
        pnde.train(negative, progress=False, **SETTINGS)


def test_a_method_without_a_law(data):
    with pytest.raises(ConfigError, match="needs a law"):
        pnde.train(data.drop_attrs(), progress=False, **SETTINGS)
    assert (
        pnde.train(data.drop_attrs(), method="nde", progress=False, **SETTINGS).history.shape[0]
        == 3
    )


@pytest.mark.parametrize("given", ["quartic", pnde.systems.quartic()])
def test_a_system_is_no_data(given):
    with pytest.raises(DataError, match=r"'quartic' is a system.*get\('quartic'\).simulate\(\)"):
        pnde.train(given)


def test_nothing_is_written_when_the_input_is_bad(data, tmp_path):
    with pytest.raises(DataError):
        pnde.train(data.isel(trajectory=[0]).drop_vars("split"), folder=tmp_path / "x", **SETTINGS)
    assert not (tmp_path / "x").exists()


def test_check_finds_a_law_that_the_data_break(data):
    report = pnde.check(data)
    assert float(report["relative"].max()) < 1e-10

    def prey(u):
        return u[0]

    table = pnde.metrics.deviation_table(pnde.check(data, prey))
    assert table.loc["prey", "max"] > 0.5


def test_laws_of_time_keep_their_rate(tmp_path):
    """A point on a circle whose radius grows as 1 + t: the projection needs the law's ∂h/∂t."""
    times = np.linspace(0, 1, 11)
    angles = np.linspace(0, 2, 5)[:, None] + times
    u = (1 + times)[None, :, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    ds = pnde.data.make_dataset(u, times, ["x", "y"])
    law = pnde.Constraint(
        lambda u, t: jnp.sum(u**2) / (1 + t) ** 2,
        time_dependent=True,
        target=1.0,
        names=("radius",),
    )
    run = pnde.train(ds, law, progress=False, **SETTINGS)
    forecast = run.rollout(t_end=2.0)
    assert float(forecast["constraint_error"].max()) < 1e-13
    radius = np.linalg.norm(forecast["u"].values, axis=-1)
    np.testing.assert_allclose(radius, np.broadcast_to(1 + forecast["time"].values, radius.shape))
