"""Block elimination in an order fixed beforehand, against dense solves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.grids.elimination import Elimination
from pnde.grids.ordering import elimination_order

SIZE = 30


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


def matrix(bad=()):
    """Symmetric blocks on a ring with chords; the diagonal blocks of some buses are zero."""
    random = np.random.default_rng(0)
    ring = [(k, (k + 1) % SIZE) for k in range(SIZE)]
    pairs = [*ring, *((k, k + 7) for k in range(0, SIZE - 7, 3))]
    diagonal = random.normal(size=(SIZE, 4, 4)) + 6 * np.diag([-1, -1, 1, 1])
    diagonal = diagonal + np.swapaxes(diagonal, 1, 2)
    diagonal[list(bad)] = 0
    return diagonal, random.normal(size=(len(pairs), 4, 4)), pairs


def whole(diagonal, blocks, pairs):
    dense = np.zeros((SIZE, SIZE, 4, 4))
    dense[np.arange(SIZE), np.arange(SIZE)] = diagonal
    for (i, j), block in zip(pairs, blocks, strict=True):
        dense[i, j], dense[j, i] = block, block.T
    return dense.swapaxes(1, 2).reshape(4 * SIZE, 4 * SIZE)


def solved(order, diagonal, blocks, pairs, right):
    elimination = Elimination(SIZE, order, pairs)
    turned = [given != own for given, own in zip(pairs, elimination.pairs, strict=True)]
    blocks = np.where(np.array(turned)[:, None, None], blocks.swapaxes(1, 2), blocks)

    @jax.jit
    def solve(diagonal, right):
        return elimination.solve(elimination.factor(diagonal, jnp.asarray(blocks)), right)

    return jax.vmap(solve)(jnp.stack([diagonal, 2 * diagonal]), jnp.stack([right, right]))


@pytest.mark.parametrize(("core", "bad"), [(0, ()), (8, (3, 4, 11)), (SIZE, ())])
def test_solutions_are_those_of_a_dense_solve(core, bad):
    """With a zero on the diagonal a bus waits for its neighbours, or stays."""
    diagonal, blocks, pairs = matrix(bad)
    order = elimination_order(diagonal[None], blocks[None], pairs, core)
    assert len(order.core) == core
    assert sorted([*order.touched, *order.core]) == list(range(SIZE))
    if bad:
        assert not set(bad) & set(order.rounds[0])
    right = np.random.default_rng(1).normal(size=(SIZE, 4))
    for k, x in enumerate(solved(order, diagonal, blocks, pairs, right)):
        dense = whole((1 + k) * diagonal, blocks, pairs)
        np.testing.assert_allclose(x.ravel(), np.linalg.solve(dense, right.ravel()), atol=1e-10)


def test_buses_of_a_round_do_not_touch():
    diagonal, blocks, pairs = matrix()
    order = elimination_order(diagonal[None], blocks[None], pairs, core=4)
    assert max(map(len, order.rounds)) > 5
    for buses in order.rounds:
        assert not any(set(order.touched[bus]) & set(buses) for bus in buses)


def test_without_a_good_pivot_all_buses_stay():
    diagonal, blocks, pairs = matrix(range(SIZE))
    order = elimination_order(diagonal[None], blocks[None], pairs, core=4)
    assert order.rounds == [] and len(order.core) == SIZE
