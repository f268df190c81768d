"""The inner product in which velocities are projected and states retracted."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.config import Config
from pnde.data import Normaliser
from pnde.errors import ConfigError


def default_metric(config: Config, scale: Normaliser, of_system: bool) -> np.ndarray | None:
    """M where the user gives none, as `projection.metric` says.

    A law of the user's may mix units, and what is nearest should not depend on them; a built-in system's own law
    (`of_system`) is kept as in the paper.
    """
    nearest = config.projection.metric or ("euclidean" if of_system else "spread")
    return scale.metric if nearest == "spread" else None


def checked_metric(metric: Any, n: int) -> Any:
    """M as `Model` takes it: `None`, a function of the state, or a float64 array `(n,)` or `(n, n)`.

    **Raises:** `pnde.errors.ConfigError` if it is not positive definite, or of another shape.
    """
    if metric is None or callable(metric):
        return metric
    wanted = f"a metric is {n} positive weights, or a symmetric positive definite {n} × {n} matrix"
    try:
        M = np.asarray(metric, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"{wanted}, not {type(metric).__name__}") from None
    if M.shape not in ((n,), (n, n)):
        raise ConfigError(f"{wanted}; this one has shape {M.shape}")
    diagonal = M.ndim == 1
    if not np.isfinite(M).all():
        raise ConfigError(f"{wanted}; this one has entries that are not finite")
    if not ((M > 0).all() if diagonal else np.allclose(M, M.T) and np.linalg.eigvalsh(M)[0] > 0):
        raise ConfigError(f"{wanted}; this one is not positive")
    return M
