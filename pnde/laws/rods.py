"""The law of a chain of rigid rods (paper, Eq. 27-28)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import ConstraintError, DataError
from pnde.laws.constraint import Constraint
from pnde.laws.instant import Instant


class RodsStructure:
    """Structure of a law with two rows for each link of a chain: its Gram matrix is factored in O(N).

    `pivot` tells whether the point that the chain hangs on is an input.
    """

    def __init__(self, pivot: bool = False):
        self.pivot = pivot


class Rods(Constraint):
    """Rods in a chain that hangs on a point keep their lengths.

    The state is (x_1 … x_N, y_1 … y_N, ẋ_1 … ẋ_N, ẏ_1 … ẏ_N). With Δq_i = q_i - q_i-1 the rows are ‖Δq_i‖² = l_i²
    (N rows), then Δq_i · Δq̇_i = 0 (N rows). The chain hangs on the origin, q_0 = 0, or on a pivot that the first two
    inputs move about, q_0 = (w_1, w_2) and q̇_0 = (ẇ_1, ẇ_2); these have to be cubic between samples.

    **Arguments:**

    - `lengths`: l_i, `(N,)`, in the unit of the positions.
    - `states`: the names of the 4N states.
    - `moving_pivot`: whether the first two inputs are the pivot's position.

    **Raises:** `pnde.errors.ConstraintError` for a length that is not positive.
    """

    target: np.ndarray
    of_velocities = True

    def __init__(
        self, lengths: Any, states: Sequence[str] | None = None, moving_pivot: bool = False
    ):
        self.lengths = np.atleast_1d(np.asarray(lengths, dtype=float))
        for i, length in enumerate(self.lengths, start=1):
            if not 0 < length < np.inf:
                raise ConstraintError(f"rod {i} has the length {length:g}; it must be positive")
        rods = [f"rod {i}" for i in range(1, len(self.lengths) + 1)]
        super().__init__(
            self._rows,
            target=np.concatenate([self.lengths**2, np.zeros(len(self.lengths))]),
            jacobian=self._matrix,
            names=[f"squared length of {rod}" for rod in rods]
            + [f"stretching of {rod}" for rod in rods],
            states=states,
            julia="Rods",
            julia_parameters={"moving_pivot": True} if moving_pivot else None,
        )
        self.takes = frozenset({"w"}) if moving_pivot else frozenset()
        self.structure = RodsStructure(moving_pivot)

    @property
    def label(self) -> str:
        return "rods"

    @classmethod
    def of_data(cls, ds: xr.Dataset, tolerance: float = 1e-2) -> Rods:
        """The law with the rod lengths that the data show, such as those of a camera that counts in pixels.

        **Arguments:**

        - `ds`: a data set in the standard layout whose 4N states are in the order of this law, whatever their names.
        - `tolerance`: how far a rod's length may be off its median, relative to it.

        **Raises:** `pnde.errors.ConstraintError` naming the rod, trajectory, time and length if a length varies by
        more; `pnde.errors.DataError` if the number of states is not a multiple of 4.
        """
        from pnde.data import time_matrix

        states = [str(name) for name in ds["state"].values]
        if len(states) % 4:
            raise DataError(
                f"a chain of N rods has 4 N states (x, y and their velocities), but the data have {len(states)}"
            )
        u = ds["u"].transpose("trajectory", "time", "state").values
        found = np.linalg.norm(links(u)[..., :2, :], axis=-2)
        lengths = np.nanmedian(found, axis=(0, 1))
        excess = np.nan_to_num(np.abs(found / lengths - 1))
        if not (excess <= tolerance).all():
            row, sample, rod = np.unravel_index(np.argmax(excess), excess.shape)
            label, t = ds["trajectory"].values[row], time_matrix(ds)[row, sample]
            raise ConstraintError(
                f"rod {rod + 1} changes its length: it is {found[row, sample, rod]:.6g} long in trajectory {label} "
                f"at t = {t:g}, but {lengths[rod]:.6g} in the median of the data (off by "
                f"{excess[row, sample, rod]:.1%}, tolerance {tolerance:.1%}); put the point that the chain hangs on "
                "at the origin, order the states as all x, all y, all velocities along x, all along y, or raise the "
                "tolerance"
            )
        return cls(lengths, states)

    def velocity_rows(self, m: int) -> np.ndarray:
        return np.arange(m // 2, m)

    def bind(self, states: Sequence[str]) -> Constraint:
        if len(states) != 4 * len(self.lengths):
            raise ConstraintError(
                f"a chain of {len(self.lengths)} rods has {4 * len(self.lengths)} states, but the data have "
                f"{len(states)}"
            )
        return super().bind(states)

    def _rows(self, u: Any) -> Any:
        raise AssertionError("`value` is called instead")

    def value(self, u: Any, at: Instant) -> Any:
        return self.rows(u, at)

    def jacobian_value(self, u: Any, at: Instant) -> Any:
        return self._matrix(u, at)

    def rows(self, u: Any, at: Instant | None = None) -> Any:
        """h `(..., 2N)` of states `(..., 4N)`."""
        differences = links(u, at if self.structure.pivot else None)
        link, rate = differences[..., :2, :], differences[..., 2:, :]
        products = [(link * link).sum(axis=-2), (link * rate).sum(axis=-2)]
        return u.__array_namespace__().concatenate(products, axis=-1)

    def _matrix(self, u: Any, at: Instant | None = None) -> Any:
        """G (paper, Appendix I)"""
        xp, count = u.__array_namespace__(), len(self.lengths)
        D = xp.eye(count, dtype=u.dtype) - xp.eye(count, k=-1, dtype=u.dtype)
        pivot = at if self.structure.pivot else None
        x, y, vx, vy = links(u, pivot)[:, :, None] * D[None]
        zero = xp.zeros_like(x)
        return xp.concatenate(
            [
                xp.concatenate([2 * x, 2 * y, zero, zero], axis=1),
                xp.concatenate([vx, vy, x, y], axis=1),
            ]
        )


def links(u: Any, pivot: Instant | None = None) -> Any:
    """Δx, Δy, Δẋ, Δẏ of each link, `(..., 4, N)`, of states `(..., 4N)`.

    `pivot` has the position of the point that the chain hangs on as its first two inputs; the origin by default.
    """
    xp = u.__array_namespace__()
    bobs = xp.reshape(u, (*u.shape[:-1], 4, u.shape[-1] // 4))
    if pivot is not None:
        origin = xp.concatenate([pivot.w[..., :2], pivot.rate[..., :2]], axis=-1)
        bobs = bobs - xp.asarray(origin, dtype=u.dtype)[..., None]
    return xp.concatenate([bobs[..., :1], bobs[..., 1:] - bobs[..., :-1]], axis=-1)
