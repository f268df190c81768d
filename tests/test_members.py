"""A step of several models is the step of each."""

from dataclasses import replace

import numpy as np
import pytest

import pnde
from pnde.config import Config
from pnde.engines import get
from pnde.engines.jax import members
from pnde.engines.julia.engine import JuliaEngine
from pnde.errors import ConfigError
from pnde.models import initial_weights
from pnde.training import batches_of


@pytest.mark.parametrize("at_once", [True, False])
def test_members_are_trained_as_each_by_itself(data, make_model, monkeypatch, at_once):
    monkeypatch.setattr(members, "_at_once", lambda: at_once)
    # With five steps of the solver there is no room for them at first, and a step has to be done again.
    count = 5 if at_once else 3
    length = float(data["time"][4] - data["time"][0])
    settings = {
        "solver.precision": "float64",
        "solver.step": length / (count - 0.5),
        "batch_size": 8,
    }
    model = make_model(pnde.systems.lotka_volterra(), "nde", **settings)
    engine = get("jax")
    models = [replace(model, config=Config.make(model.config, seed=seed)) for seed in (1, 2)]
    batches = [batches_of(engine, each, data) for each in models]
    weights = [initial_weights(each, each.config.seed) for each in models]
    valid = batches[0].valid
    together = engine.start_members(
        model, [own.train for own in batches], valid, weights, [None, None]
    )
    alone = [
        engine.start(model, own.train, valid, w) for own, w in zip(batches, weights, strict=True)
    ]
    for indices in ([0, 1], [1, 0], [1, 1]):
        steps = together.step(indices, 1e-2)
        for step, one, index in zip(steps, alone, indices, strict=True):
            own = one.step(index, 1e-2)
            assert step.solver_steps == own.solver_steps == count
            assert step.loss == pytest.approx(own.loss, rel=1e-12)
    for step, one in zip(together.loss(0), alone, strict=True):
        assert step.loss == pytest.approx(one.loss(0).loss, rel=1e-12)
    for found, state, one in zip(together.weights(), together.states(), alone, strict=True):
        for name, array in one.weights().items():
            np.testing.assert_allclose(found[name], array, rtol=1e-10, atol=1e-13)
        assert state.keys() == one.state().keys()
        assert int(state["count"]) == 3


def test_the_julia_engine_refuses_members(monkeypatch):
    with pytest.raises(ConfigError, match=r'one model at a time: use engine="jax" for members'):
        JuliaEngine().check(Config.make(members=2))
