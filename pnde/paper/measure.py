"""What is measured beside the studies: times, the growth of the projection's cost, and the limit γ → ∞."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pnde.data import select
from pnde.files import make_folder, write_bytes
from pnde.laws import Instant
from pnde.paper import complexity
from pnde.paper.costs import measure_costs
from pnde.paper.limit import measure_limit
from pnde.paper.results import MEASURED, Results
from pnde.paper.studies import Study, label
from pnde.runs import Run

logger = logging.getLogger("pnde")

#: States in a forward pass, as in the paper; tolerance of the timed solve, as in its code.
BATCH = 1024
TOLERANCE = 1e-4
#: Seconds for the comparison of a study's models, and how many calls at most.
BUDGET, REPEATS = {"quick": 8.0, "medium": 8.0, "full": 120.0}, 10
#: Trajectories that are solved together: the paper's batch, or as many as a processor does in seconds.
SOLVED = {"quick": 64, "medium": 64, "full": BATCH}


def measure(results: Results) -> None:
    """Measure what has not been measured yet."""
    for study in results.studies:
        _once(results, f"times-{study.name}", lambda study=study: measure_times(results, study))
        _once(results, f"costs-{study.name}", lambda study=study: measure_costs(results, study))
    _once(results, "complexity", measure_complexity)
    if results.has("quartic") and "pnde" in results.models("quartic", results.seeds("quartic")[0]):
        _once(results, "limit", lambda: measure_limit(results.run("quartic", "pnde")))


def measure_complexity() -> pd.DataFrame:
    """The operations of Table II. Small sizes say nothing of growth, so they are the same for both presets."""
    return complexity.measure_complexity(complexity.ALONG_M, complexity.ALONG_N, complexity.LINKS)


def measure_times(results: Results, study: Study) -> pd.DataFrame:
    """Forward pass and solve of the trained models of a study, on each device, with compilation apart.

    **Returns:** the columns `model`, `device`, `what` (forward or solve), `batch`, `median_ms`, `min_ms`, `max_ms`,
    `calls`, `compile_s`. A model that cannot solve the batch to its end has no row for it.
    """
    import jax

    from pnde.engines.jax.numerics import numerics
    from pnde.engines.jax.timing import compile_time, devices, forward_pass, full_solve, interleaved

    seed = results.seeds(study.name)[0]
    runs = {m: results.run(study.name, m, seed) for m in results.models(study.name, seed)}
    preset, t_end = results.plan.preset, results.plan.t_end(study)
    rows = []
    for device, place in devices().items():
        with numerics(), jax.default_device(place):
            for what, batch in (("forward", BATCH), ("solve", SOLVED[preset])):
                calls: dict[str, Callable[[], Any]] = {}
                for model, run in runs.items():
                    u, c = _states(run, batch, spread=what == "forward")
                    if what == "forward":
                        calls[model] = forward_pass(run.model, run.weights, u, c)
                    else:
                        calls[model] = full_solve(
                            run.model, run.weights, u, c, t_end, study.dt, TOLERANCE
                        )
                compiled = {model: compile_time(call) for model, call in calls.items()}
                if what == "solve":
                    # One trajectory that leaves the domain stops all of them: that is no solve to time.
                    calls = {m: call for m, call in calls.items() if int(call().status) == 0}
                seconds = interleaved(calls, REPEATS, BUDGET[preset])
                for model, values in seconds.items():
                    rows.append(
                        {
                            "model": label(model),
                            "device": device,
                            "what": what,
                            "batch": batch,
                            "median_ms": 1e3 * float(np.median(values)),
                            "min_ms": 1e3 * float(values.min()),
                            "max_ms": 1e3 * float(values.max()),
                            "calls": len(values),
                            "compile_s": max(0.0, compiled[model] - float(np.median(values))),
                        }
                    )
    return pd.DataFrame(rows)


def _states(run: Run, count: int, spread: bool) -> tuple[np.ndarray, np.ndarray]:
    """States `(count, n)` of the test trajectories, repeated if they are too few, and their targets.

    Initial ones, or `spread` over all times.
    """
    from pnde.engines import get
    from pnde.systems import law_for

    u = select(run.data, "test")["u"].transpose("trajectory", "time", "state").values
    states = u.reshape(-1, u.shape[-1]) if spread else u[:, 0]
    at = np.linspace(0, len(states) - 1, count).round().astype(int) if spread else np.arange(count)
    picked = states[at % len(states)]
    law = law_for(run.data, None)
    if law is None:
        return picked, np.zeros((count, 0))
    return picked, law.targets(get("jax").law(law, picked, Instant(np.zeros(count))))


def _once(results: Results, name: str, make: Any) -> None:
    path: Path = results.folder / MEASURED / f"{name}.csv"
    if path.exists():
        return
    began = time.perf_counter()
    make_folder(path.parent)
    write_bytes(path, make().to_csv(index=False).encode())
    logger.info("measured %s: %.0f s", name, time.perf_counter() - began)
