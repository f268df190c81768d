"""What every projection does, on random Jacobians, velocities and metrics."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from projections import M_ROWS, N, every_method, on_device, projector

pytestmark = pytest.mark.usefixtures("strict")

numbers = st.floats(-1, 1, allow_subnormal=False)
SCALES = st.floats(1e-6, 1e6)


@st.composite
def projections(draw):
    """G of moderate condition, two velocities, an offset, a metric and its inverse."""
    G = draw(arrays(float, (M_ROWS, N), elements=numbers))
    B = draw(arrays(float, (N, N), elements=numbers))
    v, w = (10 * draw(arrays(float, N, elements=numbers)) for _ in range(2))
    b = draw(arrays(float, M_ROWS, elements=numbers))
    sigma = np.linalg.svd(G, compute_uv=False)
    assume(sigma[-1] > 1e-3 * sigma[0] and sigma[0] > 1e-3)
    W = B @ B.T + 0.1 * np.eye(N)
    return G, v, w, b, W, np.linalg.inv(W)


def apply(method, *x):
    return np.asarray(projector(method)(*on_device(x)))


def holds(error, *sizes):
    """Rounding, of a condition up to some 1e7, of quantities of these sizes."""
    assert np.abs(error).max() <= 1e-8 * max(1.0, *(np.abs(size).max() for size in sizes))


properties = settings(max_examples=40, deadline=None, derandomize=True)


@every_method
@properties
@given(x=projections())
def test_obeys_the_law(method, x):
    G, v, _, b, W, _ = x
    p = apply(method, G, v, b, W)
    holds(G @ p + b, v, p)


@every_method
@properties
@given(x=projections())
def test_idempotent(method, x):
    G, v, _, b, W, _ = x
    p = apply(method, G, v, b, W)
    holds(apply(method, G, p, b, W) - p, v, p)


@every_method
@properties
@given(x=projections())
def test_non_expansive(method, x):
    G, v, _, b, W, M = x
    p = apply(method, G, v, 0 * b, W)
    assert p @ M @ p <= v @ M @ v * (1 + 1e-8) + 1e-12


@every_method
@properties
@given(x=projections())
def test_self_adjoint(method, x):
    G, v, w, b, W, M = x
    left = apply(method, G, v, 0 * b, W) @ M @ w
    right = v @ M @ apply(method, G, w, 0 * b, W)
    holds(left - right, v @ M @ v, w @ M @ w)


@every_method
@properties
@given(x=projections(), D=arrays(float, M_ROWS, elements=SCALES))
def test_independent_of_row_scaling(method, x, D):
    G, v, _, b, W, _ = x
    p = apply(method, G, v, b, W)
    holds(apply(method, D[:, None] * G, v, D * b, W) - p, v, p)
