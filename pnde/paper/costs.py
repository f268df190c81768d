"""What the projection costs at the paper's network sizes, with random weights: a small network says nothing of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pnde.config import Config
from pnde.engines import get
from pnde.models import Model, initial_weights
from pnde.paper.results import Results
from pnde.paper.studies import Study, label
from pnde.runs import Run
from pnde.training import batches_of

#: Segments of a training step and states of a forward pass, as in the paper.
BATCH = 1024
#: Seconds for the comparison of a study's models, and how many calls at most.
BUDGET, REPEATS = 60.0, 10


def measure_costs(results: Results, study: Study) -> pd.DataFrame:
    """A training step and a forward pass of the paper's models of a study, on each device, with compilation apart.

    All models take one step of the solver for a segment, so that what is compared is the same work: how many steps a
    model needs is a matter of its weights. A pendulum's NDE is that of the angles.

    **Returns:** the columns `model`, `device`, `platform`, `what` (train or forward), `batch`, `median_ms`, `calls`.
    """
    import jax

    from pnde.engines.jax.numerics import numerics
    from pnde.engines.jax.timing import compile_time, devices, interleaved

    seed = results.seeds(study.name)[0]
    runs = {
        m: results.run(study.name, m, seed)
        for m in results.models(study.name, seed)
        if m in study.of_paper
    }
    rows = []
    for device, place in devices().items():
        with numerics(), jax.default_device(place):
            both = {m: _calls(study, run) for m, run in runs.items()}
            for what in ("train", "forward"):
                calls = {m: of[what] for m, of in both.items()}
                for call in calls.values():
                    compile_time(call)
                for model, seconds in interleaved(calls, REPEATS, BUDGET).items():
                    rows.append(
                        {
                            "model": label(model),
                            "device": device,
                            "platform": place.platform,
                            "what": what,
                            "batch": BATCH,
                            "median_ms": 1e3 * float(np.median(seconds)),
                            "calls": len(seconds),
                        }
                    )
    return pd.DataFrame(rows)


def _calls(study: Study, run: Run) -> dict[str, Callable[[], Any]]:
    """A training step, and a forward pass over the starts of its segments."""
    from pnde.engines.jax.timing import forward_pass

    engine, model = get("jax"), _paper_sized(study, run)
    weights = initial_weights(model, 0)
    batch = batches_of(engine, model, run.data).train[0]
    training = engine.start(model, [batch], [], weights, None)
    return {
        "train": lambda: training.step(0, 0.0).loss,
        "forward": forward_pass(model, weights, batch.u[:, 0], batch.c),
    }


def _paper_sized(study: Study, run: Run) -> Model:
    """The model of a run with the network of the paper, and a step of the solver for each segment."""
    paper, own = Config.preset(study.preset, "paper"), run.model.config
    times = run.data["time"].values
    segment = own.optimiser.segment * float(times[1] - times[0])
    network = {
        f"network.{name}": getattr(paper.network, name)
        for name in ("layers", "width", "activation", "skip")
    }
    changed = {**network, "solver.step": segment, "optimiser.batch_size": BATCH}
    return replace(run.model, config=Config.make(own, **changed))
