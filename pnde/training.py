"""The one training loop: batches, schedule, epochs, validation, the best weights. An engine does the steps.

The order of everything follows from the seed and the epoch's number, and is drawn by NumPy, so that both engines see
the same, and a training that is stopped and resumed ends with the same weights.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import xarray as xr

from pnde.config import OptimiserConfig
from pnde.data import Normaliser, Segments, mean_velocity, segments, select, time_matrix
from pnde.engines import Batch, Engine, Status, Step
from pnde.errors import DataError, RunError, SolveError
from pnde.laws import Conditions
from pnde.laws.bounds import check_inside
from pnde.laws.projecting import onto_manifold
from pnde.laws.targets import evaluate_law, scale_of, targets
from pnde.models import Model, Weights, check_weights

logger = logging.getLogger("pnde")

# Where the configuration does not say how long to train: so many steps of the optimiser, in at least so many epochs.
_STEPS, _EPOCHS = 2000, 100

# Where the spreads of states differ by so much, the nearest velocity on the manifold in plain numbers sends the
# smallest far out of its range to correct the largest.
_SPREADS = 1e3


class EpochRow(NamedTuple):
    """A row of the history of a training.

    - `epoch`: its number, from 1.
    - `loss`: mean over the batches, while the weights change; `valid_loss`: with the weights at the epoch's end.
    - `best_loss`: least `valid_loss` so far.
    - `learning_rate`, `solver_steps` (mean, rejected ones included), `gradient_norm` (mean), `seconds`.
    """

    epoch: float
    loss: float
    valid_loss: float
    best_loss: float
    learning_rate: float
    solver_steps: float
    gradient_norm: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a training has come: all that the rest of it depends on, and all that its end needs.

    - `weights`: now; `best_weights`: those of the least validation loss.
    - `history`: a row for each epoch.
    - `state`: the engine's own, `None` before the first epoch.
    """

    weights: Weights
    best_weights: Weights
    history: tuple[EpochRow, ...] = ()
    state: Mapping[str, np.ndarray] | None = None

    @property
    def epoch(self) -> int:
        """The number of epochs done."""
        return len(self.history)

    @property
    def best_loss(self) -> float:
        """The least validation loss; infinite before the first epoch."""
        return self.history[-1].best_loss if self.history else float("inf")

    @property
    def best_epoch(self) -> int:
        """The epoch of the best weights; 0 before the first."""
        return 1 + int(np.argmin([row.valid_loss for row in self.history])) if self.history else 0


@dataclass(frozen=True, eq=False)
class Batches:
    """The segments of a data set's train and valid splits, in batches of one size."""

    train: list[Batch]
    valid: list[Batch]


def batches_of(engine: Engine, model: Model, ds: xr.Dataset) -> Batches:
    """Cut the train and valid splits into segments, check that they start on the manifold, and batch them.

    Training segments are shuffled once; an epoch shuffles the order of the batches (the way of the paper's code).

    **Raises:** `pnde.errors.DataError` if no segment fits; `pnde.errors.ConstraintError` naming the trajectory that is
    off the manifold or outside of the law's domain.
    """
    law, optimiser = model.constraint, model.config.optimiser
    scale = scale_of(engine, law, select(ds, "train", "valid"))
    # A law that is not defined on the data is found here, at whichever sample it is.
    u = ds["u"].transpose("trajectory", "time", "state").values
    at = Conditions.of(ds).at(time_matrix(ds))
    evaluate_law(engine, law, u, at, ds["trajectory"].values)
    _check_range(model, u)

    def batches(split: str) -> list[Batch]:
        part = select(ds, split)
        conditions = Conditions.of(part)
        onto = onto_manifold(engine, law, model.metric, conditions, model.bounds)
        cut = segments(part, optimiser.segment, onto)
        labels = part["trajectory"].values[cut.trajectory]
        # Segments share a clock that is right to rounding: without that a jump could come behind the sample it is at.
        end, clock = cut.t[:, -1] + cut.rounding, np.broadcast_to(cut.grid, cut.u.shape[:2])
        driven = conditions.rows(cut.trajectory).between(cut.start_time, end)
        at = driven.at(cut.start_time)
        c = targets(engine, law, cut.u[:, 0], at, scale, model.config.tolerance, labels)
        check_inside(engine, model.bounds, cut.u[:, 0], at, model.config.tolerance, labels)
        driven = driven.since(cut.start_time).meeting(clock, cut.rounding)
        rng = np.random.default_rng(model.config.seed)
        order = rng.permutation(len(cut)) if split == "train" else np.arange(len(cut))
        # Segments that jump take steps of their own, which is slower, so they are in batches of their own.
        jump = np.zeros(len(cut), dtype=bool)
        if driven.inputs is not None:
            jump = np.isfinite(driven.inputs.jumps).any(axis=1)[order]
        return [
            _batch(cut, c, own, part, first, min(optimiser.batch_size, len(part)))
            for part, own in ((order[~jump], driven.smooth), (order[jump], driven))
            for first in range(0, len(part), optimiser.batch_size)
        ]

    return Batches(batches("train"), batches("valid"))


def _check_range(model: Model, u: np.ndarray) -> None:
    """Whether the precision of training holds the states `(B, T, n)`, of which some may be NaN, and their spreads."""
    precision = model.config.solver.precision
    limits = np.finfo(precision)
    largest = np.nanmax(np.abs(u), axis=(0, 1))
    for name, size, spread in zip(model.states, largest, model.std, strict=True):
        if size > limits.max or spread < limits.tiny:
            raise DataError(
                f"state {name!r} has values up to {size:.0e} and a spread of {spread:.0e}, beyond the range of "
                f"{precision} ({limits.tiny:.0e} to {limits.max:.0e}): give it in other units"
                + ("" if precision == "float64" else ', or use solver.precision = "float64"')
            )


def _batch(
    cut: Segments, c: np.ndarray, driven: Conditions, order: np.ndarray, first: int, size: int
) -> Batch:
    """Segments `order[first : first + size]`; the last batch is filled up with segments of no weight, so that all have
    one shape."""
    chosen = order[first : first + size]
    share = np.zeros(size)
    share[: len(chosen)] = 1 / len(chosen)
    chosen = np.concatenate([chosen, order[: size - len(chosen)]])
    return Batch(
        u=cut.u[chosen],
        start=cut.start_time[chosen],
        grid=cut.grid if cut.grid.ndim == 1 else cut.grid[chosen],
        c=c[chosen],
        share=share,
        known=None if cut.known is None else cut.known[chosen],
        conditions=driven.rows(chosen),
    )


def output_speed(engine: Engine, model: Model, scale: Normaliser, batches: Batches) -> np.ndarray:
    """What the network's outputs are multiples of, `Model.speed`: the speeds of the data.

    In stiff data the speed of a brief start would take the slow rest far away within a segment, so it is no more than a
    spread in the time of the longest one.
    """
    longest = max(float(batch.grid[..., -1].max()) for batch in batches.train)
    speed = np.minimum(scale.speed, scale.std / longest)[-model.outputs :]
    if model.config.network.form != "skew-gradient":
        return speed
    rate = float(np.mean(speed / scale.std))
    return scale.std * np.sqrt(rate / _change_in_a_spread(engine, model, batches.train[0]))


def _change_in_a_spread(engine: Engine, model: Model, batch: Batch) -> float:
    """How much a law of one row changes, to first order, where each state changes by its spread."""
    law, u, ease = model.constraint, batch.u[:, 0], 1e-4
    assert law is not None
    at = batch.conditions.at(np.zeros(len(u)))._replace(t=batch.start)
    h = engine.law(law, u, at)
    steps = ease * np.diag(model.std)
    slopes = np.stack([(engine.law(law, u + step, at) - h)[:, 0] / ease for step in steps])
    change = float(np.sqrt(np.nanmean(np.sum(slopes**2, axis=0))))
    return change or 1.0


def epochs_for(optimiser: OptimiserConfig, batches: Batches) -> int:
    """How many epochs to train: those of the configuration, or as many as make enough steps of the optimiser."""
    return optimiser.epochs or max(_EPOCHS, -(-_STEPS // len(batches.train)))


def learning_rate(optimiser: OptimiserConfig, epoch: int) -> float:
    """The rate of an epoch, counted from 0: a cosine over `decay_epochs`, then constant (the paper's schedule)."""
    assert optimiser.epochs is not None
    period = optimiser.decay_epochs or max(1, optimiser.epochs // 2)
    low, high = optimiser.final_learning_rate, optimiser.learning_rate
    if epoch >= period:
        return low
    return low + 0.5 * (high - low) * (1 + np.cos(np.pi * epoch / period))


T = TypeVar("T")


class EpochEnd(NamedTuple, Generic[T]):
    """What there is to know after an epoch. `progress()` copies it from the engine; call it before the next epoch."""

    row: EpochRow
    progress: Callable[[], T]


def epochs(
    engine: Engine,
    model: Model,
    batches: Batches,
    progress: Progress,
    on_step: Callable[[int, int, Step], None] = lambda *_: None,
) -> Iterator[EpochEnd[Progress]]:
    """Train from `progress` to the configured number of epochs, one item an epoch.

    **Arguments:**

    - `on_step`: called after each step with its number in the epoch, their count, and what it came to.

    **Raises:** `pnde.errors.SolveError` if a loss or gradient is not finite, naming epoch, batch and remedy.
    """
    optimiser, seed = model.config.optimiser, model.config.seed
    assert optimiser.epochs is not None
    training = engine.start(model, batches.train, batches.valid, progress.weights, progress.state)
    history, best_weights = list(progress.history), progress.best_weights
    for epoch in range(progress.epoch, optimiser.epochs):
        began = time.perf_counter()
        rate = learning_rate(optimiser, epoch)
        steps = []
        order = np.random.default_rng([seed, epoch]).permutation(len(batches.train))
        for i, index in enumerate(order):
            steps.append(training.step(int(index), rate))
            check_step(model, steps[-1], epoch, i)
            on_step(i + 1, len(order), steps[-1])
        valid = [training.loss(index) for index in range(len(batches.valid))]
        valid_loss = validation_loss(model, valid, batches, epoch)
        if valid_loss < (history[-1].best_loss if history else float("inf")):
            best_weights = training.weights()
        seconds = time.perf_counter() - began
        history.append(epoch_row(history, rate, steps, valid_loss, seconds))

        def snapshot(
            rows: tuple[EpochRow, ...] = tuple(history), best: Weights = best_weights
        ) -> Progress:
            return Progress(training.weights(), best, rows, training.state())

        yield EpochEnd(history[-1], snapshot)


def epoch_row(
    history: list[EpochRow], rate: float, steps: list[Step], valid_loss: float, seconds: float
) -> EpochRow:
    """The row of the epoch behind those of `history`."""
    return EpochRow(
        epoch=len(history) + 1,
        loss=float(np.mean([step.loss for step in steps])),
        valid_loss=valid_loss,
        best_loss=min(valid_loss, history[-1].best_loss if history else float("inf")),
        learning_rate=rate,
        solver_steps=float(np.mean([step.solver_steps for step in steps])),
        gradient_norm=float(np.mean([step.gradient_norm for step in steps])),
        seconds=seconds,
    )


def check_step(model: Model, step: Step, epoch: int, number: int) -> None:
    """Whether a step came to a loss and a gradient; both are counted from 0.

    **Raises:** `pnde.errors.SolveError` naming epoch, batch and remedy, if not.
    """
    if not np.isfinite(step.loss + step.gradient_norm):
        where = f"training loss is not finite in epoch {epoch + 1}, batch {number + 1}"
        raise SolveError(f"the {where}: {_remedy(model, step.status)}")


def validation_loss(model: Model, steps: list[Step], batches: Batches, epoch: int) -> float:
    """The mean over the segments of the valid split.

    **Raises:** `pnde.errors.SolveError` naming the epoch and the remedy, if it is not finite.
    """
    shares = [np.count_nonzero(batch.share) for batch in batches.valid]
    loss = float(np.average([step.loss for step in steps], weights=shares))
    if not np.isfinite(loss):
        worst = max(step.status for step in steps)
        raise SolveError(
            f"the validation loss is not finite in epoch {epoch + 1}: {_remedy(model, worst)}"
        )
    return loss


def _remedy(model: Model, status: Status) -> str:
    """What a loss that is not finite comes from, and what to do."""
    settings = model.config.solver
    step, gamma, stiff = settings.step, model.config.gamma, ""
    if model.config.method == "snde" and step is not None and step * gamma > 1:
        stiff += f", or leave out solver.step, of which γ = {gamma:g} wants at most 1/γ = {1 / gamma:.2g}"
    if settings.solver != "kvaerno5":
        stiff += ', or solver.solver = "kvaerno5" if the system is stiff'
    elif settings.precision == "float32":
        # Its steps may have to be smaller than float32 can tell times apart.
        stiff += ', or solver.precision = "float64"'
    spreads = model.std.max() / model.std.min()
    if model.constraint is not None and model.metric is None and spreads > _SPREADS:
        stiff += (
            f', or projection.metric = "spread", since the largest spread of a state is {spreads:.0e} times the '
            "smallest"
        )
    match status:
        case Status.OK:
            return f"the gradient overflowed; use a smaller learning_rate, or clip{stiff}"
        case Status.MAX_STEPS:
            return (
                f"a segment needs more than solver.max_steps = {settings.max_steps} steps of the solver; use a smaller "
                f"learning_rate, or raise solver.max_steps or solver.rtol{stiff}"
            )
        case Status.NON_FINITE:
            return (
                "the state became infinite or NaN; use a smaller learning_rate or fewer steps in a segment "
                f"(optimiser.segment){stiff}"
            )
        case _:
            return status.reason


def baselines(batches: Batches, ds: xr.Dataset, std: np.ndarray) -> dict[str, float]:
    """Validation losses of models that have learned nothing: standing still, or moving at the mean velocity.

    **Arguments:**

    - `ds`: the data set of the batches; `std`: what the states' errors are divided by in the loss, `(n,)`.
    """
    velocity = mean_velocity(select(ds, "train"))
    return {
        "standing still": _loss_of(batches.valid, np.zeros_like(velocity), std),
        "moving at the mean velocity": _loss_of(batches.valid, velocity, std),
    }


def _loss_of(batches: list[Batch], velocity: np.ndarray, std: np.ndarray) -> float:
    """The loss of straight lines."""
    losses: list[float] = []
    for batch in batches:
        line = batch.u[:, :1] + np.atleast_2d(batch.grid)[..., None] * velocity
        error = ((batch.u - line)[:, 1:] / std)[batch.share > 0].reshape(
            np.count_nonzero(batch.share), -1
        )
        known = np.isfinite(error)
        squares = np.where(known, error, 0.0) ** 2
        losses.extend(squares.sum(axis=1) / np.maximum(known.sum(axis=1), 1))
    return float(np.mean(losses))


def warn_of_nothing_learned(
    model: Model, progress: Progress, batches: Batches, ds: xr.Dataset
) -> None:
    """Say so where the best model is no better than no model."""
    name, least = min(baselines(batches, ds, model.std).items(), key=lambda item: item[1])
    if progress.best_loss >= least:
        logger.warning(
            "%s has learned nothing: its validation loss %.2g is no better than that of %s (%.2g); raise epochs or "
            "learning_rate, and look at the data with pnde check and pnde.plot",
            model.kind.label,
            progress.best_loss,
            name,
            least,
        )


def check_fits(progress: Progress, model: Model) -> None:
    """Whether a checkpoint belongs to a model.

    **Raises:** `pnde.errors.RunError` naming the array that does not fit.
    """
    for weights in (progress.weights, progress.best_weights):
        check_weights(model, weights)
    assert model.config.optimiser.epochs is not None
    if progress.epoch > model.config.optimiser.epochs:
        raise RunError(
            f"the checkpoint is of epoch {progress.epoch}, but the configuration has {model.config.optimiser.epochs}"
        )
