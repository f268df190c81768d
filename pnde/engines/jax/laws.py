"""Laws on JAX arrays: h, its Jacobian as an operator, ∂h/∂t, and the metric."""

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


def value(constraint: Constraint, u: Float[Array, " n"], t: Any) -> Float[Array, " m"]:
    """h(u, t)

    **Raises:** `pnde.errors.ConstraintError` if the law cannot be evaluated on JAX arrays.
    """
    with explained(f"the law {constraint.label!r}", constraint.h, u.shape[-1]):
        return constraint.value(u, t)


def jacobian(constraint: Constraint, u: Float[Array, " n"], t: Any) -> AbstractJacobian:
    """G = ∂h/∂u at one state, with the structure that the law declares."""
    return operator(constraint.structure, constraint, u, t)


@singledispatch
def operator(structure: Any, constraint: Constraint, u: Array, t: Any) -> AbstractJacobian:
    """The operator that belongs to a structure; register one for each structure."""
    raise NotImplementedError(f"no operator for the structure {type(structure).__name__}")


@operator.register
def _dense(structure: None, constraint: Constraint, u: Array, t: Any) -> AbstractJacobian:
    if constraint.jacobian is not None:
        what = f"the jacobian of the law {constraint.label!r}"
        with explained(what, constraint.jacobian, u.shape[-1]):
            matrix = jnp.asarray(constraint.jacobian_value(u, t), u.dtype)
        shape = (*jax.eval_shape(lambda u: value(constraint, u, t), u).shape, *u.shape)
        if matrix.shape != shape:
            raise ConstraintError(
                f"the jacobian of the law {constraint.label!r} has shape {matrix.shape} instead of {shape}: "
                "a row for each row of the law, a column for each state"
            )
        return DenseJacobian(matrix)
    # The law has fewer rows than states, so reverse mode is the cheap one.
    return DenseJacobian(jax.jacrev(lambda u: value(constraint, u, t))(u))


@operator.register
def _constant(
    structure: ConstantJacobian, constraint: Constraint, u: Array, t: Any
) -> AbstractJacobian:
    # A concrete matrix, not a traced one: `projection.factorise` then factors it once, when the program is compiled.
    with jax.ensure_compile_time_eval():
        return DenseJacobian(jnp.asarray(structure.matrix, dtype=u.dtype))


def drift(constraint: Constraint, u: Float[Array, " n"], t: Any) -> Float[Array, " m"] | None:
    """∂h/∂t, or `None` for a law that does not depend on time."""
    if not constraint.time_dependent:
        return None
    if not jnp.issubdtype(jnp.result_type(t), jnp.floating):
        t = jnp.asarray(t, dtype=u.dtype)
    t = jnp.asarray(t)  # in its own precision, which may be higher than the state's
    return jax.jvp(lambda t: value(constraint, u, t), (t,), (jnp.ones_like(t),))[1]


def inverse_metric(metric: Any, u: Float[Array, " n"]) -> InverseMetric:
    """W = M⁻¹ for a metric `None`, `(n,)`, `(n, n)`, or a function of u giving either."""
    if metric is None:
        return None
    if callable(metric):
        M = jnp.asarray(metric(u), dtype=u.dtype)
        return 1 / M if M.ndim == 1 else jnp.linalg.inv(M)
    W = 1 / metric if metric.ndim == 1 else np.linalg.inv(metric)
    return jnp.asarray(W, dtype=u.dtype)
