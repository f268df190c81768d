"""What every built-in system has: its truth, its law, its initial states, and the names of its states."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
import xarray as xr

from pnde.config import SolverConfig
from pnde.errors import ConfigError, SolveError
from pnde.laws import Constraint

Variant = Literal["paper", "code"]


class System(ABC):
    """A system whose equations are known, to make data from and to test against.

    Attributes that a subclass sets:

    - `name`: as on the command line; `parameters`: numbers that define it.
    - `states`, `units`: names and units, `(n,)`; `time_unit`.
    - `constraint`: its law; `None` if its coordinates obey it by construction.
    - `order`: 2 if u = (q, q̇), else 1; `features`: what the network sees, as in `pnde.models.Model`.
    - `models`: what `pnde train` compares, such as `("nde", "snde:10", "pnde")`.
    - `t_end`, `dt`: length and sampling of a training trajectory (paper, Table IV); `test_t_end`: of a test rollout.
    """

    name: str
    states: tuple[str, ...]
    units: tuple[str, ...]
    time_unit: str = ""
    constraint: Constraint | None
    order: Literal[1, 2] = 1
    features: Literal["state", "angles"] = "state"
    models: tuple[str, ...] = ("nde", "pnde")
    t_end: float
    dt: float
    test_t_end: float
    #: Truth is integrated to rounding level.
    solver: SolverConfig = SolverConfig(solver="dopri8", rtol=1e-12, atol=1e-12, retract="never")

    @property
    def parameters(self) -> dict[str, Any]:
        """The numbers that define the system, for the attributes of its data sets."""
        return {}

    @abstractmethod
    def rhs(self, u: Any, t: Any) -> Any:
        """u̇ of one state `(n,)`, on arrays of any kind."""

    @abstractmethod
    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        """Random initial states `(count, n)`: the paper's text, or its authors' code."""

    def trajectories(self, u0: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The truth `(B, T, n)` from u0 `(B, n)` at times `(T,)`."""
        return self._integrate(self.rhs, u0, times)

    def _integrate(self, rhs: Any, u0: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The solution of u̇ = rhs(u, t), `(B, T, n)`, which may be in coordinates other than those of the states."""
        from pnde.engines import get

        law = None if self.solver.retract == "never" else self.constraint
        solution = get("jax").integrate(rhs, u0, times, self.solver, law)
        failed = np.flatnonzero(solution.status)
        if failed.size:
            raise SolveError(
                f"{self.name}: trajectory {failed[0]} from {u0[failed[0]]} cannot be integrated to "
                f"t = {times[-1]:g}; use other initial states or a shorter t_end"
            )
        return solution.u

    def simulate(
        self,
        trajectories: int = 280,
        t_end: float | None = None,
        dt: float | None = None,
        seed: int = 1,
        initial_conditions: Variant = "paper",
        u0: Any = None,
    ) -> xr.Dataset:
        """A data set of this system, in the standard layout (docs/architecture.md), in float64.

        **Arguments:**

        - `trajectories`: how many; `u0`: or from these initial states `(B, n)`.
        - `t_end`, `dt`: in `time_unit`; the system's own by default.
        - `seed`: of the initial states.

        **Raises:** `pnde.errors.ConfigError` if the times do not make sense.
        """
        from pnde import __version__
        from pnde.data import make_dataset

        t_end, dt = t_end or self.t_end, dt or self.dt
        steps = round(t_end / dt)
        if steps < 1 or abs(steps * dt - t_end) > 1e-9 * t_end:
            raise ConfigError(f"t_end = {t_end:g} is not a multiple of dt = {dt:g}")
        if u0 is None:
            u0 = self.initial(np.random.default_rng(seed), trajectories, initial_conditions)
        times = np.linspace(0.0, t_end, steps + 1)
        u = self.trajectories(np.asarray(u0, dtype=float), times)
        attributes = {
            "system": self.name,
            "parameters": json.dumps(self.parameters),
            "seed": seed,
            "initial_conditions": initial_conditions,
            "solver": self.solver.solver,
            "rtol": self.solver.rtol,
            "atol": self.solver.atol,
            "pnde_version": __version__,
        }
        return make_dataset(
            u, times, self.states, units=self.units, attrs=attributes, time_units=self.time_unit
        )

    def measures(self, forecast: xr.Dataset) -> dict[str, float]:
        """Numbers of this system's own to tell about a forecast, by name."""
        return {}

    def continued(self, ds: xr.Dataset, t_end: float) -> xr.Dataset:
        """The truth from the initial states of `ds` up to a later `t_end`, under the same labels."""
        u0 = ds["u"].transpose("trajectory", "time", "state").values[:, 0]
        longer = self.simulate(t_end=t_end, dt=float(ds["time"].diff("time").min()), u0=u0)
        return longer.assign_coords(trajectory=ds["trajectory"].values)
