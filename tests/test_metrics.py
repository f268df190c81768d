"""Errors of forecasts, and the deviation of data from a law."""

import numpy as np
import pytest

from pnde.data import make_dataset
from pnde.errors import DataError
from pnde.metrics import (
    constraint_error,
    deviation,
    deviation_table,
    failures,
    law_scale,
    matching,
    state_error,
    table,
    unrelated_states,
    valid_time,
)

TIMES = 0.5 * np.arange(5)


def trajectories(labels, scale=1.0, times=TIMES, names=("x", "y")):
    """States (label + 1, time + 1) times `scale`."""
    u = np.stack(
        [np.stack([np.full(len(times), label + 1.0), times + 1], axis=1) for label in labels]
    )
    return make_dataset(scale * u, times, names, trajectory=labels, time_units="s")


def forecast(labels=(0, 1), scale=1.1, **attrs):
    ds = trajectories(labels, scale).assign_attrs(attrs)
    return ds.assign(
        state_error=state_error(trajectories(range(4)), ds),
        constraint_error=(("trajectory", "time"), np.full(ds["u"].shape[:2], 1e-3)),
        status=("trajectory", np.zeros(len(labels), int)),
    )


def test_state_error_of_arrays():
    truth = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    u = np.array([[3.0, 5.0], [0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(state_error(truth, u), [0.2, 0, np.inf])
    with pytest.raises(DataError, match=r"the truth has the shape \(3, 2\)"):
        state_error(truth, u[:2])


def test_state_error_matches_labels_times_and_state_names():
    truth = trajectories(range(4))
    swapped = trajectories([3, 1], 1.1)[["u"]].sel(state=["y", "x"])
    errors = state_error(truth, swapped)
    assert errors.dims == ("trajectory", "time")
    assert errors["trajectory"].values.tolist() == [3, 1]
    np.testing.assert_allclose(errors, 0.1)
    # Finer and longer than the truth: known where the truth has a sample.
    fine = trajectories([1], 1.1, times=0.25 * np.arange(12))
    errors = state_error(truth, fine).values[0]
    np.testing.assert_array_equal(np.isfinite(errors), [*[True, False] * 4, True, *[False] * 3])
    np.testing.assert_allclose(errors[::2][:5], 0.1)


def test_matching_by_position_and_refusals():
    truth = trajectories([7, 8])
    np.testing.assert_array_equal(matching(truth, trajectories([0, 1])), truth["u"])
    with pytest.raises(DataError, match="the truth has no trajectory 0, and with 2 trajectories"):
        matching(truth, trajectories([0, 1, 2]))
    with pytest.raises(DataError, match="there is no state 'z'"):
        matching(truth, trajectories([7], names=("x", "z")))


def test_constraint_error_is_the_norm_over_rows():
    np.testing.assert_allclose(constraint_error([[[3.0, 4.0]], [[0.0, 1.0]]]), [[5], [1]])


def test_table():
    out = table({"NDE": forecast(scale=1.2), "PNDE": forecast(train_seconds=12.5)})
    assert out.index.tolist() == ["NDE", "PNDE"]
    np.testing.assert_allclose(out["state error (t = 2 s)"], [0.2, 0.1])
    np.testing.assert_allclose(out["constraint error, max"], 1e-3)
    assert out["failed"].tolist() == [0, 0]
    assert np.isnan(out.loc["NDE", "train time (s)"])
    assert out.loc["PNDE", "train time (s)"] == 12.5
    asked = table({"PNDE": forecast()}, at=[0.5, 1.0])
    assert [c for c in asked if c.startswith("state")] == [
        "state error (t = 0.5 s)",
        "state error (t = 1 s)",
    ]
    assert "train time (s)" not in asked
    with pytest.raises(
        DataError, match="'PNDE' runs from 0 to 2; there is no state error at t = 3"
    ):
        table({"PNDE": forecast()}, at=3)


def test_valid_time():
    ds = forecast(labels=(0, 1, 2, 3), scale=1.0)
    ds["state_error"][0, 3:] = 0.2  # t = 1.5 is the first sample above 0.1
    ds["state_error"][1, 1] = np.nan  # the truth has no sample there
    ds["u"][2, 2:] = ds["state_error"][2, 2:] = np.nan  # it fails after t = 0.5
    ds["state_error"][3] = np.nan
    np.testing.assert_array_equal(valid_time(ds), [1.5, 2.0, 1.0, np.nan])
    np.testing.assert_array_equal(valid_time(ds, 0.3)[0], 2.0)
    row = table({"NDE": ds}).loc["NDE"]
    assert row["valid time, median (s)"] == 1.5
    assert row["valid time, 25 % (s)"] == 1.25
    assert row["valid time, 75 % (s)"] == 1.75


def test_valid_time_of_own_times():
    times = [1 + np.arange(4.0), np.array([5.0, 6, 8])]
    ds = make_dataset([np.ones((4, 1)), np.ones((3, 1))], times)
    errors = np.array([[0, 0, 0.2, 0.2], [0, 0, 0, np.nan]])
    ds["state_error"] = ("trajectory", "time"), errors
    np.testing.assert_array_equal(valid_time(ds), [2.0, 3.0])


def test_failed_trajectories_are_counted():
    bad = forecast()
    bad["status"][1] = 2
    for name in ("u", "state_error", "constraint_error"):
        bad[name][1, 2:] = np.nan
    out = table({"NDE": bad}).loc["NDE"]
    assert out["failed"] == 1
    assert out["trajectories"] == 2
    assert out["state error (t = 2 s)"] == pytest.approx(0.1)
    assert failures(bad.drop_vars("status")) == 1
    bad["u"][:] = bad["state_error"][:] = bad["constraint_error"][:] = np.nan
    dead = table({"NDE": bad}, at=2).loc["NDE"]
    assert dead[["state error (t = 2 s)", "constraint error, max"]].isna().all()


def test_table_without_truth():
    out = table({"PNDE": forecast().drop_vars("state_error")})
    assert not any(column.startswith("state error") for column in out)


def test_scale_of_a_law_with_target_zero_is_that_of_unrelated_states():
    angle = np.linspace(0, 6, 200)
    ds = make_dataset(np.stack([np.cos(angle), np.sin(angle)], axis=1), angle)

    def h(u):
        return np.stack([(u**2).sum(-1) - 1, 5 + 0 * u[..., 0]], axis=-1)

    scale = law_scale(np.array([[0.0, 5.0]]), h(unrelated_states(ds)))
    assert 0.1 < scale[0, 0] < 2
    assert scale[0, 1] == 5
    # Rounding errors must not look like a broken law.
    g = h(ds["u"].values) - [0.0, 5.0]
    assert deviation_table(deviation(g, scale, ds))["max"].max() < 1e-14


def test_deviation_and_its_table():
    ds = trajectories([4, 5])
    g = np.zeros((2, 5, 2))
    g[1, 3, 0] = -0.5
    g[0, 1, 1] = 0.2
    g[0, 2, 1] = np.nan
    out = deviation(g, np.array([[10.0, 0.0], [10.0, 0.0]]), ds, ["energy", "length"])
    assert out["relative"].dims == ("trajectory", "time", "row")
    assert out["time"].attrs["units"] == "s"
    rows = deviation_table(out)
    assert rows.loc["energy", "max"] == pytest.approx(0.05)
    assert rows.loc["energy", "max absolute"] == 0.5
    assert rows.loc["energy", "worst trajectory"] == 5
    assert rows.loc["energy", "worst time"] == 1.5
    assert rows.loc["length", "max"] == pytest.approx(0.2)  # no scale: absolute
    assert rows.loc["length", "mean"] == pytest.approx(0.2 / 9)
    assert deviation(g, 1.0)["row"].values.tolist() == ["row 0", "row 1"]


def test_deviation_keeps_own_times():
    times = [np.array([0.0, 1, 2]), np.array([0.0, 3])]
    ds = make_dataset([np.ones((3, 1)), np.ones((2, 1))], times)
    g = np.zeros((2, 3, 1))
    g[1, 1, 0] = 1
    assert deviation_table(deviation(g, [2.0], ds)).loc["row 0", "worst time"] == 3
