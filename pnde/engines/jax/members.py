"""Models that are trained together: one program does a step of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pnde.engines import Batch, Status, Step
from pnde.engines.jax import fields
from pnde.engines.jax.batches import split_segments
from pnde.engines.jax.devices import on_device_of
from pnde.engines.jax.numerics import numerics
from pnde.engines.jax.optimiser import saved
from pnde.engines.jax.programs import of_model
from pnde.engines.jax.sharding import on_each
from pnde.engines.jax.slots import Slots
from pnde.engines.jax.solve import is_explicit
from pnde.engines.jax.training import (
    JaxTraining,
    can_guard,
    one_step,
    valid_loss,
)
from pnde.errors import ConfigError
from pnde.models import Model, Weights


class JaxMembers:
    """Models of one kind in training, each on batches of its own; see `pnde.engines.MembersTraining`.

    Their weights and optimisers are stacked, and the step of one is mapped over them (`jax.vmap`).
    """

    def __init__(
        self,
        model: Model,
        train: Sequence[Sequence[Batch]],
        valid: Sequence[Batch],
        weights: Sequence[Weights],
        states: Sequence[Mapping[str, np.ndarray] | None],
    ):
        if any(batch.conditions.jump for batch in (*train[0], *valid)):
            raise ConfigError(
                "inputs that jump have steps of their own, so that members cannot be trained together: leave members "
                "out, and train runs with other seeds"
            )
        each = [
            JaxTraining(model, own, valid, w, state)
            for own, w, state in zip(train, weights, states, strict=True)
        ]
        self._model, self._count, self._mesh = model, len(each), each[0]._mesh
        self._train = [one._train for one in each]
        self._valid = each[0]._valid
        self._parameters = _stacked([one._parameters for one in each])
        self._adam = _stacked([one._adam for one in each])
        self._dtype = each[0]._dtype
        self._slots = Slots.for_training(
            model, self._train[0][0], each[0]._slots.recent_steps(), len(each)
        )

    @numerics()
    def step(self, indices: Sequence[int], rate: float) -> list[Step]:
        with on_device_of(self._model.config.device):
            return self._step(indices, rate)

    def _step(self, indices: Sequence[int], rate: float) -> list[Step]:
        batches = [own[index] for own, index in zip(self._train, indices, strict=True)]
        of_step, guard = np.asarray(rate, self._dtype), False
        while True:
            self._parameters, self._adam, loss, norm, status, steps, unguarded = _step_of_each(
                self._model,
                self._slots.count,
                guard,
                self._mesh,
                self._parameters,
                self._adam,
                batches,
                of_step,
            )
            if self._slots.too_few(int(np.max(status))):
                continue
            if not unguarded:
                break
            guard = True
        columns = (np.asarray(x).tolist() for x in (loss, norm, steps, status))
        done = [Step(a, b, c, Status(d)) for a, b, c, d in zip(*columns, strict=True)]
        self._slots.used(max(one.solver_steps for one in done))
        return done

    @numerics()
    def loss(self, index: int) -> list[Step]:
        with on_device_of(self._model.config.device):
            found = _valid_loss_of_each(
                self._model, self._mesh, self._parameters, self._valid[index]
            )
        loss, steps, status = (np.asarray(x).tolist() for x in found)
        return [Step(a, 0.0, b, Status(c)) for a, b, c in zip(loss, steps, status, strict=True)]

    def weights(self) -> list[Weights]:
        return [fields.weights(_of(self._parameters, k)) for k in range(self._count)]

    @numerics()
    def states(self) -> list[dict[str, np.ndarray]]:
        recent = self._slots.recent_steps()
        each = [_of((self._adam, self._parameters), k) for k in range(self._count)]
        return [saved(adam, parameters, recent) for adam, parameters in each]


@of_model(static_argnums=(0, 1, 2), donate_argnums=(3, 4))
def _step_of_each(model, slots, guard, mesh, parameters, adam, batches, rate):
    """A step of each member; of none, where one has to be done again with more slots or with the guard."""
    of_all = partial(_all_or_none, model, slots, guard)
    arguments = parameters, adam, batches, rate
    return on_each(mesh, of_all, split_segments, *arguments, by_itself=slots is None)


def _all_or_none(model, slots, guard, parameters, adam, batches, rate):
    before = parameters, adam
    of_one = partial(one_step, model, slots, guard)
    new, adam, loss, norm, status, steps, _ = _of_each(
        lambda each: of_one(each[0], each[1], each[2], rate), (parameters, adam, _stacked(batches))
    )
    unguarded = jnp.asarray(False)
    if not guard and can_guard(model):
        unguarded = jnp.any(jnp.isfinite(loss) & ~jnp.isfinite(norm))
    again = unguarded
    if slots is not None:
        again = again | jnp.any(status == Status.MAX_STEPS)
    parameters, adam = jax.tree.map(
        lambda new, old: jnp.where(again, old, new), (new, adam), before
    )
    return parameters, adam, loss, norm, status, steps, unguarded


@of_model(static_argnums=(0,))
def _valid_loss_of_each(model, mesh, parameters, segments):
    def of_all(parameters, segments):
        return _of_each(lambda own: valid_loss(model, own, segments), parameters)

    by_itself = not is_explicit(model.config.solver)
    return on_each(mesh, of_all, split_segments, parameters, segments, by_itself=by_itself)


def _of_each(function: Callable[[Any], Any], members: Any) -> Any:
    """A function of each member: of all at once on a card, of which one member's step leaves most idle.

    On a CPU a step is busy by itself, and products of stacked matrices are slower than one after another.
    """
    return jax.vmap(function)(members) if _at_once() else jax.lax.map(function, members)


def _at_once() -> bool:
    return jax.default_backend() != "cpu"


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _of(tree: Any, member: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[member], tree)
