"""Times: one function everywhere, seconds from dates and durations, numbers as they are."""

import datetime

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from pnde import open_data
from pnde.data import make_dataset, save_data, time_label, time_matrix
from pnde.errors import DataError

SECONDS = 0.1 * np.arange(4)
STAMPS = pd.date_range("2020-01-01", periods=4, freq="100ms")
U = np.arange(8.0).reshape(4, 2)

DATES = {
    "datetime64": STAMPS.to_numpy(),
    "microseconds": STAMPS.to_numpy().astype("datetime64[us]"),
    "index": STAMPS,
    "zone": STAMPS.tz_localize("Europe/Berlin"),
    "series": pd.Series(STAMPS.tz_localize("UTC")),
    "timestamps": list(STAMPS),
    "python": [stamp.to_pydatetime() for stamp in STAMPS],
    "texts": [stamp.isoformat() for stamp in STAMPS],
    "slashes": [stamp.strftime("%Y/%m/%d %H:%M:%S.%f") for stamp in STAMPS],
    "zulu": [stamp.isoformat() + "Z" for stamp in STAMPS],
}
DURATIONS = {
    "timedelta64": np.arange(0, 400, 100).astype("timedelta64[ms]"),
    "index": pd.to_timedelta(SECONDS, unit="s"),
    "python": [datetime.timedelta(milliseconds=100 * k) for k in range(4)],
    "texts": [f"00:00:00.{k}" for k in range(4)],
    "commas": [f"0:00:00,{k}00" for k in range(4)],
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_become_seconds_since_the_first(kind):
    ds = make_dataset(U, DATES[kind])
    np.testing.assert_allclose(ds["time"].values, SECONDS, atol=1e-15)
    assert time_label(ds) == "s"
    hour = "2019-12-31T23" if kind == "zone" else "2020-01-01T00"
    assert ds["time"].attrs["since"] == f"{hour}:00:00"


@pytest.mark.parametrize("kind", DURATIONS)
def test_durations_become_seconds(kind):
    ds = make_dataset(U, DURATIONS[kind])
    np.testing.assert_allclose(ds["time"].values, SECONDS, atol=1e-15)
    assert time_label(ds) == "s"
    assert "since" not in ds["time"].attrs


@pytest.mark.parametrize("times", [STAMPS.to_numpy(), DURATIONS["timedelta64"]])
def test_every_kind_of_file_gives_the_same_seconds(tmp_path, times):
    frame = pd.DataFrame({"time": times, "x": U[:, 0], "v": U[:, 1]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.savez(tmp_path / "a.npz", u=U, t=times)
    ds = xr.Dataset({"x": ("time", U[:, 0]), "v": ("time", U[:, 1])}, {"time": times})
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    ds.astype(np.float32).to_netcdf(tmp_path / "b.nc", engine="scipy")
    sources = [tmp_path / name for name in ("a.csv", "a.npz", "a.nc", "b.nc")]
    for source in [*sources, ds, frame, frame.set_index("time")]:
        opened = open_data(source)
        np.testing.assert_allclose(opened["time"].values, SECONDS, atol=1e-9)
        assert time_label(opened) == "s"
        # What pnde has written itself is what was opened.
        for name in ("again.nc", "again.npz"):
            again = open_data(save_data(opened, tmp_path / name))
            np.testing.assert_array_equal(again["time"].values, opened["time"].values)
            assert time_label(again) == "s"


@pytest.mark.parametrize("resolution", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_every_resolution(resolution):
    start = np.datetime64("2020-01-01", resolution)
    times = start + np.arange(3)
    exact = (times.astype("datetime64[s]") - times[0].astype("datetime64[s]")).astype(float)
    if resolution in ("ms", "us", "ns"):
        exact = np.arange(3) * {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[resolution]
    np.testing.assert_allclose(make_dataset(U[:3], times)["time"].values, exact, rtol=1e-15)


def test_trajectories_share_one_clock(tmp_path):
    early = np.array(["2020-01-01", "2020-01-02"], "datetime64[s]")
    late = np.array(["2020-01-01T12:00:00", "2020-01-03"], "datetime64[ns]")
    right = [[0, 86400], [43200, 2 * 86400]]
    np.testing.assert_array_equal(time_matrix(make_dataset([U[:2], U[2:]], [early, late])), right)
    rows = [f"{k},{t},{t.astype(int)}" for k, own in enumerate((early, late)) for t in own]
    (tmp_path / "a.csv").write_text("\n".join(["run,time,x", *rows]))
    np.testing.assert_array_equal(time_matrix(open_data(tmp_path / "a.csv")), right)


@pytest.mark.parametrize(
    ("unit", "factor", "label"),
    [
        ("hours since 2020-01-01 00:00:00", 3600.0, "s"),
        ("days since 1850-01-01", 86400.0, "s"),
        ("milliseconds since 2020-01-01T00:00:00Z", 1e-3, "s"),
        ("h", 1.0, "h"),
        ("hours", 1.0, "hours"),
        ("", 1.0, ""),
    ],
)
def test_numbers_keep_their_unit_unless_they_count_from_a_date(tmp_path, unit, factor, label):
    ds = xr.Dataset({"x": ("time", U[:, 0])}, {"time": ("time", np.arange(4.0), {"units": unit})})
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    for source in (ds, tmp_path / "a.nc"):
        opened = open_data(source)
        np.testing.assert_allclose(opened["time"].values, factor * np.arange(4), rtol=1e-15)
        assert time_label(opened) == label


def test_dates_of_other_calendars_are_told_by_their_unit(tmp_path):
    attributes = {"units": "days since 2020-02-28", "calendar": "360_day"}
    ds = xr.Dataset({"x": ("time", U[:, 0])}, {"time": ("time", np.arange(4.0), attributes)})
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    np.testing.assert_array_equal(open_data(tmp_path / "a.nc")["time"].values, 86400 * np.arange(4))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2020-01-01", "2020-01-02", 3, 4], "date|time"),
        ([1j, 2, 3, 4], "complex"),
        ([True, False, True, False], "true or false"),
        (["now", "a", "b", "c"], "'now' is no time; write a number, a date such as"),
        (["2020-01-01T00:00:00Z", "2020-01-01T00:00:01"] * 2, "some have none"),
        ([[0], [1, 2], [3], [4]], "differ in length"),
        ([object()] * 4, "of type object"),
        (["12:30", "12:31", "12:32", "12:33"], "'12:30' is no time"),
        (
            np.array(["2020-01-01", "NaT", "2020-01-03", "2020-01-04"], "datetime64[s]"),
            "no time at sample 1",
        ),
        (np.array([0, 1, np.inf, 3]), "sample 2 is infinite"),
    ],
)
def test_what_is_no_time(times, message):
    with pytest.raises(DataError, match=message):
        make_dataset(U, times)


def test_months_have_no_fixed_length():
    attributes = {"units": "months since 2020-01-01"}
    ds = xr.Dataset({"x": ("time", U[:, 0])}, {"time": ("time", np.arange(4.0), attributes)})
    with pytest.raises(DataError, match="'months' has no fixed length in seconds"):
        open_data(ds)


def test_a_label_that_contradicts_dates_is_refused():
    with pytest.raises(DataError, match="become seconds, but time_units is 'h'"):
        make_dataset(U, STAMPS, time_units="h")
    assert time_label(make_dataset(U, STAMPS, time_units="s")) == "s"
    assert time_label(make_dataset(U, SECONDS, time_units="h")) == "h"


def test_states_are_no_times(tmp_path):
    with pytest.raises(DataError, match="u holds dates"):
        make_dataset(STAMPS.to_numpy()[:, None], SECONDS)
    frame = pd.DataFrame({"time": SECONDS, "x": STAMPS})
    with pytest.raises(DataError, match="column 'x' holds dates"):
        open_data(frame)
    # A state in hours is a number in hours, not a duration.
    ds = xr.Dataset({"x": ("time", U[:, 0], {"units": "hours"})}, {"time": SECONDS})
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    np.testing.assert_array_equal(open_data(tmp_path / "a.nc")["u"].values[0, :, 0], U[:, 0])
