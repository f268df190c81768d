"""Channels that are sampled at different times."""

import numpy as np
import pytest
import xarray as xr

from pnde import open_data
from pnde.data import time_label
from pnde.errors import DataError


def test_each_channel_over_times_of_its_own(tmp_path):
    slow, fast = np.array([0.0, 0.3, 0.6, 0.9]), 0.1 * np.arange(10)
    ds = xr.Dataset(
        {"T": ("time_T", slow + 5, {"units": "K"}), "x": ("time_x", np.cos(fast)), "mass": 2.0},
        {"time_T": slow, "time_x": fast},
    )
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    for source in (ds, tmp_path / "a.nc"):
        opened = open_data(source)
        assert list(opened["state"].values) == ["T", "x"]
        assert list(opened["units"].values) == ["K", ""]
        # 3 * 0.1 and 0.3 are one time.
        np.testing.assert_allclose(opened["time"].values, fast)
        np.testing.assert_array_equal(opened["u"].values[0, :, 1], np.cos(fast))
        np.testing.assert_array_equal(
            np.flatnonzero(np.isfinite(opened["u"].values[0, :, 0])), [0, 3, 6, 9]
        )
        np.testing.assert_array_equal(opened["u"].values[0, ::3, 0], slow + 5)


def test_beside_the_common_times_and_for_each_trajectory():
    ds = xr.Dataset(
        {
            "x": (("trajectory", "time"), np.arange(8.0).reshape(2, 4)),
            "v": (("time_v", "trajectory"), [[10.0, 20.0], [11.0, 21.0], [12.0, 22.0]]),
        },
        {"time": [0.0, 1.0, 2.0, 3.0], "time_v": [0.0, 1.5, 3.0], "trajectory": [5, 6]},
    )
    opened = open_data(ds)
    np.testing.assert_array_equal(opened["time"].values, [0, 1, 1.5, 2, 3])
    nan = np.nan
    np.testing.assert_array_equal(opened["u"].values[1, :, 0], [4, 5, nan, 6, 7])
    np.testing.assert_array_equal(opened["u"].values[1, :, 1], [20, nan, 21, nan, 22])
    assert opened["trajectory"].values.tolist() == [5, 6]


def test_dates_of_channels_are_on_one_clock():
    hour = np.timedelta64(1, "h")
    start = np.datetime64("2020-01-01T00", "ns")
    ds = xr.Dataset(
        {"x": ("time_x", [1.0, 2.0, 3.0, 4.0]), "v": ("time_v", [5.0, 6.0, 7.0, 8.0])},
        {"time_x": start + hour * np.arange(4), "time_v": start + hour * np.arange(1, 5)},
    )
    opened = open_data(ds)
    np.testing.assert_array_equal(opened["time"].values, 3600 * np.arange(5))
    assert time_label(opened) == "s"
    np.testing.assert_array_equal(opened["u"].values[0, :, 1], [np.nan, 5, 6, 7, 8])
    numbers = ds.assign_coords(time_v=[0.0, 1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="some times are dates and some are numbers"):
        open_data(numbers)


def test_a_signal_over_time_alone_belongs_to_all_trajectories():
    ds = xr.Dataset(
        {"x": (("trajectory", "time"), np.ones((2, 3))), "F": ("time", [1.0, 2.0, 3.0])},
        {"time": [0.0, 1.0, 2.0]},
    )
    opened = open_data(ds)
    assert list(opened["state"].values) == ["x", "F"]
    np.testing.assert_array_equal(opened["u"].values[:, :, 1], [[1, 2, 3], [1, 2, 3]])


def test_times_of_a_channel_that_go_back_are_refused():
    ds = xr.Dataset(
        {"x": ("time_x", np.ones(3)), "v": ("time", np.ones(3))},
        {"time_x": [0.0, 2.0, 1.0], "time": [0.0, 1.0, 2.0]},
    )
    with pytest.raises(DataError, match="time_x: time goes back from 2 to 1"):
        open_data(ds)


def test_wide_columns_whose_times_differ_by_rounding(tmp_path):
    (tmp_path / "a.csv").write_text("x@0,x@0.3,y@0,y@0.30000000000000004\n1,2,3,4\n")
    ds = open_data(tmp_path / "a.csv")
    np.testing.assert_array_equal(ds["u"].values, [[[1, 3], [2, 4]]])
