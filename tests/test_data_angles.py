"""Angles that jump by a full turn."""

import numpy as np
import pytest

from pnde.data import describe_jumps, make_dataset, unwrap, wrapped
from pnde.errors import DataError

T = np.linspace(0, 6, 121)


def rotation(low=-np.pi, turn=2 * np.pi, unit="", count=4):
    """Angles that turn at a varying rate, once as they are and once wrapped into [low, low + turn)."""
    angle = np.stack([(1 + k) * T + 0.3 * np.sin(3 * T) for k in range(count)]) * turn / (2 * np.pi)
    rate = np.gradient(angle, T, axis=1)
    whole = np.stack([angle, rate], axis=-1)
    jumping = whole.copy()
    jumping[..., 0] = (jumping[..., 0] - low) % turn + low
    units = [unit, f"{unit}/s" if unit else ""]
    return (make_dataset(x, T, ["theta", "omega"], units) for x in (whole, jumping))


@pytest.mark.parametrize("low", [-np.pi, 0.0, -np.pi / 2])
@pytest.mark.parametrize(("unit", "turn"), [("", 1), ("rad", 1), ("deg", 180 / np.pi)])
def test_jumps_are_noticed_and_undone(low, unit, turn):
    whole, jumping = rotation(low * turn, 2 * np.pi * turn, unit)
    count = int((np.abs(np.diff(jumping["u"][..., 0])) > 3 * turn).sum())
    assert count > 4
    assert wrapped(jumping) == {"theta": count}
    assert wrapped(whole) == {}
    for undone in (unwrap(jumping), unwrap(jumping, ["theta"]), unwrap(jumping, "theta")):
        difference = undone["u"].values - whole["u"].values
        turns = difference[..., :1, 0] / (2 * np.pi * turn)
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)
        np.testing.assert_allclose(
            difference[..., 0], difference[..., :1, 0] * np.ones(121), atol=1e-9
        )
        np.testing.assert_array_equal(difference[..., 1], 0)
        assert wrapped(undone) == {}


def test_one_sentence_names_the_first_jump():
    whole, jumping = rotation(count=1)
    sentence = describe_jumps(jumping)
    assert sentence is not None and len(sentence) <= 300
    assert "state 'theta' jumps by a full turn once" in sentence
    first = int(np.argmax(np.abs(np.diff(jumping["u"].values[0, :, 0])) > 3)) + 1
    assert f"trajectory 0 at t = {T[first]:g}" in sentence and "unwrap=['theta']" in sentence
    assert describe_jumps(whole) is None


def test_missing_samples_are_stepped_over():
    whole, jumping = rotation(count=1)
    at = int(np.argmax(np.abs(np.diff(jumping["u"].values[0, :, 0])) > 3))
    jumping["u"][0, at : at + 2, 0] = np.nan
    assert wrapped(jumping) == {"theta": 1}
    undone = unwrap(jumping)["u"].values[0, :, 0]
    assert np.isnan(undone[at : at + 2]).all()
    known = np.isfinite(undone)
    np.testing.assert_allclose(undone[known], whole["u"].values[0, known, 0], atol=1e-9)


@pytest.mark.parametrize(
    "x",
    [
        3.0 * np.sign(np.sin(T + 0.5)),  # a relay
        np.random.default_rng(0).uniform(-3, 3, 121),  # noise
        3 * np.cos(40 * T),  # an oscillation that is sampled coarsely
        100 * np.cos(T),
        (T * 5) % 5 - 2.5,  # a sawtooth of another period
    ],
)
def test_other_states_are_left_alone(x):
    ds = make_dataset(np.stack([x, x], axis=-1)[None], T, ["a", "b"])
    assert wrapped(ds) == {}
    np.testing.assert_array_equal(unwrap(ds)["u"], ds["u"])


def test_lengths_are_no_angles():
    _, jumping = rotation(unit="m")
    assert wrapped(jumping) == {}
    with pytest.raises(DataError, match="'theta' cannot be unwrapped: its unit 'm'"):
        unwrap(jumping, ["theta"])
    with pytest.raises(DataError, match=r"no state 'teta' \(did you mean 'theta'\?\)"):
        unwrap(jumping, ["teta"])
