"""The limit γ → ∞, in which SNDE becomes PNDE (paper, Appendix E), on a field with fixed weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pnde.config import Config, SolverConfig
from pnde.engines import get
from pnde.laws import Instant
from pnde.runs import Run

GAMMAS = (30.0, 100.0, 300.0, 1000.0, 3000.0)
#: Relaxation times 1/γ after which the boundary layer is over: e⁻⁴⁰ is below rounding.
LAYER = 40.0
SAMPLES = 5


def measure_limit(
    run: Run, gammas: tuple[float, ...] = GAMMAS, trajectories: int = 10
) -> pd.DataFrame:
    """How far the velocity of SNDE is from that of PNDE, for rising γ and the weights of one model.

    With F = G†, the rescaled deviation λ = γ g relaxes by λ̇/γ = G f - λ. Behind the boundary layer it follows its
    quasi-steady state G f to O(1/γ), and so the velocity of SNDE at its own state u(t),

        f - G† γ g  =  (I - G†G) f + G† (G f - λ),

    differs from the projected velocity at the same state by O(1/γ), and its path from PNDE's path by as much.

    **Arguments:**

    - `run`: a trained PNDE; its weights are used for every γ.
    - `trajectories`: test trajectories, from whose first samples the paths start.

    **Returns:** the columns `gamma`; `velocity`, the median of ‖u̇_SNDE - u̇_PNDE‖ / ‖u̇_PNDE‖ at states of the SNDE's
    paths; `path`, the median of ‖u_SNDE - u_PNDE‖ / ‖u_PNDE‖; `constraint`, the median of ‖g‖.
    """
    from pnde.data import select

    engine = get(run.model.config.engine)
    law = run.model.constraint
    assert law is not None
    u0 = (
        select(run.data, "test")["u"]
        .transpose("trajectory", "time", "state")
        .values[:trajectories, 0]
    )
    still = np.zeros(len(u0))
    c = law.targets(engine.law(law, u0, Instant(still)))
    start = LAYER / min(gammas)
    times = np.concatenate([[0.0], start * (1 + 0.25 * np.arange(SAMPLES))])
    # An error δ of g is one of γ δ in the velocity, so it has to be far below 1/γ².
    settings = SolverConfig(
        solver="dopri8", rtol=1e-12, atol=1e-12, retract="never", max_steps=10**6
    )

    def paths(method: str, gamma: float) -> tuple[Any, np.ndarray]:
        config = Config.make(run.model.config, method=method, gamma=gamma)
        model = replace(run.model, config=config)
        return model, engine.rollout(model, run.weights, u0, times, c, settings).u[:, 1:]

    projected, reference = paths("pnde", 1.0)
    rows = []
    for gamma in gammas:
        model, u = paths("snde", gamma)
        flat, targets = u.reshape(-1, u.shape[-1]), np.repeat(c, SAMPLES, axis=0)
        t = np.tile(times[1:], len(u0))
        own = engine.velocity(model, run.weights, flat, Instant(t), targets)
        limit = engine.velocity(projected, run.weights, flat, Instant(t), targets)
        g = engine.law(law, flat, Instant(t)) - targets
        rows.append(
            {
                "gamma": gamma,
                "velocity": _median(own - limit, limit),
                "path": _median(u - reference, reference),
                "constraint": float(np.nanmedian(np.linalg.norm(g, axis=-1))),
            }
        )
    return pd.DataFrame(rows)


def _median(difference: np.ndarray, of: np.ndarray) -> float:
    ratio = np.linalg.norm(difference, axis=-1) / np.linalg.norm(of, axis=-1)
    return float(np.nanmedian(ratio))
