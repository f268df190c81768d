"""What is learned does not depend on the units of states and times."""

import numpy as np
import pytest

import pnde
from pnde.data import make_dataset
from pnde.errors import ConstraintError, DataError

SETTINGS = {"layers": 1, "width": 8, "epochs": 5, "learning_rate": 1e-2, "progress": False}


def springs(length, second):
    """Springs with ω = 2 / s, in units of which a metre is `length` and a second `second`; and their energy."""
    times = np.linspace(0, 3, 31)
    phase, amplitude = np.linspace(0, 3, 6)[:, None], np.linspace(0.5, 1.5, 6)[:, None]
    x = amplitude * np.cos(2 * times + phase)
    v = -2 * amplitude * np.sin(2 * times + phase)
    data = make_dataset(np.stack([x * length, v * length / second], -1), times * second, ["x", "v"])

    def energy(u):
        return 0.5 * u[1] ** 2 + 0.5 * (2 / second) ** 2 * u[0] ** 2

    return data, energy


@pytest.fixture(scope="module")
def in_metres_and_seconds():
    return pnde.train(*springs(1, 1), **SETTINGS).history["valid_loss"]


@pytest.mark.parametrize(("length", "second"), [(1, 1e3), (1e-12, 1 / 3600)])
def test_losses_do_not_depend_on_units(in_metres_and_seconds, length, second):
    losses = pnde.train(*springs(length, second), **SETTINGS).history["valid_loss"]
    np.testing.assert_allclose(losses, in_metres_and_seconds, rtol=1e-3)
    assert losses.iloc[-1] < losses.iloc[0]


@pytest.mark.parametrize("length", [1e-30, 1e30])
def test_a_law_beyond_the_precision_is_told(length):
    with pytest.raises(
        ConstraintError, match="squared, is beyond the range of float32: give states"
    ):
        pnde.train(*springs(length, 1), **SETTINGS)


@pytest.mark.parametrize("length", [1e-40, 1e39])
def test_states_beyond_the_precision_are_told(length):
    data, _ = springs(length, 1)
    with pytest.raises(
        DataError, match=r"state 'x' has values up to .* beyond the range of float32"
    ):
        pnde.train(data, method="nde", **SETTINGS)
