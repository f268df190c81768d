"""A power grid whose models keep limits of its operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import GridError
from pnde.grids import Grid
from pnde.laws import AngleLimit, Instant, VoltageBand
from pnde.laws.bounds import margins, settle
from pnde.systems.base import Driving, System, Variant


class LimitedGrid(System):
    """A grid with a voltage band and an angle limit, or neither. Its truth knows nothing of them."""

    grid: Grid

    def _limit(self, band: Sequence[float] | None, angle: float | None) -> None:
        self._limits: dict[str, Any] = {}
        self.inequalities = ()
        if band is not None:
            if np.shape(band) != (2,) or not all(isinstance(end, int | float) for end in band):
                raise GridError(
                    f"a voltage band is two voltages in p.u., such as [0.9, 1.1]; not {str(band)[:60]}"
                )
            self.inequalities += (VoltageBand(self.grid, *band),)
            self._limits["voltage_band"] = [float(end) for end in band]
        if angle is not None:
            if not isinstance(angle, int | float):
                raise GridError(
                    f"an angle limit is a number of degrees, such as 30; not {str(angle)[:60]}"
                )
            self.inequalities += (AngleLimit(self.grid, angle),)
            self._limits["angle_limit"] = float(angle)

    def simulate(
        self,
        trajectories: int = 280,
        t_end: float | None = None,
        dt: float | None = None,
        seed: int = 1,
        initial_conditions: Variant = "paper",
        u0: Any = None,
        driving: Driving | None = None,
    ) -> xr.Dataset:
        """A data set of this grid; see `System.simulate`. With limits, of random trajectories that stay within them.

        **Raises:** `pnde.errors.GridError` if fewer than one in eight do.
        """

        def simulated(count: int) -> xr.Dataset:
            return super(LimitedGrid, self).simulate(
                count, t_end, dt, seed, initial_conditions, u0, driving
            )

        if not self.inequalities or u0 is not None or driving is not None:
            return simulated(trajectories)
        for times in (2, 8):
            ds = simulated(times * trajectories)
            stay = np.flatnonzero(self._margin(ds) >= 0)[:trajectories]
            if len(stay) == trajectories:
                return ds.isel(trajectory=stay).assign_coords(trajectory=np.arange(trajectories))
        raise GridError(
            f"{self.grid.name}: {len(stay)} of {times * trajectories} random trajectories stay within the "
            f"{' and the '.join(part.label for part in self.inequalities)}; widen that, or force fewer buses"
        )

    def _margin(self, ds: xr.Dataset) -> np.ndarray:
        """How far trajectories stay inside of the limits, at least, `(trajectory,)`."""
        from pnde.engines import get

        states = [str(name) for name in ds["state"].values]
        bounds = settle(get("jax"), tuple(part.bind(states) for part in self.inequalities), ds)
        assert bounds is not None
        u = ds["u"].transpose("trajectory", "time", "state").values
        inside = margins(get("jax"), bounds, u, Instant(np.zeros(u.shape[:2])))
        return inside.min(axis=(1, 2))
