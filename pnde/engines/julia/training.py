"""Training in Julia, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pnde.engines import Batch, Status, Step
from pnde.engines.julia.arrays import to_julia, to_python
from pnde.engines.julia.driving import julia_drive, julia_instant
from pnde.engines.julia.models import flat, julia_model, julia_settings, on_card, unflat
from pnde.engines.julia.session import julia
from pnde.engines.rank import check_rows
from pnde.errors import ConfigError, RunError
from pnde.models import Model, Weights, weight_shapes


class JuliaTraining:
    """A model in training; see `pnde.engines.Training`."""

    def __init__(
        self,
        model: Model,
        train: Sequence[Batch],
        valid: Sequence[Batch],
        weights: Weights,
        state: Mapping[str, np.ndarray] | None,
    ):
        optimiser, settings = model.config.optimiser, model.config.solver
        self._model, precision = model, settings.precision
        card = on_card(model)
        self._train = [julia_segments(model, batch, card) for batch in train]
        self._valid = [julia_segments(model, batch, card) for batch in valid]
        law = model.constraint
        if law is not None and model.config.method != "nde":
            with julia() as jl:
                the_model = julia_model(model, precision, card)
                rcond = [to_python(jl.conditions(the_model, batch)) for batch in self._train]
            check_rows(
                np.concatenate(rcond),
                model.config.projection.method,
                f"the law {law.label!r}",
                best=lambda segment: _best_condition(model, train, segment),
            )
        moments = None if state is None else _moments(model, state, precision, card)
        the_model = julia_model(model, precision, card)
        with julia() as jl:
            self._trainer = jl.Trainer(
                the_model,
                to_julia(flat(model, weights), precision, card),
                julia_settings(settings),
                weight_decay=optimiser.weight_decay,
                clip=optimiser.clip,
                moments=moments,
            )

    def step(self, index: int, rate: float) -> Step:
        # Each step returns to Python, so that training can be interrupted between two of them.
        with julia() as jl:
            loss, norm, status, steps = jl.step_b(self._trainer, self._train[index], rate)
        return Step(float(loss), float(norm), float(steps), Status(int(status)))

    def loss(self, index: int) -> Step:
        with julia() as jl:
            loss, status, steps = jl.evaluate(self._trainer, self._valid[index])
        return Step(float(loss), 0.0, float(steps), Status(int(status)))

    def weights(self) -> Weights:
        return unflat(self._model, to_python(self._trainer.θ))

    def state(self) -> dict[str, np.ndarray]:
        mu, nu, beta = self._trainer.moments
        return {
            "count": np.asarray(int(self._trainer.count), np.int32),
            "mu": to_python(mu),
            "nu": to_python(nu),
            # The powers of Adam's β as they were multiplied up: a power taken anew rounds differently.
            "beta": np.array([float(power) for power in beta]),
        }


def _best_condition(model: Model, batches: Sequence[Batch], segment: int) -> float:
    """1/κ(G) by QR in float64 at the start of a segment, counted over all batches."""
    kept = [
        np.flatnonzero(batch.share > 0) for batch in batches
    ]  # what fills them up is not counted
    ends = np.cumsum([len(rows) for rows in kept])
    k = int(np.searchsorted(ends, segment, side="right"))
    batch, row = batches[k], kept[k][[segment - ends[k]]]  # counted from the end
    at = batch.conditions.rows(row).at(np.zeros(1))._replace(t=batch.start[row])
    the_model, u = julia_model(model, "float64", False), to_julia(batch.u[row, 0])
    with julia() as jl:
        return float(jl.best_condition(the_model, u, julia_instant(at, 1)))


def _moments(
    model: Model, state: Mapping[str, np.ndarray], precision: str, card: bool
) -> tuple[Any, ...]:
    size = sum(int(np.prod(shape)) for shape in weight_shapes(model).values())
    if set(state) != {"count", "mu", "nu", "beta"} or state["mu"].shape != (size,):
        raise RunError("the checkpoint does not fit the model: its optimiser is another one")
    mu, nu = (to_julia(state[name], precision, card) for name in ("mu", "nu"))
    return int(state["count"]), mu, nu, to_julia(state["beta"], precision)


def julia_segments(model: Model, batch: Batch, card: bool) -> Any:
    """A batch on the Julia side, on a card or not, without the segments that only fill it up.

    **Raises:** `pnde.errors.ConfigError` for a backward solve through inputs that jump.
    """
    dtype = model.config.solver.precision
    if batch.conditions.jump and model.config.solver.adjoint == "backsolve":
        raise ConfigError(
            'solver.adjoint = "backsolve" cannot go back through inputs that jump: leave it out'
        )
    chosen = batch.share > 0
    grid = batch.grid if batch.grid.ndim == 1 else batch.grid[chosen]
    u, c, share = (to_julia(x[chosen], dtype, card) for x in (batch.u, batch.c, batch.share))
    known = () if batch.known is None else (to_julia(batch.known[chosen], dtype, card),)
    conditions = batch.conditions.rows(np.flatnonzero(chosen))
    drive = julia_drive(model, conditions, batch.start[chosen], batch.c.shape[1], dtype, card)
    with julia() as jl:
        return jl.Segments(u, c, drive, to_julia(grid, dtype), share, *known)
