"""Following a root while the equations change from ones that a state solves to those wanted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: Longest step at any bus, of its voltage: a longer one may have left for another root.
_LONGEST = 0.3
#: Shortest step, of a whole; where it is not short enough the path has ended.
_SHORTEST = 1e-3


def follow(
    root_at: Callable[[float, np.ndarray], np.ndarray | None], voltage: np.ndarray
) -> np.ndarray | None:
    """The root at t = 1 that the root at t = 0 becomes, with steps as long as they succeed.

    **Arguments:**

    - `root_at`: of t and complex voltages to start from: the root there, or None.
    - `voltage`: complex root at t = 0, p.u., ``(N,)``.

    **Returns:** complex voltages, p.u., ``(N,)``, or None where the path ends before t = 1.
    """
    t, step, last = 0.0, 1.0, 1.0
    growth = np.ones(len(voltage), complex)  # of the voltages over the last step
    while step >= _SHORTEST:
        ahead = min(1.0, t + step)
        guess = voltage * growth ** ((ahead - t) / last)
        found = root_at(ahead, guess)
        if found is None or np.abs(found / guess - 1).max() > _LONGEST:
            step /= 2
            continue
        if ahead == 1:
            return found
        growth, last = found / voltage, ahead - t
        voltage, t, step = found, ahead, 2 * step
    return None
