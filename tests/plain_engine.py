"""An engine of a few lines of NumPy, for tests of what surrounds one: folders, records, locks, kills.

Its training is deterministic and depends on all that a checkpoint holds, so that a run which is resumed from less ends
with other weights. It is no stand-in for the real engines' numbers.
"""

import math

import numpy as np

from pnde.engines import Status, Step, Trajectories
from pnde.laws import Instant


class PlainTraining:
    def __init__(self, model, train, valid, weights, state):
        self._train, self._valid = train, valid
        self._weights = {name: array.copy() for name, array in weights.items()}
        self._momentum = np.array(0.0) if state is None else state["momentum"].copy()

    def step(self, index, rate):
        batch = self._train[index]
        pull = _sum(batch.u) / batch.u.size + 0.1 * index
        self._momentum = 0.9 * self._momentum + pull
        for name, array in self._weights.items():
            self._weights[name] = array - rate * np.tanh(self._momentum + array)
        return Step(self._loss(batch), abs(pull), 2.0, Status.OK)

    def loss(self, index):
        return Step(self._loss(self._valid[index]), 0.0, 2.0, Status.OK)

    def weights(self):
        return {name: array.copy() for name, array in self._weights.items()}

    def state(self):
        return {"momentum": np.array(self._momentum)}

    def _loss(self, batch):
        size = math.fsum(_sum(array**2) for array in self._weights.values())
        return size / (1 + _sum(batch.share[:, None, None] * batch.u**2) / batch.u[0].size)


def _sum(array):
    """Rounded once, so that neither the order of the weights nor where an array lies in memory changes a bit."""
    return math.fsum(np.ravel(array).tolist())


class PlainMembers:
    def __init__(self, each):
        self._each = each

    def step(self, indices, rate):
        pairs = zip(self._each, indices, strict=True)
        return [one.step(index, rate) for one, index in pairs]

    def loss(self, index):
        return [one.loss(index) for one in self._each]

    def weights(self):
        return [one.weights() for one in self._each]

    def states(self):
        return [one.state() for one in self._each]


class PlainEngine:
    name = "jax"

    def status(self):
        return {"numpy": np.__version__}

    def check(self, config):
        pass

    def law(self, constraint, u, at):
        return np.stack(
            [np.ravel(constraint.value(x, Instant(s))) for x, s in zip(u, at.t, strict=True)]
        )

    def rollout(self, model, weights, u0, times, c, settings, conditions):
        size = sum(float(array.sum()) for array in weights.values())
        metric = 1.0 if not callable(model.metric) else float(np.sum(model.metric(u0[0])))
        u = u0[:, None] * (1 + 1e-3 * metric * np.tanh(size) * (times - times[:, :1]))[..., None]
        zero = np.zeros(len(u0), int)
        return Trajectories(u, zero.astype(np.int8), zero, zero)

    def start(self, model, train, valid, weights, state=None):
        return PlainTraining(model, train, valid, weights, state)

    def start_members(self, model, train, valid, weights, states):
        each = zip(train, weights, states, strict=True)
        return PlainMembers([PlainTraining(model, own, valid, w, s) for own, w, s in each])

    def retract(self, constraint, metric, u, at, c, bounds=None):
        return u, np.ones(len(u), bool)
