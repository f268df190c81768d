"""The julia engine on a card, from training to forecast: on JLArrays, which no loop may touch number by number."""

import jax.numpy as jnp
import numpy as np
import pytest
from live import SETTINGS, live
from parity import METHODS, SYSTEMS

import pnde
from pnde.config import Config
from pnde.engines import get
from pnde.engines.julia.session import julia
from pnde.errors import ConfigError
from pnde.files import julia_package

EXACT = {
    "solver": {"precision": "float64", "rtol": 1e-9, "atol": 1e-9, "max_steps": 1000},
    "rollout": {"rtol": 1e-10, "atol": 1e-10},
}


@pytest.fixture(scope="module")
def card():
    with julia() as jl:
        from juliacall import Main

        if Main.seval('Base.find_package("JLArrays") === nothing'):
            pytest.skip("JLArrays is not in the Julia project of this engine")
        Main.include(str(julia_package() / "test" / "card_arrays.jl"))
        yield
        Main.seval("PNDE.CARD[] = nothing")
        assert not jl.find_card()


def trained(data, law=None, **settings):
    """The same training and forecast on the host and on the card."""
    for device in ("cpu", "gpu"):
        options = SETTINGS | {"epochs": 2, "width": 8} | EXACT | {"device": device} | settings
        run = pnde.train(data, law, engine="julia", progress=False, **options)
        yield run, run.rollout(t_end=float(data["time"][4]))


def same(here, there):
    np.testing.assert_allclose(there[0].history["loss"], here[0].history["loss"], rtol=1e-8)
    for name, value in here[0].weights.items():
        np.testing.assert_allclose(there[0].weights[name], value, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(there[1]["u"], here[1]["u"], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(there[1]["status"], here[1]["status"])


@pytest.mark.julia
@pytest.mark.slow
@live
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("method", METHODS)
def test_from_training_to_forecast(card, name, method):
    dt = 0.01 if name.startswith("pendulum") else 0.1
    data = SYSTEMS[name].simulate(trajectories=4, t_end=8 * dt, dt=dt, seed=1)
    same(*trained(pnde.split_data(data, 2, 1, 1), method=method))


@pytest.mark.julia
@live
def test_laws_metrics_and_physics_that_are_traced(card):
    law = pnde.Conserved(lambda u: u[2] ** 2 / 2 + u[3] ** 2 / 2 + (u[:2] @ u[:2]) ** 2 / 4)
    data = SYSTEMS["quartic"].simulate(trajectories=4, t_end=0.8, dt=0.1, seed=1)
    options = {"metric": lambda u: 1 + u**2, "physics": lambda u: jnp.concatenate([u[2:], -u[:2]])}
    same(*trained(pnde.split_data(data, 2, 1, 1), law, **options))


@pytest.mark.julia
@live
def test_what_is_for_the_host_alone_is_said(card):
    engine = get("julia")
    assert "JLArray" in engine.status()["card"]
    engine.check(Config.make(device="gpu"))
    for solver in ("tsit5", "kvaerno5"):
        config = Config.make(device="gpu", **{"rollout.solver": solver})
        if solver == "tsit5":
            engine.check(config)
        else:
            with pytest.raises(ConfigError, match=r'rollout.solver = "kvaerno5" is for the CPU'):
                engine.check(config)
