"""Small files as users of other tools have them, each read as it is meant."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from pnde import open_data
from pnde.data import time_label, time_matrix

CASES = Path(__file__).parent / "cases"
# x = cos t and v = -sin t, with four digits.
TIMES = 0.1 * np.arange(12)
SPRING = np.round(np.stack([np.cos(TIMES[:11]), -np.sin(TIMES[:11])], axis=-1), 4)


def spring(name, states=("x", "v")):
    """A case that holds the spring, opened; its last row is looked at by the caller."""
    ds = open_data(CASES / name)
    assert list(ds["state"].values) == list(states)
    np.testing.assert_allclose(time_matrix(ds)[0, :11], TIMES[:11], atol=1e-12)
    np.testing.assert_allclose(ds["u"].values[0, :11], SPRING, atol=1.1e-4)
    return ds


def test_dates_in_text_are_seconds():
    ds = open_data(CASES / "dates.csv")
    np.testing.assert_array_equal(ds["time"].values, [0, 1, 2])
    assert time_label(ds) == "s"
    assert ds["time"].attrs["since"] == "2020-01-01T00:00:00"
    np.testing.assert_array_equal(ds["u"].values[0], [[1, 0], [0.9, 0.1], [0.8, 0.2]])


@pytest.mark.parametrize(("name", "step"), [("dates.nc", 3600.0), ("durations.nc", 0.25)])
def test_a_file_and_what_xarray_makes_of_it_agree(name, step):
    ds = open_data(CASES / name)
    np.testing.assert_array_equal(ds["time"].values, step * np.arange(5))
    assert time_label(ds) == "s"
    with xr.open_dataset(CASES / name, engine="h5netcdf") as opened:
        xr.testing.assert_identical(open_data(opened), ds)
    with xr.open_dataset(CASES / name, engine="h5netcdf", decode_times=False) as raw:
        xr.testing.assert_identical(open_data(raw), ds)


def test_index_column_is_left_out_with_a_note(caplog):
    ds = spring("to-csv-index.csv")
    assert ds.sizes["time"] == 61
    assert "counts the rows" in caplog.text


@pytest.mark.parametrize(
    "name",
    [
        *("decimal-comma-semicolon.csv", "hash-header.csv", "trailing-separator.csv"),
        *("units-row.csv", "plain.csv.gz"),
    ],
)
def test_one_spring_in_many_forms(name, caplog):
    ds = spring(name)
    assert ds.sizes == {"trajectory": 1, "time": 12, "state": 2}
    units = ["m", "m/s"] if name == "units-row.csv" else ["", ""]
    assert list(ds["units"].values) == units
    assert time_label(ds) == ("s" if name == "units-row.csv" else "")
    assert not caplog.text


def test_run_column_names_the_trajectories():
    ds = spring("run-column.csv")
    assert ds["trajectory"].values.tolist() == [1, 2]
    assert ds.sizes == {"trajectory": 2, "time": 12, "state": 2}


def test_channels_that_alternate_are_both_states():
    ds = open_data(CASES / "alternating-sensors.csv")
    assert list(ds["state"].values) == ["x", "v"]
    known = np.isfinite(ds["u"].values[0])
    assert known.shape == (200, 2)
    np.testing.assert_array_equal(known, [[False, True], [True, False]] * 100)
    np.testing.assert_allclose(ds["u"].values[0, 1::2, 0], np.cos(ds["time"].values[1::2]))


def test_a_slow_channel_is_a_state():
    ds = open_data(CASES / "slow-channel.csv")
    assert list(ds["state"].values) == ["x", "v", "T"]
    temperature = ds["u"].values[0, :, 2]
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(temperature)), np.arange(0, 200, 10))
    assert np.isfinite(ds["u"].values[0, :, :2]).all()


def test_matlab_file():
    ds = open_data(CASES / "plain.mat")
    assert list(ds["state"].values) == ["x1", "x2"]
    np.testing.assert_array_equal(ds["time"].values, np.arange(5))
    assert ds["u"].values[0, 0].tolist() == pytest.approx([0.85030978, 0.76960601])
    assert ds["u"].values[0, 4].tolist() == pytest.approx([0.58474899, 0.1852136])
