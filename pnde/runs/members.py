"""Members of an ensemble: trained together, in one loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pnde.config import Config
from pnde.engines import Engine, Step
from pnde.errors import SolveError
from pnde.models import Model, initial_weights
from pnde.runs import folder as disk
from pnde.runs.ensemble import Ensemble
from pnde.runs.record import Sources
from pnde.runs.run import Run
from pnde.runs.under_way import UnderWay
from pnde.training import (
    Batches,
    EpochEnd,
    EpochRow,
    Progress,
    batches_of,
    check_fits,
    check_step,
    epoch_row,
    learning_rate,
    validation_loss,
    warn_of_nothing_learned,
)


def under_way(
    engine: Engine,
    model: Model,
    ds: xr.Dataset,
    batches: Batches | None,
    sources: Sources,
    show: bool,
) -> UnderWay:
    """The training of a model, or of the members that its settings ask for; `batches` to go on with it."""
    kind = UnderWay if model.config.members == 1 else MembersUnderWay
    return kind(engine, model, ds, batches, sources, show)


class MembersUnderWay(UnderWay):
    """The training of an ensemble: as that of one model, with a `Progress` of each member."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        config = self._model.config
        self._models = [
            replace(self._model, config=Config.make(config, members=1, seed=config.seed + k))
            for k in range(config.members)
        ]

    def begin(self) -> Any:
        weights = [initial_weights(model, model.config.seed) for model in self._models]
        return tuple(Progress(own, own) for own in weights)

    def read(self, path: Path) -> Any:
        done = disk.read_members(path, len(self._models))
        for model, progress in zip(self._models, done or (), strict=False):
            check_fits(progress, model)
        return done

    def _result(self, done: Any) -> Run:
        assert self._batches is not None
        for model, progress in zip(self._models, done, strict=True):
            warn_of_nothing_learned(model, progress, self._batches, self._ds)
        return self._run(done, complete=True)

    def _run(self, done: Any, complete: bool) -> Run:
        members = [
            UnderWay(self._engine, model, self._ds, None, self._sources, False)._run(
                progress, complete
            )
            for model, progress in zip(self._models, done, strict=True)
        ]
        return Ensemble(self._model, members)

    @property
    def _label(self) -> str:
        return f"{super()._label}, {len(self._models)} members"

    def _first(self, done: Any) -> Progress:
        return done[0]

    def _ends(
        self, done: Any, on_step: Callable[[int, int, Step], None]
    ) -> Iterator[EpochEnd[Any]]:
        assert self._batches is not None
        # The first member has the model's own seed.
        others = [batches_of(self._engine, model, self._ds) for model in self._models[1:]]
        batches = [self._batches, *others]
        return _epochs(self._engine, self._model, self._models, batches, done, on_step)

    def _write(self, path: Path, done: Any) -> None:
        disk.write_members(path, done)


def _epochs(
    engine: Engine,
    model: Model,
    models: Sequence[Model],
    batches: Sequence[Batches],
    done: Sequence[Progress],
    on_step: Callable[[int, int, Step], None],
) -> Iterator[EpochEnd[tuple[Progress, ...]]]:
    """As `pnde.training.epochs`, for all members at once, each with its own order of batches."""
    optimiser, first = model.config.optimiser, batches[0]
    assert optimiser.epochs is not None
    training = engine.start_members(
        model,
        [own.train for own in batches],
        first.valid,
        [progress.weights for progress in done],
        [progress.state for progress in done],
    )
    histories = [list(progress.history) for progress in done]
    best = [progress.best_weights for progress in done]
    for epoch in range(done[0].epoch, optimiser.epochs):
        began, rate = time.perf_counter(), learning_rate(optimiser, epoch)
        orders = np.stack(
            [
                np.random.default_rng([own.config.seed, epoch]).permutation(len(first.train))
                for own in models
            ]
        )
        taken: list[list[Step]] = []
        for i in range(len(first.train)):
            taken.append(training.step([int(index) for index in orders[:, i]], rate))
            for k, step in enumerate(taken[-1]):
                _named(k, check_step, models[k], step, epoch, i)
            on_step(i + 1, len(first.train), taken[-1][0])
        valid = [training.loss(index) for index in range(len(first.valid))]
        weights = training.weights()
        seconds = (time.perf_counter() - began) / len(models)
        for k, history in enumerate(histories):
            own_steps = [steps[k] for steps in valid]
            loss = _named(k, validation_loss, models[k], own_steps, first, epoch)
            if loss < (history[-1].best_loss if history else float("inf")):
                best[k] = weights[k]
            steps = [steps[k] for steps in taken]
            history.append(epoch_row(history, rate, steps, loss, seconds))

        def snapshot(
            rows: Sequence[tuple[EpochRow, ...]] = tuple(tuple(h) for h in histories),
            best: Sequence[Any] = tuple(best),
        ) -> tuple[Progress, ...]:
            now = zip(training.weights(), best, rows, training.states(), strict=True)
            return tuple(Progress(*each) for each in now)

        yield EpochEnd(histories[0][-1], snapshot)


def _named(member: int, check: Callable[..., Any], *arguments: Any) -> Any:
    """A check, whose message names the member."""
    try:
        return check(*arguments)
    except SolveError as error:
        raise SolveError(f"member {member + 1}: {error}") from None
