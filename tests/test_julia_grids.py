"""Large grids in the julia engine: sparse there, along the branches here, and the same numbers."""

import numpy as np
import pytest
from live import SETTINGS, batch_of, both, live
from parity import close, flat, model_of, weights_of

import pnde
from pnde.engines import get
from pnde.grids import Grid
from pnde.laws import Instant
from pnde.systems import PowerGrid

BUSES = 300


@pytest.fixture(scope="module")
def system():
    """A ring of buses with chords; every fourth one is a source."""
    rng = np.random.default_rng(4)
    rows = [
        {"number": 1, "kind": "slack", "voltage": 1.0},
        *(
            {"number": k, "kind": "source", "voltage": 1.0, "active": 0.03, "reactive": 0.01}
            if k % 4 == 1
            else {"number": k, "kind": "load", "active": -0.01, "reactive": -0.003}
            for k in range(2, BUSES + 1)
        ),
    ]
    ends = [(k, k % BUSES + 1) for k in range(1, BUSES + 1)]
    ends += [(k, (k + BUSES // 3 - 1) % BUSES + 1) for k in range(1, BUSES + 1, 5)]
    admittances = rng.uniform(1, 2, len(ends)) - 1j * rng.uniform(5, 15, len(ends))
    branches = [
        {"start": i, "end": j, "admittance": y} for (i, j), y in zip(ends, admittances, strict=True)
    ]
    return PowerGrid(Grid.from_tables(rows, branches))


def states(system, count, spread=0.01):
    rest = system.operation_point
    return rest + spread * np.random.default_rng(5).normal(size=(count, len(rest)))


@pytest.mark.julia
@live
class TestLargeGrids:
    def test_velocities_are_those_of_the_embedded_engine(self, system):
        u, at = states(system, 3), Instant(np.zeros(3))
        law = system.constraint.bind(system.states)
        values = [run(law, u, at) for run in both("law")]
        close(*values, 1e-12)
        for projection in ("cholesky", "qr"):
            model = model_of(system, "pnde", projection=projection)
            weights = weights_of(model)
            close(*(run(model, weights, u, at, values[1]) for run in both("velocity")), 1e-10)

    def test_retractions_are_those_of_the_embedded_engine(self, system):
        law = system.constraint.bind(system.states)
        at, target = Instant(np.zeros(3)), np.tile(law.target, (3, 1))
        metric = np.linspace(0.5, 2, 2 * BUSES)
        for M in (None, metric):
            ours, theirs = (run(law, M, states(system, 3), at, target) for run in both("retract"))
            close(ours[0], theirs[0], 1e-10)
            assert ours[1].all() and theirs[1].all()

    def test_losses_and_gradients_are_those_of_the_embedded_engine(self, system):
        points = states(system, 6, 0.002).reshape(2, 3, -1)
        c = get("jax").law(system.constraint, points[:, 0], Instant(np.zeros(2)))
        model = model_of(system, "pnde", step=0.05)
        results = (
            run(model, weights_of(model), batch_of(points, 0.05, c))
            for run in both("loss_and_gradient")
        )
        (loss, gradient), (expected_loss, expected) = results
        close(loss, expected_loss, 1e-10)
        close(flat(gradient), flat(expected), 1e-8)

    @pytest.mark.slow
    def test_training_and_forecast(self, system):
        data = pnde.split_data(system.simulate(trajectories=3, t_end=0.6, dt=0.1, seed=3), 1, 1, 1)
        settings = SETTINGS | {"epochs": 1, "batch_size": 4}
        run = pnde.train(data, engine="julia", progress=False, **settings)
        forecast = run.rollout()
        assert float(forecast["constraint_error"].max()) < 1e-12
        assert not forecast["status"].any()
