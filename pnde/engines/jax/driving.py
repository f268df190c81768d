"""What drives trajectories, on the device: their clocks, inputs and parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pnde.laws import Conditions, Instant

# Of so few knots all are compared with the time at once, which a device does faster than a search.
_FEW = 256


class Drive(NamedTuple):
    """The conditions of trajectories on clocks of their own; see `pnde.data.Inputs`. One axis more in front of each of
    many.

    - `start`: the time at which the clock is zero, in float64: seconds of an epoch have no digits left in float32.
    - `knots`, `coefficients`, `jumps`, `kinks`: of the inputs, by the clock; `None` without.
    - `p`: parameters; `None` without.
    """

    start: Float[Array, "*B"]
    knots: Float[Array, "*B K"] | None = None
    coefficients: Float[Array, "*B K 4 k"] | None = None
    jumps: Float[Array, "*B J"] | None = None
    kinks: Float[Array, "*B Q"] | None = None
    p: Float[Array, "*B r"] | None = None


def drive(conditions: Conditions, start: np.ndarray, dtype: Any) -> Drive:
    """Conditions by clocks that begin at `start` `(B,)`, on the device."""
    inputs = conditions.inputs
    zero = jnp.asarray(start, jnp.float64)
    p = None if conditions.p is None else jnp.asarray(conditions.p, dtype)
    if inputs is None:
        return Drive(zero, p=p)
    knots, coefficients, jumps, kinks = (jnp.asarray(x, dtype) for x in inputs.arrays)
    return Drive(
        zero,
        knots,
        coefficients,
        jumps if jumps.shape[1] else None,
        kinks if kinks.shape[1] else None,
        p,
    )


def instant(drive: Drive, clock: Float[Array, ""]) -> Instant:
    """The instant at which the clock of a trajectory, or the one of several, shows a time."""
    if drive.start.ndim:
        return jax.vmap(instant, in_axes=(0, None))(drive, clock)
    t = drive.start + clock.astype(drive.start.dtype)
    if drive.knots is None or drive.coefficients is None:
        return Instant(t, p=drive.p)
    clock = clock.astype(drive.knots.dtype)
    way = "compare_all" if len(drive.knots) < _FEW else "scan"
    piece = jnp.searchsorted(drive.knots, clock, side="right", method=way) - 1
    piece = jnp.maximum(piece, 0)
    a, b, c, d = drive.coefficients[piece]
    s = clock - drive.knots[piece]
    w = ((d * s + c) * s + b) * s + a
    return Instant(t, w, (3 * d * s + 2 * c) * s + b, 6 * d * s + 2 * c, drive.p)
