"""Limits of a power grid: the band of voltages at its loads, and angles across its branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.errors import GridError
from pnde.grids.grid import Grid
from pnde.laws.inequality import Inequality


class VoltageBand(Inequality):
    """The voltage magnitude at every load bus stays between `lower` and `upper`, p.u.

    **Arguments:**

    - `grid`: the grid; its state is ``[Re v_1 … Re v_N, Im v_1 … Im v_N]``, p.u.
    - `margin`: how far magnitudes stay from the ends of the band, p.u.
    """

    def __init__(self, grid: Grid, lower: float, upper: float, margin: float = 0.0):
        if not 0 < lower < upper:
            raise GridError(
                f"a voltage band goes from a positive voltage to a higher one, in p.u., such as 0.9 1.1; not from "
                f"{lower:g} to {upper:g}"
            )
        self._real, self._imag = grid.loads, grid.loads + grid.size
        super().__init__(
            self._magnitudes,
            lower=lower,
            upper=upper,
            margin=margin,
            jacobian=self._slopes,
            names=[f"|v| at {grid.bus_label(k)}" for k in grid.loads],
            states=grid.state_names,
        )

    @property
    def label(self) -> str:
        return "voltage band"

    def _magnitudes(self, u: Any) -> Any:
        xp = u.__array_namespace__()
        return xp.sqrt(u[self._real] ** 2 + u[self._imag] ** 2)

    def _slopes(self, u: Any) -> Any:
        xp = u.__array_namespace__()
        units = np.eye(len(u))
        of_real, of_imag = (xp.asarray(units[k], dtype=u.dtype) for k in (self._real, self._imag))
        size = self._magnitudes(u)
        return (u[self._real] / size)[:, None] * of_real + (u[self._imag] / size)[:, None] * of_imag


class AngleLimit(Inequality):
    """The voltage angle across every branch stays within `degrees` either way.

    **Arguments:**

    - `grid`: the grid; its state is ``[Re v_1 … Re v_N, Im v_1 … Im v_N]``, p.u.
    - `degrees`: below 180.
    """

    def __init__(self, grid: Grid, degrees: float):
        if not 0 < degrees < 180:
            raise GridError(
                f"an angle limit lies between 0 and 180 degrees, such as 30; not at {degrees:g}"
            )
        pairs = np.unique(np.stack([grid.branches.start, grid.branches.end], axis=1), axis=0)
        self._from, self._to = pairs.T
        self._size = grid.size
        number = grid.buses.number
        super().__init__(
            self._angles,
            lower=-degrees,
            upper=degrees,
            names=[f"angle {number[i]}–{number[j]}" for i, j in pairs],
            states=grid.state_names,
        )

    @property
    def label(self) -> str:
        return "angle limit"

    def _angles(self, u: Any) -> Any:
        xp = u.__array_namespace__()
        real, imag = u[: self._size], u[self._size :]
        a, b = real[self._from], imag[self._from]
        c, d = real[self._to], imag[self._to]
        return xp.arctan2(b * c - a * d, a * c + b * d) * (180 / np.pi)
