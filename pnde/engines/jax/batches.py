"""Batches of segments as the engine holds them: on a device, or spread over several."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float

from pnde.engines import Batch
from pnde.engines.jax.driving import Drive, drive
from pnde.engines.jax.sharding import Across, filled_up, put


class Segments(NamedTuple):
    """Segments on the device.

    - `u`: `(S, k+1, n)`; `c`: targets `(S, m)`.
    - `drive`: conditions, on clocks that begin at the first point.
    - `grid`: times relative to the start: `(k+1,)` where all segments share them, else `(S, k+1)`.
    - `share`: weight of each segment in the mean `(S,)`; 0 for padding.
    - `known`: 1 for the predicted entries that were measured, 0 for the others; `None` if all were.
    - `part`: of a batch that is spread over devices, see `Across`; else `None`.
    """

    u: Float[Array, "S points n"]
    c: Float[Array, "S m"]
    drive: Drive
    grid: Float[Array, "*S points"]
    share: Float[Array, " S"]
    known: Float[Array, "S steps n"] | None
    part: Float[Array, " S"] | None = None

    @property
    def across(self) -> Across | None:
        return None if self.part is None else Across(self.part)

    @property
    def split(self) -> Segments:
        """What of it is spread over devices, of a batch that is: all but a time grid that segments share."""
        return jax.tree.map(lambda _: True, self)._replace(grid=self.grid.ndim > 1)


def on_device(batch: Batch, dtype: Any) -> Segments:
    """A batch as the engine holds it."""
    arrays = (batch.u, batch.c, batch.grid, batch.share)
    known = None if batch.known is None else jnp.asarray(batch.known[:, 1:], dtype)
    u, c, grid, share = (jnp.asarray(array, dtype) for array in arrays)
    return Segments(u, c, drive(batch.conditions, batch.start, dtype), grid, share, known)


def spread(mesh: Mesh | None, segments: Segments) -> Segments:
    """A batch with a part of it on each device, filled up with segments of no weight to parts of one size."""
    if mesh is None:
        return segments
    count = len(segments.share)
    rows = filled_up(mesh, count)
    own = jnp.asarray(np.arange(len(rows)) < count, segments.share.dtype)
    split = segments.split
    whole = jax.tree.map(lambda array, split: array[rows] if split else array, segments, split)
    whole = whole._replace(share=whole.share * own, part=own / count)
    return put(mesh, whole, whole.split)


def split_segments(arguments: Any) -> Any:
    """Which arguments of a step are spread over devices: batches."""
    return jax.tree.map(
        lambda one: one.split if isinstance(one, Segments) else False,
        arguments,
        is_leaf=lambda one: isinstance(one, Segments),
    )
