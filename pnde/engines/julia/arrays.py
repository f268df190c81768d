"""Arrays at the border: a row-major (B, n) of NumPy is a column-major (n, B) of Julia, the same numbers in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.engines import Trajectories
from pnde.engines.julia.session import julia


def to_julia(array: Any, dtype: str = "float64", on_card: bool = False) -> Any:
    """A Julia array of its own, with the dimensions in the opposite order: the same numbers in memory."""
    with julia() as jl:
        owned = jl.owned(np.ascontiguousarray(array, dtype).T)
        return jl.on_card(owned) if on_card else owned


def to_python(array: Any) -> np.ndarray:
    """The inverse of `to_julia`, a copy, of an array on a card too."""
    with julia() as jl:
        return np.ascontiguousarray(np.array(jl.on_host(array)).T)


def has_card(device: str) -> bool:
    """Whether arrays go to a card, as the setting `device` says; the first question loads CUDA.jl where it is there."""
    if device == "cpu":
        return False
    with julia() as jl:
        return bool(jl.find_card())


def trajectories_of(out: Any) -> Trajectories:
    """What Julia's `Trajectories` hold, batch first."""
    u = np.moveaxis(np.asarray(out.u, np.float64), 2, 0)
    u = np.moveaxis(u, 1, 2)
    return Trajectories(
        u=np.where(np.isfinite(u), u, np.nan),
        status=np.array(out.status, np.int8),
        steps=np.array(out.steps),
        evaluations=np.array(out.evaluations),
        c=to_python(out.c) if out.c.shape[0] else None,
    )
