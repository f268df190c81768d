"""The loads' rows of a large grid as a sparse symmetric system, solved by elimination along the branches.

With G the loads' rows over the columns of all buses but the slack, λ = (G W Gᵀ)⁻¹ b is D y in

    -q + (D G √W)ᵀ y = s,    D G √W q = r,    s = 0,  r = D b.

Unlike G W Gᵀ, this couples only buses that touch. D takes the power of a load back to the current conj(s/v) and
scales the rows to one length. What is left of a row is Y_jk at the other buses, and at the load itself Y_jj and what
its own current adds: the diagonal blocks alone depend on the state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pnde.grids.elimination import Elimination, Factor
from pnde.grids.ordering import CORE, elimination_order

if TYPE_CHECKING:
    from pnde.grids.network import Network

#: Length of the rows of D G √W: the system is at its best where the smallest singular value is about 1.
_LENGTH = 100.0


class LoadFactor(NamedTuple):
    """The system at one state, factored.

    - `scale`: D, a symmetric matrix for each load, ``(L, 2, 2)``.
    """

    scale: Any
    factor: Factor


class SaddlePoint:
    """The system of a network, for arrays of JAX; the order of elimination is found once.

    Vectors of the loads, ``(2 L,)``, have P or Re v of all loads, then Q or Im v.

    **Arguments:**

    - `network`: the network.
    - `core`: how many buses are left to a dense factor.
    """

    def __init__(self, network: Network, core: int = CORE):
        grid = network.grid
        #: all buses but the slack; `loads` is where the loads are among them
        self.buses = np.setdiff1d(np.arange(grid.size), grid.slack)
        self.loads = np.searchsorted(self.buses, grid.loads)
        self._others = np.setdiff1d(np.arange(len(self.buses)), self.loads)
        matrix = grid.admittance()[self.buses][:, self.buses].tocoo()
        of_loads = np.isin(matrix.row, self.loads)
        self._rows, self._columns = matrix.row[of_loads], matrix.col[of_loads]
        self._values = matrix.data[of_loads]
        places = zip(self._rows.tolist(), self._columns.tolist(), strict=True)
        self._entries = dict(zip(places, self._values, strict=True))
        self._own = self._numbers((j, j) for j in self.loads.tolist())
        pairs = sorted({(min(pair), max(pair)) for pair in self._entries if pair[0] != pair[1]})
        self._couple(pairs)

        # Pivots are tried at v = 1, for the projection and for loads that follow the sources: other voltages turn and
        # stretch what a load's own current adds, which is small beside Y.
        voltage = grid.state(np.ones(grid.size))
        injected = grid.buses.active + 1j * grid.buses.reactive + grid.buses.current
        own = network.own_terms(grid.state(np.conj(injected)), network.direction(voltage))
        weights = [np.ones(2 * grid.size), self.of_loads(grid)]
        samples = [self._system(voltage, own, weight) for weight in weights]
        diagonal, blocks = (np.stack([sample[k] for sample in samples]) for k in (1, 2))
        order = elimination_order(diagonal, blocks, pairs, core)
        self.elimination = Elimination(len(self.buses), order, pairs)
        self._couple(self.elimination.pairs)

    def _couple(self, pairs: list[tuple[int, int]]) -> None:
        """Have the blocks of the pairs (i, j) in this order."""
        self._i, self._j = np.array(pairs, int).reshape(-1, 2).T
        self._forth = self._numbers(pairs)
        self._back = self._numbers((j, i) for i, j in pairs)

    def _numbers(self, places: Iterable[tuple[int, int]]) -> np.ndarray:
        """Y at these places, as matrices on real and imaginary part, ``(..., 2, 2)``; 0 in rows of no load."""
        z = np.array([self._entries.get(place, 0) for place in places], complex)
        return np.stack([np.stack([z.real, -z.imag], -1), np.stack([z.imag, z.real], -1)], -2)

    def of_loads(self, grid: Any) -> np.ndarray:
        """The W with which the loads alone move, ``(2 N,)``."""
        weight = np.zeros(2 * grid.size)
        weight[np.concatenate([grid.loads, grid.loads + grid.size])] = 1
        return weight

    def factor(self, voltage: Any, own: Any, weight: Any = None) -> LoadFactor:
        """The system at one state.

        **Arguments:**

        - `voltage`: the state, p.u., ``(2 N,)``.
        - `own`: what the loads' own currents add to their rows; see `Network.own_terms`.
        - `weight`: the diagonal of W, ``(2 N,)``; ones by default.
        """
        weight = np.ones(voltage.shape) if weight is None else weight
        scale, diagonal, blocks = self._system(voltage, own, weight)
        return LoadFactor(scale, self.elimination.factor(diagonal, blocks))

    def scaled(self, of: LoadFactor, b: Any) -> Any:
        """D b, ``(2 L,)``."""
        return _apply(of.scale, _pairs(b)).T.ravel()

    def solve(self, of: LoadFactor, r: Any) -> Any:
        """The y for a right-hand side r, ``(2 L,)``: (D G W GᵀD)⁻¹ r."""
        return self._solved(of, _pairs(r), rows=True)[:, 2:].T.ravel()

    def multipliers(self, of: LoadFactor, b: Any) -> Any:
        """(G W Gᵀ)⁻¹ b, ``(2 L,)``."""
        return self.scaled(of, self.solve(of, self.scaled(of, b)))

    def velocities(self, of: LoadFactor, b: Any) -> Any:
        """The loads' w with G w = b, ``(2 L,)``, for the W that moves them alone."""
        return self._solved(of, _pairs(self.scaled(of, b)), rows=True)[:, :2].T.ravel()

    def transposed(self, of: LoadFactor, s: Any) -> Any:
        """The y with Gᵀ y = s at the loads, ``(2 L,)``, for the W that moves them alone."""
        return self.scaled(of, self._solved(of, _pairs(s), rows=False)[:, 2:].T.ravel())

    def _solved(self, of: LoadFactor, given: Any, rows: bool) -> Any:
        """q and y at the loads, ``(L, 4)``, for r or s ``(L, 2)``."""
        xp = given.__array_namespace__()
        empty = xp.zeros_like(given)
        right = xp.concatenate([empty, given] if rows else [given, empty], axis=1)
        every = xp.zeros((len(self.buses), 4), dtype=given.dtype).at[self.loads].set(right)
        return self.elimination.solve(of.factor, every)[self.loads]

    def _system(self, voltage: Any, own: Any, weight: Any) -> tuple[Any, Any, Any]:
        """D, the diagonal blocks ``(buses, 4, 4)`` for q and y, and those of the pairs ``(pairs, 4, 4)``."""
        xp, dtype = voltage.__array_namespace__(), voltage.dtype
        size = len(voltage) // 2
        over = np if isinstance(weight, np.ndarray) else xp  # constants stay constants
        at = over.stack([weight[:size][self.buses], weight[size:][self.buses]], axis=1)
        root, length = over.sqrt(at), over.sqrt(self._squares(over.mean(at, axis=1)))
        stretch = _LENGTH / over.where(length > 0, length, 1)

        a, b = (x[:size][self.buses][self.loads] for x in (voltage, xp.roll(voltage, -size)))
        turn = xp.stack([xp.stack([a, b], axis=-1), xp.stack([b, -a], axis=-1)], axis=-2)
        of_loads = stretch[self.loads]
        scale = turn * (xp.asarray(of_loads, dtype=dtype) / (a * a + b * b))[:, None, None]
        fixed = xp.asarray(self._own * of_loads[:, None, None], dtype=dtype)
        current = xp.stack([xp.stack(row, axis=-1) for row in own], axis=-2)
        columns = xp.asarray(root[self.loads], dtype=dtype)[:, None, :]
        rows = (fixed + _product(scale, current)) * columns
        minus, empty = xp.zeros_like(rows) - xp.eye(2, dtype=dtype)[None], xp.zeros_like(rows)
        loads = _blocks(xp, minus, xp.swapaxes(rows, 1, 2), rows, empty)
        alone = np.zeros((len(self._others), 4, 4)) - np.eye(4)
        diagonal = xp.concatenate([loads, xp.asarray(alone, dtype=dtype)])
        diagonal = diagonal[np.argsort(np.concatenate([self.loads, self._others]))]

        forth = self._forth * (stretch[self._i][:, None, None] * root[self._j][:, None, :])
        back = self._back * (stretch[self._j][:, None, None] * root[self._i][:, None, :])
        none = over.zeros_like(forth)
        blocks = _blocks(over, none, over.swapaxes(back, 1, 2), forth, none)
        return scale, diagonal, xp.asarray(blocks, dtype=dtype)

    def _squares(self, weight: Any) -> Any:
        """Σₖ |Y_jk|² W_k of every bus; 0 where it is no load."""
        squares = np.abs(self._values) ** 2
        if isinstance(weight, np.ndarray):
            return np.bincount(self._rows, squares * weight[self._columns], len(self.buses))
        from jax.ops import segment_sum

        return segment_sum(squares * weight[self._columns], self._rows, len(self.buses))


def _pairs(x: Any) -> Any:
    """``(2 L,)`` as ``(L, 2)``."""
    return x.__array_namespace__().reshape(x, (2, -1)).T


def _blocks(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """[[a, b], [c, d]]"""
    return xp.concatenate([xp.concatenate([a, b], axis=2), xp.concatenate([c, d], axis=2)], axis=1)


def _product(x: Any, y: Any) -> Any:
    """x y of matrices ``(..., 2, 2)``, elementwise."""
    return x[..., :, :1] * y[..., :1, :] + x[..., :, 1:] * y[..., 1:, :]


def _apply(x: Any, y: Any) -> Any:
    """x y of matrices ``(..., 2, 2)`` and vectors ``(..., 2)``."""
    return x[..., 0] * y[..., :1] + x[..., 1] * y[..., 1:]
