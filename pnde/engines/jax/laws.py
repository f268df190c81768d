"""Laws on JAX arrays: h, its Jacobian as an operator, its own velocity, and the metric."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.engines.jax.inspection import explained
from pnde.engines.jax.structures.dense import DenseJacobian
from pnde.engines.jax.structures.jacobian import AbstractJacobian, InverseMetric
from pnde.errors import ConstraintError
from pnde.laws import ConstantJacobian, Constraint
from pnde.laws.instant import Instant


def value(constraint: Constraint, u: Float[Array, " n"], at: Instant) -> Float[Array, " m"]:
    """h of a state at an instant.

    **Raises:** `pnde.errors.ConstraintError` if the law cannot be evaluated on JAX arrays.
    """
    with explained(f"the law {constraint.label!r}", constraint.h, u.shape[-1]):
        return constraint.value(u, at)


def jacobian(constraint: Constraint, u: Float[Array, " n"], at: Instant) -> AbstractJacobian:
    """G = ∂h/∂u at one state, with the structure that the law declares."""
    return operator(constraint.structure, constraint, u, at)


@singledispatch
def operator(structure: Any, constraint: Constraint, u: Array, at: Instant) -> AbstractJacobian:
    """The operator that belongs to a structure; register one for each structure."""
    raise NotImplementedError(f"no operator for the structure {type(structure).__name__}")


@operator.register
def _dense(structure: None, constraint: Constraint, u: Array, at: Instant) -> AbstractJacobian:
    if constraint.jacobian is not None:
        what = f"the jacobian of the law {constraint.label!r}"
        with explained(what, constraint.jacobian, u.shape[-1]):
            matrix = jnp.asarray(constraint.jacobian_value(u, at), u.dtype)
        shape = (*jax.eval_shape(lambda u: value(constraint, u, at), u).shape, *u.shape)
        if matrix.shape != shape:
            raise ConstraintError(
                f"the jacobian of the law {constraint.label!r} has shape {matrix.shape} instead of {shape}: "
                "a row for each row of the law, a column for each state"
            )
        return DenseJacobian(matrix)
    # The law has fewer rows than states, so reverse mode is the cheap one.
    return DenseJacobian(jax.jacrev(lambda u: value(constraint, u, at))(u))


@operator.register
def _constant(
    structure: ConstantJacobian, constraint: Constraint, u: Array, at: Instant
) -> AbstractJacobian:
    # A concrete matrix, not a traced one: `projection.factorise` then factors it once, when the program is compiled.
    with jax.ensure_compile_time_eval():
        return DenseJacobian(jnp.asarray(structure.matrix, dtype=u.dtype))


def drift(constraint: Constraint, u: Float[Array, " n"], at: Instant) -> Float[Array, " m"] | None:
    """∂h/∂t + (∂h/∂w) ẇ: the velocity of h at a state that stands still, or `None` for a law that does not move."""
    if not constraint.moves:
        return None
    t = at.t
    if not jnp.issubdtype(jnp.result_type(t), jnp.floating):
        t = jnp.asarray(t, dtype=u.dtype)
    t = jnp.asarray(t)  # in its own precision, which may be higher than the state's

    def moved(t, w, rate):
        return value(constraint, u, at._replace(t=t, w=w, rate=rate))

    return jax.jvp(moved, (t, at.w, at.rate), (jnp.ones_like(t), at.rate, at.curvature))[1]


def restricted(metric: Any, u: Float[Array, " n"], free: np.ndarray | None) -> InverseMetric:
    """W of movements in which only the states with a 1 in `free` `(n,)` take part; all without it."""
    W = inverse_metric(metric, u)
    if free is None:
        return W
    if W is None or W.ndim == 1:
        return jnp.asarray(free, u.dtype) * (1 if W is None else W)
    at = np.ix_(np.flatnonzero(free), np.flatnonzero(free))
    return jnp.zeros_like(W).at[at].set(jnp.linalg.inv(jnp.linalg.inv(W)[at]))


def inverse_metric(metric: Any, u: Float[Array, " n"]) -> InverseMetric:
    """W = M⁻¹ for a metric `None`, `(n,)`, `(n, n)`, or a function of u giving either."""
    if metric is None:
        return None
    if callable(metric):
        M = jnp.asarray(metric(u), dtype=u.dtype)
        return 1 / M if M.ndim == 1 else jnp.linalg.inv(M)
    W = 1 / metric if metric.ndim == 1 else np.linalg.inv(metric)
    return jnp.asarray(W, dtype=u.dtype)
