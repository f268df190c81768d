"""What every built-in system has: its truth, its law, its initial states, and the names of its states."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from pnde.config import SolverConfig
from pnde.data import Interpolation, make_dataset
from pnde.errors import ConfigError, SolveError
from pnde.laws import UNDRIVEN, Conditions, Constraint, Inequality, Instant

Variant = Literal["paper", "code"]


@dataclass(frozen=True, eq=False)
class Driving:
    """What drives simulated trajectories.

    - `w`: inputs `(B, T, k)` at the times of the samples, or `(T, k)` of all trajectories alike; `jumps`: the times at
        which they jump, for each trajectory, or for all.
    - `p`: parameters `(B, r)`.
    """

    w: np.ndarray | None = None
    jumps: Sequence[Sequence[float]] | Sequence[float] | None = None
    p: np.ndarray | None = None


class System(ABC):
    """A system whose equations are known, to make data from and to test against.

    Attributes that a subclass sets:

    - `name`: as on the command line; `parameters`: numbers that define it.
    - `states`, `units`: names and units, `(n,)`; `time_unit`.
    - `constraint`: its law; `None` if its coordinates obey it by construction.
    - `order`: 2 if u = (q, q̇), else 1; `features`: what the network sees, as in `pnde.models.Model`.
    - `models`: what `pnde train` compares, such as `("nde", "snde:10", "pnde")`.
    - `t_end`, `dt`: length and sampling of a training trajectory (paper, Table IV); `test_t_end`: of a test rollout.
    - `inputs`, `input_units`, `interpolation`: of a system that is driven; `family`: names of the parameters that
        differ from one of its trajectories to another.
    """

    name: str
    states: tuple[str, ...]
    units: tuple[str, ...]
    time_unit: str = ""
    constraint: Constraint | None
    #: What its models keep beside the law; the truth need not.
    inequalities: tuple[Inequality, ...] = ()
    order: Literal[1, 2] = 1
    features: Literal["state", "angles"] = "state"
    models: tuple[str, ...] = ("nde", "pnde")
    t_end: float
    dt: float
    test_t_end: float
    inputs: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    interpolation: Interpolation = "linear"
    family: tuple[str, ...] = ()
    #: Truth is integrated to rounding level.
    solver: SolverConfig = SolverConfig(solver="dopri8", rtol=1e-12, atol=1e-12, retract="never")

    @property
    def parameters(self) -> dict[str, Any]:
        """The numbers that define the system, for the attributes of its data sets."""
        return {}

    @abstractmethod
    def rhs(self, u: Any, at: Instant) -> Any:
        """u̇ of one state `(n,)` at an instant, on arrays of any kind."""

    @abstractmethod
    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        """Random initial states `(count, n)`: the paper's text, or its authors' code."""

    def drive(self, rng: np.random.Generator, count: int, times: np.ndarray) -> Driving:
        """Random inputs at times `(T,)` and parameters for so many trajectories."""
        return Driving()

    def start(self, u0: np.ndarray, at: Instant) -> np.ndarray:
        """Initial states `(count, n)` as they are under the conditions at the start."""
        return u0

    def trajectories(
        self, u0: np.ndarray, times: np.ndarray, conditions: Conditions = UNDRIVEN
    ) -> np.ndarray:
        """The truth `(B, T, n)` from u0 `(B, n)` at times `(T,)`."""
        return self._integrate(self.rhs, u0, times, conditions)

    def _integrate(
        self, rhs: Any, u0: np.ndarray, times: np.ndarray, conditions: Conditions
    ) -> np.ndarray:
        """The solution of u̇ = rhs(u, at), `(B, T, n)`, which may be in coordinates other than those of the states."""
        from pnde.engines import get

        law = None if self.solver.retract == "never" else self.constraint
        solution = get("jax").integrate(rhs, u0, times, self.solver, law, conditions)
        failed = np.flatnonzero(solution.status)
        if failed.size:
            raise SolveError(
                f"{self.name}: trajectory {failed[0]} from {u0[failed[0]]} cannot be integrated to "
                f"t = {times[-1]:g}; use other initial states or a shorter t_end"
            )
        return solution.u

    def times(self, t_end: float | None = None, dt: float | None = None) -> np.ndarray:
        """The times `(T,)` of the samples of a simulation; see `simulate`."""
        t_end, dt = t_end or self.t_end, dt or self.dt
        steps = round(t_end / dt)
        if steps < 1 or abs(steps * dt - t_end) > 1e-9 * t_end:
            raise ConfigError(f"t_end = {t_end:g} is not a multiple of dt = {dt:g}")
        return np.linspace(0.0, t_end, steps + 1)

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
        """A data set of this system, in the standard layout (docs/architecture.md), in float64.

        **Arguments:**

        - `trajectories`: how many; `u0`: or from these initial states `(B, n)`.
        - `t_end`, `dt`: in `time_unit`; the system's own by default.
        - `seed`: of the initial states, and of inputs and parameters.
        - `driving`: inputs at the times of the samples, and parameters; random ones of the system by default.

        **Raises:** `pnde.errors.ConfigError` if the times do not make sense.
        """
        from pnde import __version__

        rng, given = np.random.default_rng(seed), u0 is not None
        u0 = u0 if given else self.initial(rng, trajectories, initial_conditions)
        states, times = np.asarray(u0, dtype=float), self.times(t_end, dt)
        driving = driving or self.drive(rng, len(states), times)
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
        empty = make_dataset(
            np.zeros((len(states), len(times), len(self.states))),
            times,
            self.states,
            units=self.units,
            attrs=attributes,
            time_units=self.time_unit,
            **self._columns(driving),
        )
        conditions = Conditions.of(empty)
        if not given:
            states = self.start(states, conditions.at(np.zeros(len(states))))
        u = self.trajectories(states, times, conditions)
        return empty.assign(u=(empty["u"].dims, u))

    def _columns(self, driving: Driving) -> dict[str, Any]:
        """The keywords of `make_dataset` for inputs and parameters."""
        columns: dict[str, Any] = {}
        if driving.w is not None:
            columns = {
                "w": driving.w,
                "inputs": self.inputs,
                "input_units": self.input_units,
                "interpolation": self.interpolation,
                "jumps": driving.jumps,
            }
        return columns | ({} if driving.p is None else {"p": driving.p, "parameters": self.family})

    def measures(self, forecast: xr.Dataset) -> dict[str, float]:
        """Numbers of this system's own to tell about a forecast, by name."""
        return {}

    def continued(self, ds: xr.Dataset, t_end: float) -> xr.Dataset:
        """The truth from the initial states of `ds` up to a later `t_end`, under the same labels; or as many new
        trajectories of a system that is driven."""
        dt = float(ds["time"].diff("time").min())
        if self.inputs:  # what drives them ends with the data: others, of another seed
            seed = int(ds.attrs.get("seed", 1)) + 1
            return self.simulate(ds.sizes["trajectory"], t_end, dt, seed)
        u0 = ds["u"].transpose("trajectory", "time", "state").values[:, 0]
        p = ds["parameters"].transpose("trajectory", "parameter").values if self.family else None
        longer = self.simulate(t_end=t_end, dt=dt, u0=u0, driving=Driving(p=p))
        return longer.assign_coords(trajectory=ds["trajectory"].values)
