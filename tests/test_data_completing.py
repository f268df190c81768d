"""Channels that were sampled at different times."""

import numpy as np
import pytest

from pnde.data import complete, make_dataset, open_data, segments
from pnde.errors import DataError
from pnde.metrics import unrelated_states


def spring(count=3, points=41, step=0.1):
    """x = cos(t + p), v = -sin(t + p)."""
    t = step * np.arange(points)
    phase = t + np.arange(count)[:, None]
    return np.stack([np.cos(phase), -np.sin(phase)], axis=-1), t


def alternating(**size):
    u, t = spring(**size)
    seen = u.copy()
    seen[:, ::2, 0] = np.nan
    seen[:, 1::2, 1] = np.nan
    return make_dataset(seen, t, ["x", "v"]), u


def test_sensors_that_alternate_are_trainable():
    ds, truth = alternating()
    cut = segments(ds, 4)
    # x is first known at the second sample, and nothing is extrapolated.
    assert cut.start[cut.trajectory == 0].tolist() == list(range(1, 36, 4))
    assert np.isfinite(cut.u[:, 0]).all()
    rows, samples = cut.trajectory[:, None], cut.start[:, None] + np.arange(5)
    np.testing.assert_allclose(cut.u[:, 0], truth[rows[:, 0], samples[:, 0]], atol=3e-4)
    assert cut.known.dtype == bool and cut.known.shape == cut.u.shape
    np.testing.assert_array_equal(cut.known, np.isfinite(ds["u"].values[rows, samples]))
    np.testing.assert_array_equal(cut.u[cut.known], truth[rows, samples][cut.known])
    assert np.isnan(cut.u[:, 1:][~cut.known[:, 1:]]).all()


def test_a_slow_channel_is_trainable():
    u, t = spring()
    temperature = np.broadcast_to(290 + t, (3, 41)).copy()
    temperature[:, np.arange(41) % 10 != 0] = np.nan
    cut = segments(make_dataset(np.dstack([u, temperature]), t, ["x", "v", "T"]), 4)
    assert len(cut) == 30
    np.testing.assert_allclose(cut.u[:, 0, 2], 290 + cut.start_time, rtol=1e-12)
    assert cut.known[..., :2].all()
    assert cut.known[..., 2].sum() == 3 * (
        4 + 2
    )  # samples 0, 10, 30, 40 in one segment, and 20 in two


def test_a_file_whose_sensors_alternate_is_read(tmp_path):
    rows = [f"{0.1 * k},,{k}" if k % 2 else f"{0.1 * k},{k}" for k in range(20)]
    (tmp_path / "sensors.csv").write_text("\n".join(["time,x,v", *rows]))
    cut = segments(open_data(tmp_path / "sensors.csv"), 3)
    np.testing.assert_allclose(cut.u[:, 0], 10 * cut.start_time[:, None] * [1, 1])
    assert not cut.known.all()


def test_no_segment_starts_inside_a_gap_of_a_channel():
    u, t = spring(1)
    u[0, 10:25, 0] = np.nan  # the camera was covered; the encoder went on
    cut = segments(make_dataset(u, t), 4)
    assert cut.start.tolist() == [0, 4, 8, 25, 29, 33]
    # The segment that began before the gap still learns from the other channel.
    assert cut.known[2].tolist() == [[True, True]] * 2 + [[False, True]] * 3


def test_single_missing_entries_are_interpolated():
    u, t = spring(1)
    seen = u.copy()
    seen[0, [4, 17], [0, 1]] = np.nan
    full = complete(make_dataset(seen, t))["u"].values
    np.testing.assert_allclose(full, u, atol=1e-5)
    np.testing.assert_array_equal(full[np.isfinite(seen)], u[np.isfinite(seen)])


def test_samples_without_anything_known_stay_gaps():
    u, t = spring(1)
    u[0, 7] = np.nan
    u[0, 9, 0] = np.nan
    full = complete(make_dataset(u, t))["u"].values
    assert np.isnan(full[0, 7]).all() and np.isfinite(np.delete(full[0], 7, axis=0)).all()


@pytest.mark.parametrize("growth", [1.0, 1.3])
def test_steps_may_grow(growth):
    t = np.cumsum(0.01 * growth ** np.arange(40))
    u = np.stack([np.log1p(t), t], axis=-1)[None]
    seen = u.copy()
    seen[0, ::2, 0] = np.nan
    seen[0, 1::2, 1] = np.nan
    full = complete(make_dataset(seen, t))["u"].values
    assert np.isfinite(full[0, 1:-1]).all()
    np.testing.assert_allclose(full[0, 1:-1], u[0, 1:-1], rtol=0.02)


def test_starts_are_put_on_the_manifold():
    ds, _ = alternating()
    asked = []

    def on_circle(u, t, wanted):
        asked.append(wanted)
        assert u.shape == (3, 41, 2) and t.shape == wanted.shape == (3, 41)
        out = u.copy()
        out[wanted] /= np.linalg.norm(out[wanted], axis=-1, keepdims=True)
        return out

    cut = segments(ds, 4, on_circle)
    np.testing.assert_allclose(np.linalg.norm(cut.u[:, 0], axis=-1), 1, rtol=1e-15)
    assert asked[0][:, 1:-1].all() and not asked[0][:, [0, -1]].any()


def test_states_that_are_never_known_together_have_a_scale():
    u = unrelated_states(alternating()[0])
    assert u.shape == (1000, 2) and np.isfinite(u).all()


def test_too_few_entries_of_a_channel_are_refused():
    u, t = spring(1)
    u[0, :, 0] = np.nan
    u[0, [3, 20], 0] = 1.0
    u[0, [*range(5), *range(15, 41)], 1] = np.nan
    with pytest.raises(DataError, match="trajectory 0 has no sample in which all states are known"):
        open_data(make_dataset(u, t))
