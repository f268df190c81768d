"""The order in which the buses of a large grid are eliminated: fixed by its pattern, tried on numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

#: So many buses are left to a dense factor, which pivots: the last ones have many neighbours.
CORE = 16
#: A pivot is good if rounding errors of the numbers it came from grow by no more than this.
_GROWTH = 1e6
#: How many more neighbours than the fewest a bus of the same round may have: wider rounds, a little more work.
_MORE = 2


class Order(NamedTuple):
    """Which buses are eliminated when.

    - `rounds`: for each round, the buses that leave in it; no two of them touch each other.
    - `touched`: for each bus that leaves, those that it touches at that time.
    - `core`: the buses that stay.
    """

    rounds: list[list[int]]
    touched: dict[int, list[int]]
    core: list[int]


class _Pivot(NamedTuple):
    """The diagonal block of a bus, ``(samples, k, k)``, and the size of all that it is a sum of."""

    block: np.ndarray
    size: np.ndarray

    def less(self, change: np.ndarray) -> _Pivot:
        return _Pivot(self.block - change, self.size + np.abs(change))

    def inverse(self) -> np.ndarray | None:
        """None if the pivot is a bad one."""
        try:
            inverse = np.linalg.inv(self.block)
        except np.linalg.LinAlgError:
            return None
        growth = (np.abs(inverse) @ self.size).max()
        return inverse if growth < _GROWTH else None


_Rows = dict[int, dict[int, np.ndarray]]


def elimination_order(
    diagonal: np.ndarray, blocks: np.ndarray, pairs: Iterable[tuple[int, int]], core: int = CORE
) -> Order:
    """Rounds of buses with few neighbours that do not touch each other, until `core` are left.

    The elimination is done, once, on the numbers given. A bus whose pivot is bad waits until others
    have left, and stays in the core if its pivot never becomes a good one.

    **Arguments:**

    - `diagonal`: a symmetric block for each bus, in samples of the matrix, ``(samples, N, k, k)``.
    - `blocks`: the blocks (i, j) of the `pairs`, ``(samples, pairs, k, k)``; those of (j, i) are
        their transposes.
    - `pairs`: of buses that touch, each once.
    - `core`: how many buses stay.
    """
    pivots = {bus: _Pivot(block, np.abs(block)) for bus, block in enumerate(_by_bus(diagonal))}
    rows: _Rows = {bus: {} for bus in pivots}
    for (i, j), block in zip(pairs, _by_bus(blocks), strict=True):
        rows[i][j], rows[j][i] = block, np.swapaxes(block, -1, -2)
    order = Order([], {}, [])
    while len(rows) > core:
        leaving = _leaving(rows, pivots, len(rows) - core)
        if not leaving:
            break
        order.rounds.append(list(leaving))
        for bus, inverse in leaving.items():
            order.touched[bus] = list(rows[bus])
            _eliminate(bus, inverse, rows, pivots)
    order.core.extend(rows)
    return order


def _by_bus(blocks: np.ndarray) -> np.ndarray:
    return np.moveaxis(blocks, 1, 0)


def _leaving(rows: _Rows, pivots: dict[int, _Pivot], most: int) -> dict[int, np.ndarray]:
    """Buses that leave in one round, with the inverses of their pivots."""
    limit, blocked = np.inf, set[int]()
    leaving: dict[int, np.ndarray] = {}
    for bus in sorted(rows, key=lambda bus: len(rows[bus])):
        if len(rows[bus]) > limit or len(leaving) == most:
            break
        if bus in blocked or (inverse := pivots[bus].inverse()) is None:
            continue
        limit = min(limit, len(rows[bus]) + _MORE)
        leaving[bus] = inverse
        blocked.update(rows[bus])
    return leaving


def _eliminate(bus: int, inverse: np.ndarray, rows: _Rows, pivots: dict[int, _Pivot]) -> None:
    """Take a bus out of the rows of those that it touches, and add what it was between them."""
    row = rows.pop(bus)
    del pivots[bus]
    for i in row:
        left = rows[i].pop(bus) @ inverse
        for j, right in row.items():
            if i == j:
                pivots[i] = pivots[i].less(left @ right)
            else:
                rows[i][j] = rows[i].get(j, 0) - left @ right
