"""Projections with Jacobians that are hard to factor: dependent, nearly dependent, badly scaled rows."""

import warnings
from fractions import Fraction

import jax
import numpy as np
import pytest
from projections import (
    close,
    derivatives,
    direction,
    on_device,
    plain_derivatives,
    problem,
    projector,
    rcond,
)

from pnde.engines.jax.projection import project
from pnde.engines.jax.structures.dense import Truncated
from pnde.engines.rank import check_rows
from pnde.errors import ConstraintError, IllConditionedWarning

pytestmark = pytest.mark.usefixtures("strict")


def exact(G, v, b):
    """The Euclidean projection in rational arithmetic, of independent rows."""
    G = [[Fraction(float(g)) for g in row] for row in G]
    v, b = [Fraction(float(a)) for a in v], [Fraction(float(a)) for a in b]
    rows = [
        [sum(a * c for a, c in zip(g, other, strict=True)) for other in G]
        + [sum(a * c for a, c in zip(g, v, strict=True)) + b[i]]
        for i, g in enumerate(G)
    ]
    for i, pivot in enumerate(rows):
        pivot[:] = [a / pivot[i] for a in pivot]
        for other in rows:
            if other is not pivot:
                other[:] = [a - other[i] * c for a, c in zip(other, pivot, strict=True)]
    lam = [row[-1] for row in rows]
    return np.array(
        [float(v[j] - sum(x * g[j] for x, g in zip(lam, G, strict=True))) for j in range(len(v))]
    )


def hard(case):
    """G, v, b, and the projection."""
    G, v, b = problem("none", seed=4)
    if case == "repeated row":
        return G[[0, 1, 0]], v, b[[0, 1, 0]], exact(G[:2], v, b[:2])
    if case == "scaled repeated row":
        D = np.array([1, 1, -3.7e5])
        return D[:, None] * G[[0, 1, 0]], v, D * b[[0, 1, 0]], exact(G[:2], v, b[:2])
    if case == "zero row":
        return G * [[1], [0], [1]], v, b * [1, 0, 1], exact(G[[0, 2]], v, b[[0, 2]])
    left, _, right = np.linalg.svd(G, full_matrices=False)
    G = left @ np.diag([1, 1e-3, 1e-6]) @ right  # κ = 1e6
    b = G @ v[::-1]
    return G, v, b, exact(G, v, b)


DEPENDENT = ("repeated row", "scaled repeated row", "zero row")


@pytest.mark.parametrize(
    ("case", "method"), [*((case, "truncated") for case in DEPENDENT), ("ill", "qr")]
)
def test_the_method_made_for_it_is_right(case, method):
    G, v, b, p = hard(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = project(*on_device((G, v, b)), method=method)
    tolerance = 1e-9 if case == "ill" else 1e-13
    close(ours, p, tolerance)
    assert np.abs(G @ ours + b).max() <= 1e-12 * np.linalg.norm(G, 2)


@pytest.mark.parametrize("case", DEPENDENT)
@pytest.mark.parametrize("method", ["cholesky", "qr"])
def test_dependent_rows_are_refused_with_the_remedy(case, method):
    G, v, b, _ = hard(case)
    with pytest.raises(ConstraintError, match=r"rows of the law are dependent.*\"truncated\""):
        project(*on_device((G, v, b)), method=method)
    # Where nothing can be raised, `condition` tells.
    assert rcond(method)(G) < 1e-15


@pytest.mark.parametrize("method", ["cholesky", "qr"])
def test_dependent_rows_are_found_among_many(method):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        G = rng.normal(size=(20, 30))
        check_rows(rcond(method)(G), method)
        G[-1] = rng.normal(size=19) @ G[:-1]
        with pytest.raises(ConstraintError, match="rows of the law are dependent"):
            check_rows(rcond(method)(G), method)


def test_ill_conditioned_rows_bring_a_warning_from_cholesky():
    G, v, b, p = hard("ill")
    with pytest.warns(
        IllConditionedWarning, match=r'nearly dependent.*use projection.method = "qr"'
    ):
        ours = project(*on_device((G, v, b)), method="cholesky")
    assert np.abs(ours - p).max() > 1e-9  # the warning is deserved
    with pytest.warns(IllConditionedWarning, match="float64"):
        check_rows(rcond("qr")(G.astype("float32")), "qr")


def test_rows_of_very_different_size_are_harmless():
    G, v, b = problem("none")
    D = np.array([1e-8, 1.0, 1e9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_rows(rcond("cholesky")(D[:, None] * G), "cholesky")
    p = projector("cholesky")(*on_device((D[:, None] * G, v, D * b)))
    close(p, exact(G, v, b), 1e-13)


def test_derivatives_at_dependent_rows_are_those_of_the_independent_ones():
    repeat = np.array([0, 1, 0, 2, 1])
    x = problem("matrix")
    d = direction(x)

    def repeated(G, v, b, W):
        return project(G[repeat], v, b[repeat], W, method="truncated")

    close(derivatives(repeated)(x, d), plain_derivatives(x, d), 1e-11)


def test_truncated_rank_is_counted_in_the_precision_at_hand():
    nearly = np.array([[1, 0, 0], [1, 1e-9, 0]])
    inverse = jax.jit(lambda G: Truncated.of(G, None).inverse)
    for dtype, rank in (("float64", 2), ("float32", 1)):
        assert np.count_nonzero(inverse(nearly.astype(dtype))) == rank
