"""What the tests of the julia engine share: whether it is there, and the same segments for both engines."""

import numpy as np
import pytest
from parity import wave

from pnde.engines import Batch, get
from pnde.engines.julia import environment
from pnde.laws import Instant

SETTINGS = {"epochs": 3, "width": 16, "batch_size": 64, "learning_rate": 1e-2}
TIGHT = {"rollout.rtol": 1e-9, "rollout.atol": 1e-9}

live = pytest.mark.skipif(
    not environment.is_set_up(),
    reason="no Julia with the package PNDE: pip install 'pnde[julia]', pnde setup julia",
)


def both(method):
    return (getattr(get(name), method) for name in ("julia", "jax"))


def states_of(system, count=3):
    """States near which the law is regular."""
    rng = np.random.default_rng(5)
    if system.name == "lotka-volterra":
        return rng.uniform(0.8, 2.5, (count, 2))
    return system.initial(rng, count, "paper")


def segments_of(system, dt):
    u = states_of(system)
    points = u[:, None] + 0.05 * np.arange(5)[:, None] * wave(len(u), 5, u.shape[1])
    law = system.constraint.bind(system.states)
    c = get("jax").law(law, u, Instant(np.zeros(len(u))))
    return batch_of(points, dt, c)


def batch_of(points, dt, c, known=None):
    """Segments that share their times and have one weight."""
    count = len(points)
    grid = dt * np.arange(points.shape[1])
    return Batch(points, np.zeros(count), grid, c, np.full(count, 1 / count), known)


class SimpleSystem:
    """A system with another law, which may know the states by other names, for `model_of`."""

    def __init__(self, system, law):
        self.states, self.order, self.constraint = law.states or system.states, system.order, law
        self.name, self.inputs, self.family = system.name, (), ()
