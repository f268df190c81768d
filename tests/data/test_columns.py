"""Columns chosen and renamed, DataFrames, Parquet, several files."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from pnde import open_data
from pnde.data import make_dataset, save_data, time_matrix
from pnde.errors import DataError

FRAME = pd.DataFrame(
    {
        "animal": ["b", "b", "a", "a", "a"],
        "Zeit": [0.0, 0.5, 0.0, 0.25, 1.0],
        "note": ["start", "", "start", "", "end"],
        "pos": [1.0, 2.0, 3.0, 4.0, 5.0],
        "speed": [-1.0, -2.0, -3.0, -4.0, -5.0],
    }
)
CHOICE = {"states": ["speed", "pos"], "time": "Zeit", "trajectory": "animal"}


def sources(tmp_path):
    """The same table as a DataFrame, a text file and, where pyarrow is there, Parquet."""
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    yield FRAME
    yield tmp_path / "a.csv"
    try:
        FRAME.to_parquet(tmp_path / "a.parquet")
    except ImportError:
        return
    yield tmp_path / "a.parquet"


def test_columns_are_chosen_in_this_order_and_renamed(tmp_path):
    for source in sources(tmp_path):
        ds = open_data(source, **CHOICE, rename={"pos": "x", "speed": "v"})
        assert list(ds["state"].values) == ["v", "x"]
        assert ds["trajectory"].values.tolist() == ["b", "a"]
        np.testing.assert_array_equal(time_matrix(ds), [[0, 0.5, np.nan], [0, 0.25, 1]])
        np.testing.assert_array_equal(ds["u"].values[1], [[-3, 3], [-4, 4], [-5, 5]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"states": ["pos", "sped"]},
            r"no column 'sped' \(did you mean 'speed'\?\); there are animal, Zeit",
        ),
        ({"states": ["pos", "pos"]}, "the column 'pos' is asked for twice"),
        ({"states": ["pos", "Zeit"]}, "the column 'Zeit' is asked for twice"),
        ({"states": "pos"}, "states= is a list of names"),
        ({"states": []}, "states= is a list of names"),
        ({"states": ["note"]}, "column 'note': 'start' is not a number"),
        ({"time": "zeit"}, r"no column 'zeit' \(did you mean 'Zeit'\?\)"),
        ({"time": 3}, "time= is the name of a column"),
        ({"time": None}, r"no column 'time'.* name it by time="),
        ({"trajectory": "Tier"}, "no column 'Tier'"),
        ({"trajectory": None}, "time goes back from 0.5 to 0"),
        ({"rename": {"poss": "x"}}, r"no state 'poss' to rename \(did you mean 'pos'\?\)"),
        ({"rename": {"pos": "speed"}}, "the state name 'speed' occurs twice"),
        ({"rename": "x"}, "rename= is a table of new names"),
        ({"unwrap": "pos"}, "unwrap= is True, False or a list"),
        ({"unwrap": ["angle"]}, "no state 'angle'"),
    ],
)
def test_refused_choices(tmp_path, change, message):
    for source in sources(tmp_path):
        with pytest.raises(DataError, match=message) as caught:
            open_data(source, **CHOICE | change)
        assert len(str(caught.value)) <= 300


def test_variables_of_xarray_are_chosen_too(tmp_path):
    ds = xr.Dataset(
        {
            "pos": (("run", "clock"), np.arange(6.0).reshape(2, 3)),
            "speed": (("run", "clock"), np.ones((2, 3))),
            "label": ("run", ["a", "b"]),
            "spectrum": (("run", "clock", "frequency"), np.ones((2, 3, 4))),
        },
        {"clock": [0.0, 1.0, 2.0], "run": [7, 8]},
    )
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    for source in (ds, tmp_path / "a.nc"):
        opened = open_data(source, states=["speed", "pos"], time="clock", trajectory="run")
        assert list(opened["state"].values) == ["speed", "pos"]
        assert opened["trajectory"].values.tolist() == [7, 8]
        np.testing.assert_array_equal(opened["u"].values[1, :, 1], [3, 4, 5])
        with pytest.raises(DataError, match="variable 'spectrum' has the dims"):
            open_data(source, time="clock", trajectory="run")
        with pytest.raises(DataError, match=r"no variable 'sped' \(did you mean 'speed'\?\)"):
            open_data(source, states=["sped"], time="clock", trajectory="run")
        with pytest.raises(DataError, match=r"no dimension 'time'.* name it by time="):
            open_data(source)


def test_times_in_a_variable_over_another_dim():
    ds = xr.Dataset({"x": ("sample", [1.0, 2.0]), "clock": ("sample", [0.5, 1.5])})
    np.testing.assert_array_equal(open_data(ds, time="clock")["time"].values, [0.5, 1.5])
    own = xr.Dataset(
        {
            "x": (("trajectory", "sample"), np.ones((2, 2))),
            "clock": (("trajectory", "sample"), [[0.0, 1.0], [5.0, 7.0]]),
        }
    )
    np.testing.assert_array_equal(time_matrix(open_data(own, time="clock")), [[0, 1], [5, 7]])


def test_states_of_a_data_set_are_chosen_by_name():
    ds = make_dataset(np.arange(12.0).reshape(1, 3, 4), np.arange(3), list("abcd"), list("klmn"))
    chosen = open_data(ds, states=["d", "a"])
    assert list(chosen["state"].values) == ["d", "a"]
    assert list(chosen["units"].values) == ["n", "k"]
    np.testing.assert_array_equal(chosen["u"].values[0], [[3, 0], [7, 4], [11, 8]])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1.0, 2.0], "v": [3.0, 4.0]}, index=[0.0, 0.5]),
        pd.DataFrame({"x": [1.0, 2.0], "v": [3.0, 4.0]}, index=pd.Index([0.0, 0.5], name="time")),
        pd.DataFrame({"time": [0.0, 0.5], "x": [1, 2], "v": [3, 4]}, index=[5, 9]),
        pd.DataFrame({"time": [0.0, 0.5], "x": pd.array([1, 2], "Int64"), "v": [3, 4]}),
        pd.DataFrame({"x": [1, 2], "v": [3, 4]}, index=pd.to_timedelta([0, 500], unit="ms")),
        pd.DataFrame(
            {"x": [1, 2], "v": [3, 4]}, index=pd.date_range("2020", periods=2, freq="500ms")
        ),
        pd.DataFrame(
            {"time": pd.Categorical([0.0, 0.5]), "x": pd.Categorical([1, 2]), "v": [3, 4]}
        ),
    ],
)
def test_frames(frame):
    ds = open_data(frame)
    assert list(ds["state"].values) == ["x", "v"]
    np.testing.assert_allclose(ds["time"].values, [0, 0.5])
    np.testing.assert_array_equal(ds["u"].values[0], [[1, 3], [2, 4]])


def test_a_frame_with_two_levels_of_index():
    index = pd.MultiIndex.from_product([[3, 4], [0.0, 1.0]], names=["trajectory", "time"])
    ds = open_data(pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}, index=index))
    assert ds["trajectory"].values.tolist() == [3, 4]
    np.testing.assert_array_equal(ds["u"].values[..., 0], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            pd.DataFrame({"time": [0.0, 1.0], "x": [1, "two"]}),
            "row 1, column 'x': 'two' is not a number",
        ),
        (
            pd.DataFrame({"time": [0.0, 1.0], "x": [1j, 2j]}),
            "row 0, column 'x': the values are complex",
        ),
        (pd.DataFrame({"time": [0.0, 1.0], "x": [1j, "a"]}), "stack real and imaginary parts"),
        (pd.DataFrame({"time": [0.0, 0.0], "x": [1, 2]}), r"occurs twice \(rows 0 and 1\)"),
        (
            pd.DataFrame({"time": [0.0, np.nan], "x": [1, 2]}),
            "row 1, column 'time': the time is missing",
        ),
        (pd.DataFrame({"time": [0.0, 1.0]}), "no column with a state"),
        (pd.DataFrame(), "no rows of data"),
        (pd.DataFrame([[0, 1], [1, 2]], columns=["time", "time"]), "'time' occurs twice"),
        (
            pd.DataFrame([[0, 1]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
            "levels",
        ),
        (pd.DataFrame({"time": [0, 1], "x": [[1], [2]]}), r"'\[1\]' is not a number"),
    ],
)
def test_refused_frames(frame, message):
    with pytest.raises(DataError, match=message):
        open_data(frame)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(tmp_path / "a.parquet")
    ds = open_data(tmp_path / "a.parquet", **CHOICE)
    np.testing.assert_array_equal(ds["u"].values[0, :2], [[-1, 1], [-2, 2]])
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        open_data(tmp_path / "b.parquet")


def test_parquet_without_pyarrow_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"pip install 'pnde\[parquet\]'"):
        open_data(tmp_path / "a.parquet")


class TestSeveral:
    """Several files as one data set."""

    @pytest.fixture
    def folder(self, tmp_path):
        for k in (1, 2, 10):
            rows = [f"{t},{k},{t}" for t in range(k, k + 3)]
            (tmp_path / f"run{k}.csv").write_text("\n".join(["time,x,v", *rows]))
        return tmp_path

    def test_a_trajectory_each_in_the_order_of_numbers(self, folder):
        for source in (str(folder / "run*.csv"), [folder / f"run{k}.csv" for k in (1, 2, 10)]):
            ds = open_data(source)
            assert ds["trajectory"].values.tolist() == ["run1", "run2", "run10"]
            np.testing.assert_array_equal(
                time_matrix(ds), np.array([[1], [2], [10]]) + np.arange(3)
            )
            np.testing.assert_array_equal(ds["u"].values[:, 0, 0], [1, 2, 10])

    def test_files_of_every_kind(self, folder):
        save_data(open_data(folder / "run2.csv"), folder / "run2.nc")
        frame = pd.read_csv(folder / "run10.csv")
        ds = open_data([folder / "run1.csv", folder / "run2.nc", frame])
        assert ds.sizes == {"trajectory": 3, "time": 3, "state": 2}
        assert ds["trajectory"].values.tolist() == [0, 1, 2]

    def test_parts_of_one_recording(self, folder):
        ds = open_data([folder / "run2.csv", folder / "run10.csv"], concatenate=True)
        np.testing.assert_array_equal(ds["time"].values, [2, 3, 4, 10, 11, 12])
        np.testing.assert_array_equal(ds["u"].values[0, :, 0], [2, 2, 2, 10, 10, 10])
        with pytest.raises(DataError, match=r"'run2' begins at 2, but 'run1' ends at 3.* in order"):
            open_data([folder / "run1.csv", folder / "run2.csv"], concatenate=True)

    def test_dates_count_from_the_first_of_all(self, tmp_path):
        for name, day in (("a", 3), ("b", 1)):
            (tmp_path / f"{name}.csv").write_text(
                f"time,x\n2020-01-0{day},1\n2020-01-0{day + 1},2\n"
            )
        ds = open_data([tmp_path / "a.csv", tmp_path / "b.csv"])
        np.testing.assert_array_equal(time_matrix(ds) / 86400, [[2, 3], [0, 1]])
        ds = open_data([tmp_path / "b.csv", tmp_path / "a.csv"], concatenate=True)
        np.testing.assert_array_equal(ds["time"].values / 86400, [0, 1, 2, 3])

    def test_labels_and_splits_are_kept(self, tmp_path):
        for name, labels in (("a", "12"), ("b", "34"), ("c", "14")):
            rows = [f"{k},train,{t},{k}" for k in labels for t in range(2)]
            (tmp_path / f"{name}.csv").write_text("\n".join(["run,split,time,x", *rows]))
        ds = open_data([tmp_path / "a.csv", tmp_path / "b.csv"])
        assert ds["trajectory"].values.tolist() == [1, 2, 3, 4]
        assert ds["split"].values.tolist() == ["train"] * 4
        ds = open_data([tmp_path / "a.csv", tmp_path / "c.csv"])
        assert ds["trajectory"].values.tolist() == ["a/1", "a/2", "c/1", "c/4"]

    def test_refused(self, folder):
        (folder / "other.csv").write_text("time,x,w\n0,1,2\n1,2,3\n")
        (folder / "units.csv").write_text("time,x,v\ns,mm,m\n0,1,2\n1,2,3\n")
        (folder / "dates.csv").write_text("time,x,v\n2020-01-01,1,2\n2020-01-02,2,3\n")
        (folder / "split.csv").write_text("split,time,x,v\ntest,0,1,2\ntest,1,2,3\n")
        for name, message in (
            ("other", "'other' has the states x, w, but 'run1' has x, v; choose and rename"),
            ("units", "the unit of 'x' is 'mm' in 'units', but '' in 'run1'"),
            ("dates", "some times are dates and some are numbers"),
            ("split", "one has splits and one has none"),
        ):
            with pytest.raises(DataError, match=message):
                open_data([folder / "run1.csv", folder / f"{name}.csv"])
        with pytest.raises(DataError, match="no file has such a name"):
            open_data(str(folder / "walk*.csv"))
        with pytest.raises(DataError, match="the list of data sets is empty"):
            open_data([])
        with pytest.raises(DataError, match=r"run3.csv: there is no such file"):
            open_data([folder / "run1.csv", folder / "run3.csv"])

    def test_names_that_tell_files_apart(self, tmp_path):
        text = "time,x\n0,1\n1,2\n"
        (tmp_path / "b").mkdir()
        names = ("v1.5.csv", "v1.7.csv", "b/v1.5.csv")
        for name in names:
            (tmp_path / name).write_text(text)
        ds = open_data([tmp_path / name for name in names[:2]])
        assert ds["trajectory"].values.tolist() == ["v1.5", "v1.7"]
        ds = open_data([tmp_path / name for name in names[1:] + names[:1]])
        assert ds["trajectory"].values.tolist()[:2] == [f"{tmp_path.name}/v1.7", "b/v1.5"]
        ds = open_data(tmp_path / "v1*.csv")
        assert ds["trajectory"].values.tolist() == ["v1.5", "v1.7"]
        with pytest.raises(DataError, match=r"v1.5.csv: the file is named twice"):
            open_data([tmp_path / names[0], tmp_path / names[0]])

    def test_a_name_with_brackets_is_a_name(self, tmp_path):
        (tmp_path / "a[1].csv").write_text("time,x\n0,1\n1,2\n")
        assert open_data(str(tmp_path / "a[1].csv")).sizes["time"] == 2
