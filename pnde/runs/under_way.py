"""A training under way: the loop over epochs with its progress bar and its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import xarray as xr

from pnde.data import save_data
from pnde.engines import Engine, Step
from pnde.models import Model, initial_weights
from pnde.runs import folder as disk
from pnde.runs.bar import progress_bar
from pnde.runs.record import Record, Sources, data_record
from pnde.runs.report import report_of
from pnde.runs.run import Run, rows_of
from pnde.training import Batches, EpochEnd, Progress, check_fits, epochs, warn_of_nothing_learned


class UnderWay:
    """A training under way: the loop over epochs with its progress bar and its folder."""

    def __init__(
        self,
        engine: Engine,
        model: Model,
        ds: xr.Dataset,
        batches: Batches | None,
        sources: Sources,
        show: bool,
    ):
        self._engine, self._model, self._ds, self._batches = engine, model, ds, batches
        self._sources, self._show = sources, show

    def begin(self) -> Any:
        """How far it is before the first epoch."""
        weights = initial_weights(self._model, self._model.config.seed)
        return Progress(weights, weights)

    def read(self, path: Path) -> Any:
        """How far it came in a folder; `None` if it was stopped before its first checkpoint.

        **Raises:** `pnde.errors.RunError` if the checkpoint is damaged, or does not fit the model.
        """
        done = disk.read_progress(path)
        if done is not None:
            check_fits(done, self._model)
        return done

    def so_far(self, done: Any) -> Run:
        """The run with the best weights so far."""
        return self._run(done, complete=False)

    def run(self, begun: Any, path: Path | None, source: Path | None = None) -> Run:
        """Train from the beginning; into a new folder, if there is one."""
        if path is None:
            return self._result(self._epochs(begun, None))
        data = source
        if data is None:
            data = path / disk.DATA
            save_data(self._ds, data)
        disk.write_config(path, self._model.config)
        Record.of(
            self._model,
            self._engine,
            rows_of(self._engine, self._model, self._ds),
            self._sources,
            data_record(path, data),
            disk.checksums(path, disk.CONFIG),
            complete=False,
        ).write(path)
        return self.go_on(begun, path, data)

    def go_on(self, done: Any, path: Path, data: Path) -> Run:
        """Train to the end, and make the folder that of a complete run."""
        run = self._result(self._epochs(done, path))
        run._finish(path, data)
        return run

    def _result(self, done: Any) -> Run:
        assert self._batches is not None
        warn_of_nothing_learned(self._model, done, self._batches, self._ds)
        return self._run(done, complete=True)

    def _run(self, done: Any, complete: bool) -> Run:
        return Run(
            self._model,
            done.best_weights,
            done.history,
            report_of(self._engine, self._model, done, complete),
            self._ds,
            self._engine,
            self._sources,
        )

    @property
    def _label(self) -> str:
        return self._model.kind.label

    def _first(self, done: Any) -> Progress:
        """The progress that the bar shows."""
        return done

    def _ends(
        self, done: Any, on_step: Callable[[int, int, Step], None]
    ) -> Iterator[EpochEnd[Any]]:
        assert self._batches is not None
        return epochs(self._engine, self._model, self._batches, done, on_step)

    def _write(self, path: Path, done: Any) -> None:
        disk.write_progress(path, done)

    def _epochs(self, done: Any, path: Path | None) -> Any:
        optimiser = self._model.config.optimiser
        assert optimiser.epochs is not None
        first = self._first(done)
        with progress_bar(self._label, first, optimiser.epochs, self._show) as bar:
            for end in self._ends(done, bar.on_step):
                bar.on_epoch(end.row)
                number = int(end.row.epoch)
                last = number == optimiser.epochs
                if last or (path is not None and number % optimiser.checkpoint_every == 0):
                    done = end.progress()
                    if path is not None:
                        self._write(path, done)
        return done
