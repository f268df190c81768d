"""Power grids of grid-forming sources and loads that draw what they draw (paper, Sec. IV C)."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pnde.config import SolverConfig
from pnde.errors import GridError
from pnde.grids.forcing import TAU, ambient_forcing
from pnde.grids.grid import Grid
from pnde.grids.ieee14 import ieee14
from pnde.grids.load_flow import LoadFlow, load_flow
from pnde.grids.modes import growth_rate
from pnde.grids.operation_point import complete, operation_point
from pnde.grids.read import read_grid
from pnde.grids.sources import ALPHA, ETA, KAPPA, normal_form
from pnde.laws import Instant, PowerBalance
from pnde.systems.base import Driving, Variant
from pnde.systems.limited_grid import LimitedGrid

logger = logging.getLogger("pnde")


class PowerGrid(LimitedGrid):
    """Transients of a grid after a disturbance: dVOC sources move, loads draw what they draw.

    The state is ``[Re v_1 … Re v_N, Im v_1 … Im v_N]``, p.u. The sources follow their normal form
    (`pnde.grids.NormalForm`); the loads' powers and the slack's voltage are fixed, 2 L + 2 S
    algebraic equations for the other voltages. Differentiating these gives the loads' velocities,

        (∂s_L/∂v_L) v̇_L = -(∂s_L/∂v_S) v̇_S,

    so that the differential-algebraic system of index 1 is an ordinary one on its manifold, to
    which the state is put back after each step.

    Trajectories start at the operation point, pushed along the manifold by ambient forcing
    (Büttner et al. 2022); the paper and its code agree on it.

    **Arguments:**

    - `grid`: whatever `pnde.grids.read_grid` reads (a name, a MATPOWER, PSS/E or pandapower file, a
        net, a `Grid`), or the tables of `Grid.to_dict`. Sources that have no reactive set-point
        take it from the load flow.
    - `eta`, `alpha`, `kappa`: of the sources; see `pnde.grids.dvoc`.
    - `forced`: numbers or names of the buses that are pushed; all by default.
    - `driven`: numbers or names of the load buses whose demand is an input, or ``"all"``; see
        `pnde.laws.PowerBalance`. Random profiles have one ramp over 2 to 10 s and one step each, up to
        `swing` times the demand, of all driven loads at the same times and with their own sizes.
    - `voltage_band`: from and to which magnitude, p.u., the voltages of the loads of its models stay; see
        `pnde.laws.VoltageBand`. `angle_limit`: within how many degrees the angles across their branches; see
        `pnde.laws.AngleLimit`. The truth has neither; of random trajectories those that stay within are taken.
    - `reactive_limits`: whether sources beyond their reactive limits get the limit as set-point; see
        `pnde.grids.load_flow`.

    **Raises:** `pnde.errors.GridError` for a grid that is inconsistent or has no operation point.
    """

    constraint: PowerBalance
    name = "grid"
    time_unit = "s"
    models: tuple[str, ...] = ("nde", "snde:0.1", "snde:1", "snde:10", "pnde")
    t_end, dt, test_t_end = 10.0, 0.1, 500.0
    solver = SolverConfig(solver="tsit5", rtol=1e-9, atol=1e-9, retract="step")

    def __init__(
        self,
        grid: Any,
        eta: float = ETA,
        alpha: float = ALPHA,
        kappa: float = KAPPA,
        forced: Iterable[int | str] | None = None,
        reactive_limits: bool = False,
        driven: Iterable[int | str] | str | None = None,
        swing: float = 0.2,
        voltage_band: Sequence[float] | None = None,
        angle_limit: float | None = None,
    ):
        tables = isinstance(grid, Mapping) and "buses" in grid
        given: Grid = Grid.from_dict(grid) if tables else read_grid(grid)
        self.eta, self.alpha, self.kappa = eta, alpha, kappa
        self.forced = None if forced is None else list(forced)
        self.reactive_limits = reactive_limits
        if not len(given.sources):
            raise GridError(
                f"{given.name} has no source beside its slack, so nothing in it moves; turn a "
                "bus with a generator into a source"
            )
        for bus in self.forced or ():
            given.index(bus)
        flow = load_flow(given, reactive_limits=reactive_limits)
        self.grid: Grid = complete(given, flow)
        self.sources = normal_form(self.grid, eta=eta, alpha=alpha, kappa=kappa)
        self.swing = swing
        self._drive_loads(driven)
        self._limit(voltage_band, angle_limit)
        self.states = self.grid.state_names
        self.units = ("p.u.",) * len(self.states)
        n, loads, slack = self.grid.size, self.grid.loads, self.grid.slack
        self._moving = np.concatenate([self.grid.sources, self.grid.sources + n])
        self._following = np.concatenate([loads, loads + n])
        pinned = np.concatenate([slack, slack + n])
        # Undoes the order (sources, loads, slack).
        self._order = np.argsort(np.concatenate([self._moving, self._following, pinned]))
        voltage = operation_point(self.grid, self.sources, start=flow.voltage)
        #: state in which everything is at rest, p.u., `(2 N,)`
        self.operation_point = self.grid.state(voltage)
        self._mention(flow, voltage)

    def driven_at(self, driven: Iterable[int | str] | str) -> PowerGrid:
        """The same grid with the demand of these load buses as inputs; see `driven`."""
        other = copy.copy(self)
        other._drive_loads(driven)
        return other

    def _drive_loads(self, driven: Iterable[int | str] | str | None) -> None:
        at = self.grid.loads if driven == "all" else [self.grid.index(bus) for bus in driven or ()]
        for k in np.setdiff1d(at, self.grid.loads)[:1]:
            raise GridError(
                f"{self.grid.name}: {self.grid.bus_label(int(k))} is no load bus, so its demand is no input; name "
                "buses without a source"
            )
        self.constraint = PowerBalance(self.grid, np.asarray(at, int))
        self.inputs = self.constraint.inputs
        self.input_units = ("MW",) * len(at) + ("Mvar",) * len(at)

    def _mention(self, flow: LoadFlow, rest: np.ndarray) -> None:
        """Say what a user would not expect of this grid's rest."""
        grid, away = self.grid, np.abs(rest - flow.voltage)
        far = int(away.argmax())
        if away[far] > 1e-3:
            logger.warning(
                "%s rests %.3g p.u. from its load flow at %s, because the reactive set-points that "
                "its sources have are not those of the load flow",
                grid.name,
                away[far],
                grid.bus_label(far),
            )
        if len(flow.beyond):
            logger.warning(
                "%d sources of %s inject reactive power beyond their limits, %s among them; "
                "reactive_limits=True holds them at the limits",
                len(flow.beyond),
                grid.name,
                grid.bus_label(int(flow.beyond[0])),
            )
        growth = growth_rate(grid, rest, self.sources)
        if growth > 0:
            logger.warning(
                "the operation point of %s is unstable (growth rate %.2g 1/s): its trajectories "
                "leave it; give the sources their ratings, or a larger alpha",
                grid.name,
                growth,
            )

    @property
    def parameters(self) -> dict[str, Any]:
        own = {"eta": self.eta, "alpha": self.alpha, "kappa": self.kappa, "forced": self.forced}
        if self.reactive_limits:
            own["reactive_limits"] = True
        if self.inputs:
            driven = self.grid.buses.number[self.constraint.driven].tolist()
            own |= {"driven": driven, "swing": self.swing}
        return {"grid": self.grid.to_dict(), **own, **self._limits}

    def rhs(self, u: Any, at: Instant) -> Any:
        xp = u.__array_namespace__()
        network = self.constraint.structure
        current = network.current(u)
        p, q = network.constant_power(u, current)
        of = self.grid.sources
        real, imag = (x[of] for x in network.halves(u))
        of_sources = xp.concatenate(self.sources.velocity(real, imag, p[of], q[of]))
        still = xp.zeros(2 * self.grid.size - len(self._moving), dtype=u.dtype)
        moved = xp.concatenate([of_sources, still])[self._order]
        change = network.rate(u, current, network.direction(u), moved)[: len(self._following)]
        if self.inputs:
            change = change + self.constraint.demand(at.rate)[: len(self._following)]
        of_loads = -network.solve_loads(u, current, change)
        return xp.concatenate([of_sources, of_loads, still[len(of_loads) :]])[self._order]

    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        """Consistent states `(count, 2 N)`: du/ds = (I - Jᵀ(JJᵀ)⁻¹J) F from rest, s ∈ [0, τ]."""
        from pnde.engines import get

        push = ambient_forcing(self.grid, count, rng, buses=self.forced)
        start = np.broadcast_to(self.operation_point, push.shape)
        settings = SolverConfig(solver="tsit5", rtol=1e-9, atol=1e-9)
        solution = get("jax").push(self.constraint, start, push, TAU, settings)
        u = solution.u[:, -1]
        for k in np.flatnonzero(solution.status):
            raise GridError(
                f"ambient forcing of {self.grid.name} fails for the initial state {k}: the loads "
                "cannot be supplied at the voltages it leads to; force fewer buses"
            )
        usual = Instant(0.0, w=self.constraint.usual_demand)
        return np.stack([self._consistent(state, usual) for state in u])

    def start(self, u0: np.ndarray, at: Instant) -> np.ndarray:
        if not self.inputs:
            return u0
        return np.stack([self._consistent(u, at.pick(k)) for k, u in enumerate(u0)])

    def drive(self, rng: np.random.Generator, count: int, times: np.ndarray) -> Driving:
        if not self.inputs:
            return Driving()
        loads, end = len(self.constraint.driven), times[-1]
        ramp, step = rng.uniform(-self.swing, self.swing, (2, count, 1, loads))
        begin, length = rng.uniform(0.0, 0.6, count) * end, rng.uniform(2.0, 10.0, count)
        # At a sample behind the first, so that the sample holds the value after it.
        at = times[rng.integers(1, len(times) - 1, count)]
        along = np.clip((times - begin[:, None]) / length[:, None], 0, 1)[..., None]
        behind = (times >= at[:, None])[..., None]
        factor = np.tile(1 + ramp * along + step * behind, 2)
        return Driving(w=factor * self.constraint.usual_demand, jumps=at[:, None].tolist())

    def _consistent(self, u: np.ndarray, at: Instant) -> np.ndarray:
        """The loads' voltages solved for to rounding, the sources' kept (Newton's method)."""
        network, u, loads = self.constraint.structure, u.copy(), len(self._following)
        for _ in range(10):
            current = network.current(u)
            miss = (self.constraint.value(u, at) - self.constraint.target)[:loads]
            if np.abs(miss).max() < 1e-12:
                break
            u[self._following] -= network.solve_loads(u, current, miss)
        u[network.pinned] = self.constraint.target[loads:]
        return u

    def continued(self, ds: xr.Dataset, t_end: float) -> xr.Dataset:
        # A slow system: 500 samples draw it well, and 5000 of every bus fill the disk.
        if self.inputs:
            return super().continued(ds, t_end)
        u0 = ds["u"].transpose("trajectory", "time", "state").values[:, 0]
        longer = self.simulate(t_end=t_end, dt=max(self.dt, t_end / 500), u0=u0)
        return longer.assign_coords(trajectory=ds["trajectory"].values)

    def measures(self, forecast: xr.Dataset) -> dict[str, float]:
        """Median distance to the operation point at the end; infinite for a failed trajectory. A driven grid has no
        such point to come back to."""
        if self.inputs:
            return {}
        last = self.distance(forecast).transpose("trajectory", "time").values[:, -1]
        end = f"{float(forecast['time'][-1]):g} s"
        away = np.where(np.isfinite(last), last, np.inf)
        return {f"distance to rest, median (t = {end})": float(np.median(away))}

    def active_power(self, ds: xr.Dataset) -> xr.DataArray:
        """Active power injected at every bus, p.u., `(trajectory, time, bus)`."""
        return self._by_bus(ds, self.grid.injected_power(self._voltage(ds)).real, "active_power")

    def voltage(self, ds: xr.Dataset) -> xr.DataArray:
        """Voltage magnitude at every bus, p.u., `(trajectory, time, bus)`."""
        return self._by_bus(ds, np.abs(self._voltage(ds)), "voltage")

    def bus_error(self, ds: xr.Dataset) -> xr.DataArray:
        """What each bus adds to the constraint error, p.u., `(trajectory, time, bus)`.

        |s - set-point| at a load, |v - v₀| at the slack, NaN at a source, which has no law.
        """
        voltage, grid = self._voltage(ds), self.grid
        error = np.full(voltage.shape, np.nan)
        set_point = self._set_point(ds)
        power = grid.constant_power(voltage)
        error[..., grid.loads] = np.abs(power[..., grid.loads] - set_point)
        error[..., grid.slack] = np.abs(voltage[..., grid.slack] - grid.slack_voltage)
        return self._by_bus(ds, error, "bus_error")

    def set_point(self, ds: xr.Dataset) -> xr.DataArray:
        """Active power that each load is to inject, p.u., `(trajectory, time, bus)`; NaN at other buses."""
        wanted = self._set_point(ds).real
        values = np.full(
            (*ds["u"].transpose("trajectory", "time", "state").shape[:2], self.grid.size), np.nan
        )
        values[..., self.grid.loads] = wanted
        return self._by_bus(ds, values, "set_point")

    def _set_point(self, ds: xr.Dataset) -> np.ndarray:
        """The powers that the loads are to inject, p.u., ``(L,)`` or ``(trajectory, time, L)``."""
        grid, count = self.grid, len(self.constraint.driven)
        power = grid.buses.active + 1j * grid.buses.reactive
        if count:
            w = ds["w"].transpose("trajectory", "time", "input").values / grid.base_mva
            power = np.broadcast_to(power, (*w.shape[:2], grid.size)).copy()
            power[..., self.constraint.driven] = -(w[..., :count] + 1j * w[..., count:])
        return power[..., grid.loads]

    def distance(self, ds: xr.Dataset) -> xr.DataArray:
        """Relative distance ‖u - u*‖₂/‖u*‖₂ to the operation point u*, `(trajectory, time)`."""
        u = ds["u"].transpose("trajectory", "time", "state").sel(state=list(self.states)).values
        away = np.linalg.norm(u - self.operation_point, axis=-1)
        values = away / np.linalg.norm(self.operation_point)
        return xr.DataArray(values, _coordinates(ds), ("trajectory", "time"), name="distance")

    def _voltage(self, ds: xr.Dataset) -> np.ndarray:
        self.constraint.bind([str(name) for name in ds["state"].values])
        return self.grid.voltage(ds["u"].transpose("trajectory", "time", "state").values)

    def _by_bus(self, ds: xr.Dataset, values: np.ndarray, name: str) -> xr.DataArray:
        coordinates = {**_coordinates(ds), "bus": self.grid.buses.number}
        return xr.DataArray(
            values, coordinates, ("trajectory", "time", "bus"), name, {"units": "p.u."}
        )


class IEEE14(PowerGrid):
    """The 14-bus grid of the paper with consistent set-points: `pnde.grids.ieee14`.

    **Arguments:** those of `PowerGrid`.
    """

    name = "ieee14"
    _published = False
    _usually_driven: str | None = None

    def __init__(
        self,
        eta: float = ETA,
        alpha: float = ALPHA,
        kappa: float = KAPPA,
        forced: Iterable[int | str] | None = None,
        driven: Iterable[int | str] | str | None = None,
        swing: float = 0.2,
        voltage_band: Sequence[float] | None = None,
        angle_limit: float | None = None,
    ):
        driven = self._usually_driven if driven is None else driven
        super().__init__(
            ieee14(self._published),
            eta,
            alpha,
            kappa,
            forced,
            driven=driven,
            swing=swing,
            voltage_band=voltage_band,
            angle_limit=angle_limit,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        # The tables are told by the name.
        return {key: value for key, value in super().parameters.items() if key != "grid"}


class IEEE14Loads(IEEE14):
    """The 14-bus grid of the paper, with the demand of every load an input where `driven` does not say which."""

    name = "ieee14-loads"
    models: tuple[str, ...] = ("nde", "pnde")
    test_t_end = 10.0
    _usually_driven = "all"


class IEEE14Published(IEEE14):
    """The 14-bus grid as published, with bus 8 resting at 0.385 p.u.: `pnde.grids.ieee14`."""

    name = "ieee14-published"
    _published = True


def _coordinates(ds: xr.Dataset) -> dict[str, Any]:
    return {name: ds[name] for name in ("trajectory", "time", "split") if name in ds.coords}
