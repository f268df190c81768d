"""The optimiser: Adam's moments of all weights, as one vector each, and as a checkpoint has them."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from pnde.engines.jax import fields
from pnde.errors import RunError

ADAM = optax.scale_by_adam()


def saved(
    adam: optax.ScaleByAdamState, parameters: fields.Parameters, recent: np.ndarray
) -> dict[str, np.ndarray]:
    """The optimiser and the solver's steps in the last batches, as `Training.state` gives them."""
    # From copies on the host: other processes may have a part in the arrays, and none in this.
    adam, parameters = jax.device_get((adam, parameters))
    _, unravel = ravel_pytree(parameters)
    arrays = {
        f"{moment}.{name}": value
        for moment, vector in (("mu", adam.mu), ("nu", adam.nu))
        for name, value in fields.weights(unravel(vector)).items()
    }
    return {"count": np.asarray(adam.count), "recent_steps": recent, **arrays}


def restored(
    parameters: fields.Parameters, state: Mapping[str, np.ndarray]
) -> tuple[optax.ScaleByAdamState, np.ndarray]:
    """The optimiser and the solver's steps in the last batches, as `saved` made them.

    **Raises:** `pnde.errors.RunError` naming what does not fit the parameters.
    """
    like = fields.weights(parameters)
    shapes = {f"{moment}.{name}": like[name].shape for moment in ("mu", "nu") for name in like}
    odd = set(state) ^ {*shapes, "count", "recent_steps"}
    odd |= {name for name in shapes if name not in odd and state[name].shape != shapes[name]}
    if odd:
        raise RunError(
            f"the checkpoint does not fit the model: {min(odd)!r} is not what the optimiser has"
        )
    dtype = jax.tree.leaves(parameters)[0].dtype

    def moment(which: str) -> Array:
        arrays = {name: state[f"{which}.{name}"] for name in like}
        return ravel_pytree(fields.parameters(arrays, dtype))[0]

    count = jnp.asarray(state["count"], jnp.int32)
    adam = optax.ScaleByAdamState(count=count, mu=moment("mu"), nu=moment("nu"))
    return adam, np.asarray(state["recent_steps"])
