"""Splitting, segmenting, normalising."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnde.data import Normaliser, cut, make_dataset, segments, select, split_data, time_matrix
from pnde.errors import DataError


def numbered(count=10, length=9, n=2):
    """States that tell where they come from: 100 trajectory + sample."""
    u = 100.0 * np.arange(count)[:, None] + np.arange(length)
    return make_dataset(np.repeat(u[..., None], n, axis=2), 0.1 * np.arange(length))


def test_split_by_count_in_file_order():
    split = split_data(numbered(), 5, 2, 2)["split"].values.tolist()
    assert split == ["train"] * 5 + ["valid"] * 2 + ["test"] * 2 + ["unused"]


def test_split_by_fraction_and_seed():
    ds = numbered()
    assert np.unique(split_data(ds)["split"], return_counts=True)[1].tolist() == [2, 6, 2]
    one, two = split_data(ds, seed=1), split_data(ds, seed=1)
    assert one["split"].values.tolist() == two["split"].values.tolist()
    assert one["split"].values.tolist() != split_data(ds)["split"].values.tolist()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(3, 40),
    st.lists(st.floats(0.01, 1), min_size=3, max_size=3).filter(lambda x: sum(x) > 0),
)
def test_fractions_use_everything_and_starve_nobody(count, weights):
    shares = [weight / sum(weights) for weight in weights]
    names, counts = np.unique(split_data(numbered(count), *shares)["split"], return_counts=True)
    assert names.tolist() == ["test", "train", "valid"]
    assert counts.sum() == count


def test_split_refusals():
    with pytest.raises(DataError, match=r"has 10 trajectories but 11 are needed .8 train, 3 test"):
        split_data(numbered(), 8, 0, 3)
    with pytest.raises(DataError, match="has 2 trajectories but 3 are needed"):
        split_data(numbered(2), 0.5, 0.25, 0.25)
    with pytest.raises(DataError, match=r"sum to 1.2"):
        split_data(numbered(), 0.8, 0.2, 0.2)
    with pytest.raises(DataError, match="give fractions to cut it along time"):
        split_data(numbered(1), 6, 2, 2)
    with pytest.raises(DataError, match=r"call pnde.data.split_data first"):
        select(numbered(), "train")
    with pytest.raises(DataError, match=r"'vald' \(did you mean 'valid'\?\)"):
        select(split_data(numbered()), "vald")


def test_one_long_trajectory_is_cut_along_time():
    ds = split_data(numbered(1, 100))
    assert ds["split"].values.tolist() == ["train", "valid", "test"]
    parts = [select(ds, name)["u"].values[0, :, 0] for name in ("train", "valid", "test")]
    parts = [part[np.isfinite(part)] for part in parts]
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(100.0))
    assert [len(part) for part in parts] == [60, 20, 20]
    assert np.nanmin(time_matrix(select(ds, "test"))) == pytest.approx(8.0)
    with pytest.raises(DataError, match=r"has 9 points, of which the valid share 0.1 gets 1"):
        split_data(numbered(1, 9), 0.8, 0.1, 0.1)


def test_cut():
    ds = cut(numbered(2, 9), 4)
    assert ds["trajectory"].values.tolist() == ["0/0", "0/1", "1/0", "1/1"]
    np.testing.assert_array_equal(ds["u"].values[3, :, 0], [104, 105, 106, 107])
    with pytest.raises(DataError, match="the longest has 9"):
        cut(numbered(), 10)


def test_select_keeps_labels():
    ds = select(split_data(numbered(), 5, 2, 3), "valid", "test")
    assert ds["trajectory"].values.tolist() == [5, 6, 7, 8, 9]


@pytest.mark.parametrize(("points", "expected"), [(9, 2), (251, 62), (1001, 250), (101, 25)])
def test_number_of_segments_is_that_of_the_paper(points, expected):
    cutted = segments(numbered(1, points), 4)
    assert len(cutted) == expected
    np.testing.assert_array_equal(cutted.u[1:, 0], cutted.u[:-1, -1])


def test_segments_go_around_gaps():
    ds = numbered(2, 12)
    ds["u"][0, 5] = np.nan
    cutted = segments(ds, 3)
    assert cutted.trajectory.tolist() == [0, 0, 1, 1, 1]
    assert cutted.start.tolist() == [0, 6, 0, 3, 6]
    assert cutted.u.shape == (5, 4, 2)
    assert cutted.steps == 3
    assert cutted.known is None
    for u, t, row, start in zip(cutted.u, cutted.t, cutted.trajectory, cutted.start, strict=True):
        np.testing.assert_array_equal(u[:, 0], 100 * row + start + np.arange(4))
        np.testing.assert_allclose(t, 0.1 * (start + np.arange(4)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(1, 6))
def test_segments_never_hold_a_gap_and_cover_each_stretch(known, steps):
    u = np.where(known, np.arange(float(len(known))), np.nan)[:, None]
    stretches = "".join("x" if k else " " for k in known).split()
    expected = sum((len(stretch) - 1) // steps for stretch in stretches)
    ds = make_dataset(u, np.arange(len(known)))
    if expected == 0:
        with pytest.raises(DataError, match="no segment"):
            segments(ds, steps)
        return
    cutted = segments(ds, steps)
    assert len(cutted) == expected
    assert np.isfinite(cutted.u).all()
    np.testing.assert_array_equal(np.diff(cutted.u[:, :, 0], axis=1), 1)


def test_segments_share_one_grid_if_all_have_it():
    cutted = segments(numbered(), 4)
    assert cutted.grid.shape == (5,) and cutted.grid[0] == 0
    np.testing.assert_allclose(cutted.grid, 0.1 * np.arange(5), rtol=1e-14)
    np.testing.assert_allclose(cutted.start_time[:2], [0, 0.4])
    epoch = numbered(2, 9)
    late = segments(epoch.assign_coords(time=epoch["time"] + 1.7e9), 4)
    np.testing.assert_allclose(late.grid, 0.1 * np.arange(5), atol=5e-7)
    assert late.start_time.dtype == np.float64
    np.testing.assert_array_equal(late.start_time, 1.7e9 + 0.1 * np.array([0, 4, 0, 4]))
    uneven = segments(epoch.assign_coords(time=epoch["time"] ** 2), 4)
    assert uneven.grid.shape == (4, 5)
    np.testing.assert_array_equal(uneven.grid[:, 0], 0)
    np.testing.assert_allclose(uneven.t[1], (0.1 * np.arange(4, 9)) ** 2)


def test_no_segment_left():
    with pytest.raises(DataError, match=r"needs 10 points without a gap.* has 9"):
        segments(numbered(), 9)
    with pytest.raises(DataError, match="at least 1 step"):
        segments(numbered(), 0)


def test_normaliser_uses_train_and_valid_and_skips_gaps():
    rng = np.random.default_rng(0)
    u = rng.standard_normal((4, 50, 2)) * [3, 1e-6] + [10, 0]
    u[0, 3, 0] = np.nan
    ds = split_data(make_dataset(u, np.arange(50)), 2, 1, 1)
    scale = Normaliser.fit(ds)
    flat = u[:3].reshape(-1, 2)
    np.testing.assert_allclose(scale.mean, np.nanmean(flat, axis=0))
    np.testing.assert_allclose(scale.std, np.nanstd(flat, axis=0, ddof=1))
    np.testing.assert_allclose(scale.restore(scale.normalise(u)), u)


def test_normaliser_leaves_still_states_alone():
    u = np.zeros((2, 50, 4))
    noise = np.random.default_rng(0).standard_normal((2, 50))
    u[..., 0] = noise
    u[..., 1] = 1 + 1e-6 * noise  # stands still, beside its size
    u[..., 2] = 1e-13 * noise  # rounding noise around zero
    scale = Normaliser.fit(make_dataset(u, np.arange(50)))
    assert scale.std[0] == pytest.approx(1, rel=0.2)
    # By their size, or that of the largest state.
    np.testing.assert_allclose(
        scale.std[1:], [1, np.abs(noise).max(), np.abs(noise).max()], rtol=1e-4
    )
    assert scale.speed[0] == pytest.approx(2**0.5, rel=0.2)
    np.testing.assert_array_equal(scale.speed[2:], 0)


@pytest.mark.parametrize("factor", [1e-6, 1e3, 1e9])
def test_scales_do_not_depend_on_units(factor):
    noise = np.random.default_rng(0).standard_normal((2, 50, 2))
    u, times = noise * [1, 1e-3] + [0, 5], np.arange(50)
    one = Normaliser.fit(make_dataset(u, times))
    other = Normaliser.fit(make_dataset(factor * u, times))
    np.testing.assert_allclose(other.std, factor * one.std, rtol=1e-12)
    np.testing.assert_allclose(other.speed, factor * one.speed, rtol=1e-12)
    slow = Normaliser.fit(make_dataset(u, factor * times))
    np.testing.assert_allclose(slow.speed, one.speed / factor, rtol=1e-12)


@pytest.mark.parametrize(("units", "least"), [(("m", "m", "m/s"), 1e-3), (None, 1e-6)])
def test_normaliser_keeps_a_quiet_state_to_the_scale_of_its_unit(units, least):
    noise = np.random.default_rng(0).standard_normal((2, 50, 3))
    ds = make_dataset(noise * [1, 1e-6, 1e-6], np.arange(50), units=units)
    np.testing.assert_allclose(Normaliser.fit(ds).std, [1, least, 1e-6], rtol=0.2)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (("a", 0.2, 0.2), "the train share is 'a'"),
        ((0.6, float("nan"), 0.2), "the valid share is 'nan'"),
        ((0.6, 0.2, True), "the test share is 'True'"),
        ((0.6, 0.2, None), "the test share is 'None'"),
        ((0.6, 0.2, float("inf")), "the test share is 'inf'"),
        ((-1, 1, 1), "the train share is negative"),
        ((0, 0, 0), "all zero"),
        ((0.6, 0.2, 0.2, "x"), "seed is a whole number"),
        ((0.6, 0.2, 0.2, -1), "seed is a whole number"),
    ],
)
def test_shares_that_make_no_sense(shares, message):
    with pytest.raises(DataError, match=message):
        split_data(numbered(), *shares)


def test_splitting_asks_for_a_data_set():
    for call in (lambda: split_data("a.csv"), lambda: select([1], "train"), lambda: cut(None, 3)):
        with pytest.raises(DataError, match=r"make one by pnde\.open_data"):
            call()
    with pytest.raises(DataError, match="name one split at least: train, valid, test"):
        select(split_data(numbered()))
    for points in (1, 2.5, "3"):
        with pytest.raises(DataError, match="a whole number of points, at least 2"):
            cut(numbered(), points)


def test_pieces_keep_what_belongs_to_their_samples():
    dates = np.datetime64("2020-01-01") + np.arange(9) * np.timedelta64(1, "h")
    ds = make_dataset(np.arange(9.0)[:, None], dates)
    ds["w"] = (("trajectory", "time", "input"), np.arange(9.0)[None, :, None] * [1, 10])
    ds = ds.assign_coords(input=["a", "b"])
    ds["parameters"] = (("trajectory", "parameter"), [[7.0]])
    pieces = cut(ds, 4)
    assert pieces["t"].attrs == {"units": "s", "since": "2020-01-01T00:00:00"}
    np.testing.assert_array_equal(time_matrix(pieces)[1], 3600 * np.arange(4, 8))
    np.testing.assert_array_equal(
        pieces["w"].sel(input="b").values, [[0, 10, 20, 30], [40, 50, 60, 70]]
    )
    np.testing.assert_array_equal(pieces["parameters"].values, [[7], [7]])
