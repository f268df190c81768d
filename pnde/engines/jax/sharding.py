"""A batch spread over devices: each has a part of it, and all have the weights.

`jax.shard_map` runs the program of one device on each of them, on its part. What they tell each other is written out:
the error of each step of the solver, since a batch has common steps, and the loss with its gradient. Loops of diffrax
that are differentiated, and the linear equations of implicit solvers, cannot be traced inside it (equinox 0.13); JAX
divides programs that have these by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from pnde.config import Config
from pnde.engines.jax.devices import devices_of

_AXIS = "devices"
_SPLIT, _WHOLE = PartitionSpec(_AXIS), PartitionSpec()


def mesh_of(config: Config, own: bool = False) -> Mesh | None:
    """The devices that train as the settings say, those of other processes among them; only this one's, if `own`.

    `None` where it is one: its programs know nothing of others then.
    """
    if config.devices == 1:
        return None
    devices = devices_of(config.device, own)
    return None if len(devices) == 1 else Mesh(np.array(devices), (_AXIS,))


class Across(NamedTuple):
    """What one device does to learn of the others' parts of a batch.

    - `part`: of which each of its own segments is in the whole `(S,)`: 1 / their number, 0 for one that only fills up.
    """

    part: Float[Array, " S"]

    def norm(self, error: Float[Array, "S n"]) -> Float[Array, ""]:
        """The `solve.error_norm` of the whole batch."""
        error = jax.lax.stop_gradient(error)
        squares = jnp.where(self.part > 0, jnp.mean(error**2, axis=1), 0)
        size = jnp.sqrt(self.sum(self.part @ squares))
        return jnp.where(jnp.isnan(size), jnp.inf, size)

    def mean(self, values: Array) -> Array:
        """Of a number for each segment, or of one that all have in common."""
        return self.sum(jnp.sum(self.part * values.astype(self.part.dtype)))

    def sum(self, tree: Any) -> Any:
        """Of what each device has."""
        return jax.lax.psum(tree, _AXIS) if _of_one_device() else tree

    def worst(self, value: Array) -> Array:
        """The largest that a device has."""
        return jax.lax.pmax(value, _AXIS) if _of_one_device() else value

    def all(self, flag: Array) -> Array:
        """Whether it is true on each device."""
        return self.worst((~flag).astype(jnp.int32)) == 0


def _of_one_device() -> bool:
    """Whether the program that is traced is of one device's part; else it is of the whole batch."""
    return _AXIS in jax.sharding.get_abstract_mesh().manual_axes


def on_each(
    mesh: Mesh | None,
    function: Callable[..., Any],
    split: Callable[[Any], Any],
    *arguments: Any,
    out: bool = False,
    by_itself: bool = False,
) -> Any:
    """A function of what each device has of the arguments; of all of them where there is one device.

    **Arguments:**

    - `split`: which of the arguments are spread, as a tree of what is `True` for those.
    - `out`: whether the results are spread too, or all devices have the same.
    - `by_itself`: leave it to JAX to divide the function, which is then of the whole batch.
    """
    if mesh is None:
        return function(*arguments)
    if by_itself:
        sharding = NamedSharding(mesh, _spec(out))
        return jax.lax.with_sharding_constraint(function(*arguments), sharding)
    specs = jax.tree.map(_spec, split(arguments))
    # What is the same on all devices follows from sums over them, which JAX need not prove.
    spread = jax.shard_map(
        function, mesh=mesh, in_specs=specs, out_specs=_spec(out), check_vma=False
    )
    return spread(*arguments)


def put(mesh: Mesh | None, tree: Any, split: Any = False) -> Any:
    """Arrays on the devices: spread by their first axis, where `split` says so, or whole on each."""
    if mesh is None:
        return tree

    def place(array: Any, split: bool) -> jax.Array:
        host = np.asarray(array)
        sharding = NamedSharding(mesh, _spec(split))
        # Each process has all of the array, and gives its devices what they are to have.
        return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])

    if isinstance(split, bool):
        split = jax.tree.map(lambda _: split, tree)
    return jax.tree.map(place, tree, split)


def filled_up(mesh: Mesh | None, count: int) -> np.ndarray:
    """Which rows of `count` make parts of one size: all of them, and the first ones again."""
    parts = 1 if mesh is None else mesh.size
    return np.arange(-(-count // parts) * parts) % count


def _spec(split: bool) -> PartitionSpec:
    return _SPLIT if split else _WHOLE
