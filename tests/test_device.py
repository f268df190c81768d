"""The setting `device`: one for both engines."""

import jax
import numpy as np
import pytest
from parity import SYSTEMS, model_of, weights_of

import pnde
from pnde.config import SolverConfig
from pnde.engines import get
from pnde.engines.jax.devices import on_device_of
from pnde.errors import ConfigError

A_CARD = any(device.platform == "gpu" for device in jax.devices())


@pytest.mark.skipif(A_CARD, reason="there is a GPU here")
def test_a_card_that_is_not_there_is_refused_before_training(orbits):
    with pytest.raises(ConfigError, match=r'device = "gpu", but JAX finds none.*device = "auto"'):
        pnde.train(orbits, device="gpu", progress=False)


def test_the_device_is_where_arrays_are_made():
    cpu = jax.devices("cpu")[0]
    with on_device_of("cpu"):
        assert jax.config.jax_default_device == cpu
    with jax.default_device(cpu), on_device_of("auto"):  # the caller's own choice stays
        assert jax.config.jax_default_device == cpu


@pytest.mark.skipif(A_CARD, reason="there is a GPU here")
def test_what_a_card_trained_is_forecast_without_one():
    system = SYSTEMS["lotka-volterra"]
    model, there = model_of(system, "nde"), model_of(system, "nde")
    there.config.__dict__["device"] = "gpu"
    u0, times = np.ones((1, 2)), np.linspace(0, 0.1, 2)
    outs = [
        get("jax").rollout(m, weights_of(m), u0, times, np.zeros((1, 1)), SolverConfig())
        for m in (model, there)
    ]
    np.testing.assert_array_equal(outs[0].u, outs[1].u)
