"""The layout, and reading and writing it."""

import json

import numpy as np
import pytest
import xarray as xr

from pnde.data import (
    make_dataset,
    open_data,
    save_data,
    state_index,
    state_table,
    summary,
    time_label,
    time_matrix,
)
from pnde.errors import DataError, RunError


@pytest.fixture
def example():
    rng = np.random.default_rng(0)
    u = rng.standard_normal((3, 6, 2))
    u[1, 2, 0] = np.nan
    return make_dataset(
        u,
        0.1 * np.arange(6),
        ["x", "v"],
        {"x": "m", "v": "m/s"},
        {"system": "spring", "parameters": {"k": 2.0}, "seed": 3, "solver": None},
        ["train", "valid", "test"],
        time_units="s",
    )


@pytest.fixture
def ragged():
    rng = np.random.default_rng(1)
    times = [np.array([0.0, 0.1, 0.5]), np.array([0.0, 0.2, 0.3, 0.9])]
    return make_dataset([rng.standard_normal((len(t), 2)) for t in times], times, ["x", "y"])


def test_layout(example):
    assert example["u"].dims == ("trajectory", "time", "state")
    assert example["u"].dtype == np.float64
    assert list(example["units"].values) == ["m", "m/s"]
    assert list(example["split"].values) == ["train", "valid", "test"]
    assert json.loads(example.attrs["parameters"]) == {"k": 2.0}
    assert "solver" not in example.attrs
    assert time_label(example) == "s"
    assert time_matrix(example).shape == (3, 6)
    assert state_index(example, "v") == 1


def test_own_times_become_t_and_are_padded(ragged):
    assert "time" not in ragged.coords
    times = time_matrix(ragged)
    np.testing.assert_array_equal(times[0], [0.0, 0.1, 0.5, np.nan])
    assert np.isnan(ragged["u"].values[0, 3]).all()


def test_short_trajectory_on_a_shared_grid_keeps_the_coordinate():
    t = np.arange(5.0)
    ds = make_dataset([np.ones((5, 1)), np.ones((3, 1))], [t, t[:3]])
    np.testing.assert_array_equal(ds["time"].values, t)
    assert np.isnan(ds["u"].values[1, 3:]).all()
    assert list(ds["state"].values) == ["u0"]


@pytest.mark.parametrize("suffix", [".nc", ".npz", ".csv"])
@pytest.mark.parametrize("kind", ["example", "ragged"])
def test_saved_and_opened_is_the_same(request, tmp_path, suffix, kind):
    ds = request.getfixturevalue(kind)
    path = save_data(ds, tmp_path / f"data{suffix}")
    back = open_data(path)
    np.testing.assert_array_equal(back["u"].values, ds["u"].values)
    np.testing.assert_array_equal(time_matrix(back), time_matrix(ds))
    assert list(back["state"].values) == list(ds["state"].values)
    assert list(back["trajectory"].values) == list(ds["trajectory"].values)
    if "split" in ds.coords:
        assert list(back["split"].values) == list(ds["split"].values)
    if suffix != ".csv":
        assert back.attrs == ds.attrs
        assert list(back["units"].values) == list(ds["units"].values)
        assert time_label(back) == time_label(ds)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_opened_file_can_be_overwritten(example, tmp_path):
    path = save_data(example, tmp_path / "data.nc")
    save_data(open_data(path), path)
    xr.testing.assert_identical(open_data(path), open_data(example))


def test_failed_save_leaves_nothing(example, tmp_path, monkeypatch):
    path = save_data(example, tmp_path / "data.nc")
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(RunError, match="disk full"):
        save_data(example, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.nc"]


def test_save_refusals(example, tmp_path):
    with pytest.raises(DataError, match=r"unknown kind of file '\.ncc' \(did you mean '\.nc'\?\)"):
        save_data(example, tmp_path / "a.ncc")
    with pytest.raises(DataError, match="no folder"):
        save_data(example, tmp_path / "nowhere" / "a.nc")


def test_any_order_of_dims_and_one_trajectory(example):
    turned = example.transpose("state", "time", "trajectory")
    xr.testing.assert_identical(open_data(turned), example)
    one = open_data(example.isel(trajectory=2))
    assert one.sizes["trajectory"] == 1
    assert one["trajectory"].values.tolist() == [2]
    assert one["split"].values.tolist() == ["test"]
    np.testing.assert_array_equal(one["u"].values[0], example["u"].values[2])
    array = xr.DataArray(np.ones((4, 2)), dims=("time", "state"), coords={"time": np.arange(4)})
    assert open_data(array)["u"].shape == (1, 4, 2)


def test_one_variable_for_each_state():
    ds = xr.Dataset(
        {
            "x": (("time", "trajectory"), np.arange(6.0).reshape(3, 2), {"units": "m"}),
            "y": (("trajectory", "time"), np.ones((2, 3), int)),
            "mass": ("trajectory", [1.0, 2.0]),
        },
        {"time": [0.0, 1.0, 3.0]},
    )
    opened = open_data(ds)
    assert list(opened["state"].values) == ["x", "y"]
    assert list(opened["units"].values) == ["m", ""]
    np.testing.assert_array_equal(opened["u"].values[1, :, 0], [1, 3, 5])
    assert opened["mass"].values.tolist() == [1.0, 2.0]
    single = open_data(ds["x"].isel(trajectory=0))
    assert list(single["state"].values) == ["x"]


def test_forecast_keeps_its_variables(example, tmp_path):
    forecast = example.assign(
        constraint_error=(("trajectory", "time"), np.zeros((3, 6))),
        status=("trajectory", [0, 0, 2]),
    )
    forecast["u"][2] = np.nan
    opened = open_data(forecast)
    assert opened["status"].values.tolist() == [0, 0, 2]
    assert opened["constraint_error"].dims == ("trajectory", "time")
    xr.testing.assert_identical(open_data(save_data(forecast, tmp_path / "f.nc")), opened)


def test_dates_become_seconds():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-04"], "datetime64[ns]")
    ds = xr.Dataset({"x": ("time", [1.0, 2.0, 3.0])}, {"time": days})
    opened = open_data(ds)
    np.testing.assert_array_equal(opened["time"].values, [0, 86400, 3 * 86400])
    assert time_label(opened) == "s"


def test_csv_long_with_gaps_comments_and_interleaved_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "# recorded by hand\ntrajectory;time;x;y\nb;0;1;2\na;0;5;6\n\nb;0.5;;3\na;1;7;8\nb;2;3;4\n"
    )
    ds = open_data(path)
    assert ds["trajectory"].values.tolist() == ["b", "a"]
    np.testing.assert_array_equal(time_matrix(ds), [[0, 0.5, 2], [0, 1, np.nan]])
    assert np.isnan(ds["u"].values[0, 1, 0])
    assert ds["u"].values[0, 1, 1] == 3


def test_csv_wide_one_row_for_each_trajectory(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("trajectory,x@0,x@0.5,x@2,y@0,y@2\n7,1,2,3,4,6\n8,1,2,3,4,7\n")
    ds = open_data(path)
    assert ds["trajectory"].values.tolist() == [7, 8]
    assert list(ds["state"].values) == ["x", "y"]
    np.testing.assert_array_equal(ds["time"].values, [0, 0.5, 2])
    np.testing.assert_array_equal(ds["u"].values[0], [[1, 4], [2, np.nan], [3, 6]])


def test_csv_wide_one_row_for_each_time(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,x@1,y@1,x@2,y@2\n0,1,2,3,4\n1,5,6,7,8\n")
    ds = open_data(path)
    assert ds["trajectory"].values.tolist() == [1, 2]
    np.testing.assert_array_equal(ds["u"].values[1], [[3, 4], [7, 8]])


def test_state_names_with_brackets_are_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,x[0],x[1]\n0,1,2\n1,3,4\n")
    assert list(open_data(path)["state"].values) == ["x[0]", "x[1]"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Tiem,x\n0,1\n1,2\n", r"no column 'time' \(did you mean 'Tiem'\?\).* columns Tiem, x"),
        ("time,x\n0,1\n\n1,oops\n", r"line 4, column 'x': 'oops' is not a number"),
        ("time,x\n0,1\n1,1+2j\n", "stack real and imaginary parts"),
        (
            "trajectory,time,x\n3,0,1\n4,0,1\n3,0,2\n4,1,1\n",
            "3: time 0 occurs twice .lines 2 and 4",
        ),
        ("time,x\n0,1\n2,1\n1,2\n", "time goes back from 2 to 1 .lines 3 and 4"),
        ("time,x\n0,1\n", "trajectory 0 has 1 point"),
        ("time,x\n0,1\n,2\n", "line 3, column 'time': the time is missing"),
        ("time,x,y\n0,1,\n1,2,\n", "state 'y' is NaN everywhere"),
        ("time\n0\n1\n", "no column with a state"),
        ("time,x,x\n0,1,2\n1,2,3\n", "column 'x' occurs twice"),
        ("time,x\n", "no rows of data"),
        ("", "the file is empty"),
        ("time,x\n0,1\n1,2,3,4\n", "line 3 has 4 cells, but the header has 2 names"),
        ("x@0,x@late\n1,2\n", "'late' after '@' is not a time"),
    ],
)
def test_csv_refusals(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        open_data(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_file_refusals(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        open_data(tmp_path / "a.nc")
    with pytest.raises(DataError, match=r"unknown kind of file '\.docx'"):
        open_data(tmp_path / "a.docx")
    with pytest.raises(DataError, match=r"power grid.*pnde\.systems\.power_grid\('case14\.m'\)"):
        open_data("case14.m")
    for name in ("a.nc", "a.npz"):
        (tmp_path / name).write_bytes(b"not what it says")
        with pytest.raises(DataError, match=r"not a NetCDF file|cannot be read as NPZ"):
            open_data(tmp_path / name)
    (tmp_path / "cut.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(DataError, match="the file cannot be read"):
        open_data(tmp_path / "cut.nc")
    np.savez(tmp_path / "b.npz", v=np.ones((3, 2)))
    with pytest.raises(DataError, match=r"no array 't' or 'time'.* arrays v"):
        open_data(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", u=np.ones((3, 2)), t=np.arange(4))
    with pytest.raises(DataError, match=r"times have shape \(4,\), but the array 'u' has \(3, 2\)"):
        open_data(tmp_path / "c.npz")
    with pytest.raises(DataError, match="not int"):
        open_data([1, 2])


def test_dataset_refusals(example):
    with pytest.raises(DataError, match=r"no dimension 'time' \(did you mean 'times'\?\)"):
        open_data(example.rename(time="times"))
    with pytest.raises(DataError, match="the dim that counts the states must be called 'state'"):
        open_data(example.rename(state="component"))
    with pytest.raises(DataError, match="has no coordinate"):
        open_data(example.drop_vars("time"))
    with pytest.raises(DataError, match="stack its real and imaginary parts"):
        open_data(example.assign(u=example["u"] * 1j))
    gone = example.copy(deep=True)
    gone["u"][1, :, 0] = np.nan
    with pytest.raises(DataError, match="trajectory 1: state 'x' is NaN everywhere"):
        open_data(gone)
    gone["u"][:, :, 1] = np.nan
    with pytest.raises(DataError, match="state 'v' is NaN everywhere, in all trajectories"):
        open_data(gone)
    with pytest.raises(DataError, match="no variable has the dims"):
        open_data(xr.Dataset({"a": ("state", [1.0])}, {"time": [0.0, 1.0]}))
    with pytest.raises(DataError, match="which of a, b holds the states"):
        open_data(example.rename(u="a").assign(b=example["u"]))


def test_make_refusals():
    t = np.arange(3.0)
    with pytest.raises(DataError, match="there are 1 state names for 2 states"):
        make_dataset(np.ones((3, 2)), t, ["x"])
    with pytest.raises(DataError, match="state name 'x' occurs twice"):
        make_dataset(np.ones((3, 2)), t, ["x", "x"])
    with pytest.raises(DataError, match="'z', no state"):
        make_dataset(np.ones((3, 2)), t, ["x", "y"], {"z": "m"})
    with pytest.raises(DataError, match=r"trajectory 0: state 'u1' is infinite at t = 2"):
        make_dataset([[1, 1], [1, 1], [1, np.inf]], t)
    with pytest.raises(DataError, match="has no time at sample 1"):
        make_dataset(np.ones((3, 1)), [0, np.nan, 1])
    with pytest.raises(DataError, match="sample 2 has values but no time"):
        make_dataset(np.ones((3, 1)), [0, 1, np.nan])
    with pytest.raises(DataError, match=r"there is no state 'vv' \(did you mean 'v'\?\)"):
        state_index(make_dataset(np.ones((3, 2)), t, ["x", "v"]), "vv")


def test_summary(example, ragged):
    text = summary(example)
    assert text.splitlines()[0] == "3 trajectories: 1 train, 1 valid, 1 test"
    assert "time step   0.1 s" in text
    assert "missing     1 of 18 samples" in text
    assert state_table(example).loc["x", "missing"] == pytest.approx(1 / 18)
    # Padding is no gap.
    assert "points      3 to 4, 7 in all" in summary(ragged)
    assert "missing     0 of 7 samples" in summary(ragged)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"states": 5}, "the state names are a list of 2, one for each of the states, not '5'"),
        ({"states": "xv"}, "the state names are a list of 2"),
        ({"states": ["x", ""]}, "state 1 has no name"),
        ({"states": ["x", "\udcff"]}, "not text in UTF-8"),
        ({"units": 5}, "the units are a list of 2"),
        ({"units": {"w": "m"}}, "a unit is given for 'w', no state"),
        ({"attrs": 5}, "attributes are a table"),
        ({"attrs": {"a": "\udcff"}}, "'a' is not text in UTF-8"),
        ({"split": ["first"]}, "trajectory 0 is in the split 'first'"),
        ({"split": ["test", "test"]}, "there are 2 split names for 1 trajectories"),
        ({"trajectory": [1, 2]}, "there are 2 trajectory labels for 1 trajectories"),
        ({"trajectory": [None]}, "trajectory 0 has no label"),
        ({"trajectory": ["\udcff"]}, "not text in UTF-8"),
        ({"time_units": 5}, "the unit of time is text"),
    ],
)
def test_arguments_that_make_no_sense(settings, message):
    with pytest.raises(DataError, match=message):
        make_dataset(np.ones((3, 2)), np.arange(3.0), **settings)


@pytest.mark.parametrize(
    ("u", "t", "message"),
    [
        (np.ones((0, 3, 2)), np.arange(3), "there are no data: 0 trajectories"),
        (np.ones((2, 3, 0)), np.arange(3), "there are no data: 2 trajectories, 3 times, 0 states"),
        ([np.ones((3, 2)), np.ones((0, 2))], [np.arange(3), []], "a trajectory is empty"),
        ([np.ones((3, 2)), np.ones((3, 1))], np.arange(3), "differ in their number of states"),
        ([np.ones((3, 2))] * 2, [np.arange(3)], "there are 2 trajectories but times for 1"),
        (
            [np.ones((3, 2))] * 2,
            np.ones((3, 3)),
            r"2 trajectories, but the times have shape \(3, 3\)",
        ),
        ([[1, 2], [3]], np.arange(2), "u is no array: its rows differ in length"),
        ("text", np.arange(2), "u holds text"),
        (None, None, r"u has shape \(\)"),
        (np.ones((2, 2)), 5.0, r"the times have shape \(\)"),
    ],
)
def test_arrays_that_do_not_fit(u, t, message):
    with pytest.raises(DataError, match=message):
        make_dataset(u, t)


def test_dates_name_trajectories():
    days = np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]")
    ds = make_dataset(np.ones((2, 3, 1)), np.arange(3.0), trajectory=days)
    assert [label[:10] for label in ds["trajectory"].values] == ["2020-01-01", "2020-01-02"]
