"""Block elimination of a symmetric matrix on the pattern of a grid, for many states at once.

A = L D Lᵀ with a block for each bus (and for each two that touch, or come to touch, each other). The order is fixed
beforehand (`pnde.grids.ordering`), so the work is a table of positions: pivots, the entries below them, and what
these take from later entries. The buses of a round do not need one another. Rounds are cut into chunks of one size,
through which a loop runs, so that the program is as long for a large grid as for a small one. What is left, the core,
is dense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from pnde.grids.ordering import Order

#: Sizes that a chunk may have: pivots, entries below them, updates by them.
_SHAPES = ((16, 16, 32), (32, 64, 64), (32, 64, 128), (64, 64, 128), (64, 128, 256))
#: What the start of a chunk costs, in updates.
_START = 100


class _Chunks(NamedTuple):
    """Positions, one row for each chunk.

    - `pivots`: of the diagonal blocks ``(chunks, K)``; `entries`: of the blocks below them ``(chunks, E)``.
    - `columns`: to which pivot of the chunk an entry belongs; `rows`: at which place its bus is.
    - `left`, `right`: entries of the chunk, ``(chunks, U)``; `targets`: of the block from which their product is taken.
    - `places`: of the pivots' buses, ``(chunks, K)``.
    """

    pivots: np.ndarray
    entries: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    left: np.ndarray
    right: np.ndarray
    targets: np.ndarray
    places: np.ndarray


class Factor(NamedTuple):
    """L and D⁻¹ of the chunks, and the LU factor of the core."""

    lower: Any
    inverse: Any
    core: tuple[Any, Any]


class Elimination:
    """A = L D Lᵀ for all matrices of one pattern, on arrays of JAX.

    Blocks are k × k. Everything may be transformed by `jax.vmap`; derivatives are left to who calls it.

    **Arguments:**

    - `size`: the number of buses.
    - `order`: in which they are eliminated.
    - `pairs`: buses that touch each other; blocks are given in this order.
    """

    def __init__(self, size: int, order: Order, pairs: Iterable[tuple[int, int]]):
        leaving = [bus for buses in order.rounds for bus in buses]
        when = {bus: place for place, bus in enumerate([*leaving, *order.core])}
        #: the pairs with the bus that leaves later first, as `factor` takes their blocks
        self.pairs = [(i, j) if when[i] > when[j] else (j, i) for i, j in pairs]
        at = {pair: size + k for k, pair in enumerate(self.pairs)}

        def position(i: int, j: int) -> int:
            """Of the block of two buses, which is a new one if they did not touch before."""
            if i == j:
                return i
            return at.setdefault((i, j) if when[i] > when[j] else (j, i), size + len(at))

        columns = {
            bus: _Column(
                bus,
                [position(bus, i) for i in touched],
                touched,
                [
                    (a, b, position(i, j))
                    for a, i in enumerate(touched)
                    for b, j in enumerate(touched)
                    if when[i] >= when[j]
                ],
            )
            for bus, touched in order.touched.items()
        }
        rounds = [[columns[bus] for bus in buses] for buses in order.rounds]
        self.fill = len(at) - len(self.pairs)
        # Behind all blocks are a zero, an identity, and one to write to, for places in chunks that stay empty.
        self._zero = size + len(at)
        self._chunks = _tables(*_chunks(rounds), self._zero, size)
        core = order.core
        self._core = np.array(core, dtype=np.int32)
        pair_of = [[(i, j) if when[i] > when[j] else (j, i) for j in core] for i in core]
        self._core_blocks = np.array(
            [[i if i == j else at.get((i, j), self._zero) for i, j in row] for row in pair_of],
            np.int32,
        ).reshape(len(core), len(core))
        self._core_turned = np.array(
            [[when[i] < when[j] for j in core] for i in core], bool
        ).reshape(len(core), len(core))
        self.size = size

    @property
    def factor_size(self) -> int:
        """How many numbers a `Factor` of 4 × 4 blocks holds."""
        blocks = self._chunks.entries.size + self._chunks.pivots.size + len(self._core) ** 2
        return 16 * blocks

    def factor(self, diagonal: Any, blocks: Any) -> Factor:
        """L and D of the matrix with these blocks, ``(N, k, k)`` and ``(pairs, k, k)``."""
        return _state_by_state(self._factor)(diagonal, blocks)

    def solve(self, factor: Factor, right: Any) -> Any:
        """A⁻¹ b for b ``(N, k)``."""
        return _state_by_state(self._solve)(factor, right)

    def _factor(self, diagonal: Any, blocks: Any) -> Factor:
        import jax.numpy as jnp
        from jax import lax

        k, dtype = diagonal.shape[-1], diagonal.dtype
        spare = jnp.stack(
            [jnp.zeros((k, k), dtype), jnp.eye(k, dtype=dtype), jnp.zeros((k, k), dtype)]
        )
        x = jnp.concatenate([diagonal, blocks, jnp.zeros((self.fill, k, k), dtype), spare])

        def eliminate(x: Any, chunk: _Chunks) -> Any:
            pivots, entries = _inverse(x[chunk.pivots]), x[chunk.entries]
            multipliers = _product(entries, pivots[chunk.columns])
            change = _product(multipliers[chunk.left], jnp.swapaxes(entries, 1, 2)[chunk.right])
            return x.at[chunk.targets].add(-change), (multipliers, pivots)

        x, (lower, inverse) = lax.scan(eliminate, x, self._chunks)
        core = x[self._core_blocks]
        core = jnp.where(self._core_turned[..., None, None], jnp.swapaxes(core, -1, -2), core)
        whole = jnp.swapaxes(core, 1, 2).reshape(2 * (k * len(self._core),))
        from jax.scipy.linalg import lu_factor

        return Factor(lower, inverse, lu_factor(whole))

    def _solve(self, factor: Factor, right: Any) -> Any:
        import jax.numpy as jnp
        from jax import lax
        from jax.scipy.linalg import lu_solve

        # One more bus, for places in chunks that stay empty.
        y = jnp.concatenate([right, jnp.zeros_like(right[:1])])

        def forward(y: Any, step: Any) -> Any:
            chunk, lower, inverse = step
            own = y[chunk.places]
            y = y.at[chunk.rows].add(-_applied(lower, own[chunk.columns]))
            return y, _applied(inverse, own)

        def backward(x: Any, step: Any) -> Any:
            chunk, lower, own = step
            of_entries = _applied(jnp.swapaxes(lower, 1, 2), x[chunk.rows])
            return x.at[chunk.places].set(own.at[chunk.columns].add(-of_entries)), None

        y, scaled = lax.scan(forward, y, (self._chunks, factor.lower, factor.inverse))
        of_core = lu_solve(factor.core, y[self._core].ravel()).reshape(-1, right.shape[1])
        x = jnp.zeros_like(y).at[self._core].set(of_core)
        x, _ = lax.scan(backward, x, (self._chunks, factor.lower, scaled), reverse=True)
        return x[:-1]


def _state_by_state(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, of which `jax.vmap` on a CPU takes one state after the other, and elsewhere all at once.

    The blocks of one state stay in the cache of a core, those of eight do not: twice to three times the time for 2869
    buses.
    """
    import jax
    from jax.custom_batching import custom_vmap

    call = custom_vmap(function)

    @call.def_vmap
    def batch(size: int, batched: Any, *arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        varies = jax.tree.leaves(batched)

        def one(own: list[Any], shared: list[Any]) -> Any:
            own, shared = list(own), list(shared)
            merged = [own.pop(0) if each else shared.pop(0) for each in varies]
            return call(*jax.tree.unflatten(tree, merged))

        def in_turn(own: list[Any], shared: list[Any]) -> Any:
            return jax.lax.map(lambda own: one(own, shared), own)

        def at_once(own: list[Any], shared: list[Any]) -> Any:
            axes = jax.tree.map(lambda each: 0 if each else None, jax.tree.unflatten(tree, varies))
            return jax.vmap(function, in_axes=axes)(*arguments)

        own = [leaf for leaf, each in zip(leaves, varies, strict=True) if each]
        shared = [leaf for leaf, each in zip(leaves, varies, strict=True) if not each]
        found = jax.lax.platform_dependent(own, shared, cpu=in_turn, default=at_once)
        return found, jax.tree.map(lambda _: True, found)

    return call


class _Column(NamedTuple):
    """A pivot with the blocks below it: their positions and buses, and the updates (left, right, target)."""

    bus: int
    entries: list[int]
    touched: list[int]
    updates: list[tuple[int, int, int]]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return 1, len(self.entries), len(self.updates)


_Shape = tuple[int, int, int]
_Chunk = list[_Column]


def _chunks(rounds: list[_Chunk]) -> tuple[list[_Chunk], _Shape]:
    """The rounds in chunks, and the shape of these with which the work is least."""
    sizes = [(1, 1, 1), *(column.sizes for columns in rounds for column in columns)]
    largest = np.max(sizes, axis=0)

    def cut(shape: _Shape) -> tuple[list[_Chunk], _Shape]:
        k, e, u = np.maximum(shape, largest).tolist()
        chunks = [chunk for columns in rounds for chunk in _filled(columns, (k, e, u))]
        return chunks, (k, e, u)

    return min(map(cut, _SHAPES), key=lambda cut: len(cut[0]) * (_START + sum(cut[1])))


def _filled(columns: _Chunk, shape: _Shape) -> list[_Chunk]:
    """The columns of a round in chunks, none of which holds more than its shape."""
    chunks: list[_Chunk] = []
    room = np.zeros(3, int)
    for column in columns:
        if (room < column.sizes).any():
            chunks.append([])
            room = np.array(shape)
        chunks[-1].append(column)
        room -= column.sizes
    return chunks


def _tables(chunks: list[_Chunk], shape: _Shape, zero: int, size: int) -> _Chunks:
    """Positions of all chunks in tables of one shape; empty places read a zero or an identity, and write behind all."""
    k, e, u = shape
    identity, nowhere = zero + 1, zero + 2
    fills = (identity, zero, 0, size, 0, 0, nowhere, size)
    widths = (k, e, e, e, u, u, u, k)
    tables = [
        np.full((len(chunks), width), fill, np.int32)
        for width, fill in zip(widths, fills, strict=True)
    ]
    for row, chunk in enumerate(chunks):
        first = 0
        lists: list[list[int]] = [[] for _ in tables]
        for place, column in enumerate(chunk):
            count = len(column.entries)
            left, right, targets = (
                zip(*column.updates, strict=True) if column.updates else ((), (), ())
            )
            own = (
                [column.bus],
                column.entries,
                [place] * count,
                column.touched,
                [first + a for a in left],
                [first + b for b in right],
                targets,
                [column.bus],
            )
            for values, more in zip(lists, own, strict=True):
                values.extend(more)
            first += count
        for table, values in zip(tables, lists, strict=True):
            table[row, : len(values)] = values
    return _Chunks(*tables)


def _product(x: Any, y: Any) -> Any:
    """x y of small blocks ``(..., k, k)``, elementwise: a library's product would be called for each of them."""
    return sum(x[..., :, k, None] * y[..., None, k, :] for k in range(x.shape[-1]))


def _applied(x: Any, y: Any) -> Any:
    """x y of small blocks ``(..., k, k)`` and vectors ``(..., k)``."""
    return sum(x[..., :, k] * y[..., None, k] for k in range(x.shape[-1]))


def _inverse(x: Any) -> Any:
    """x⁻¹ of blocks ``(..., 4, 4)`` by the minors of its upper and its lower half."""
    from itertools import combinations

    stack = x.__array_namespace__().stack
    sides = list(combinations(range(4), 2))

    def minors(i: int, j: int) -> dict[tuple[int, int], Any]:
        return {(a, b): x[..., i, a] * x[..., j, b] - x[..., i, b] * x[..., j, a] for a, b in sides}

    upper, lower = minors(0, 1), minors(2, 3)
    sign = {(0, 1): 1, (0, 2): -1, (0, 3): 1, (1, 2): 1, (1, 3): -1, (2, 3): 1}
    other = dict(zip(sides, reversed(sides), strict=True))
    determinant = sum(sign[s] * upper[s] * lower[other[s]] for s in sides)

    def cofactor(i: int, j: int) -> Any:
        """Of the entry (i, j): the minor of the other rows and columns, with its sign."""
        half, row = (lower, 1 - i) if i < 2 else (upper, 5 - i)
        a, b, c = (column for column in range(4) if column != j)
        minor = (
            x[..., row, a] * half[b, c] - x[..., row, b] * half[a, c] + x[..., row, c] * half[a, b]
        )
        return -minor if (i + j) % 2 else minor

    rows = [stack([cofactor(i, j) for i in range(4)], -1) for j in range(4)]
    return stack(rows, -2) / determinant[..., None, None]
