"""The quantities that several claims compare, of one seed."""

from __future__ import annotations

import numpy as np

from pnde.paper.results import Results

#: A lost forecast has an error of this at least: a trajectory that failed counts with it.
LOST = 1.0


def state_error(results: Results, name: str, model: str, t_end: float = np.inf) -> float:
    """Relative state error, mean over trajectories and times up to `t_end`.

    From where a trajectory failed on it counts with 1 (100 %), so that a model does not gain by failing.
    """
    forecast = results.forecast(name, model)
    error = forecast["state_error"].transpose("trajectory", "time").values
    inside = forecast["time"].values <= t_end * (1 + 1e-9)
    return float(np.where(np.isfinite(error), error, LOST)[:, inside].mean())


def constraint_error(results: Results, name: str, model: str) -> float:
    """Constraint error: mean over trajectories, the largest over time."""
    _, curves = results.curves(name, model, "constraint_error")
    return float(np.nanmax(curves))


def solver_steps(results: Results, name: str, model: str) -> float:
    """Steps of the solver, mean over the trajectories that did not fail; NaN if all did."""
    forecast = results.forecast(name, model)
    fine = forecast["status"].values == 0
    return float(forecast["steps"].values[fine].mean()) if fine.any() else np.nan


def there(results: Results, name: str, *models: str) -> bool:
    """Whether forecasts of each of the models are there."""
    return all(results.seeds(name, model) for model in models)
