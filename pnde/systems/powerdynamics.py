"""Networks of PowerDynamics.jl, whose algebraic equations are the law; Julia makes the data, either engine trains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pnde.data import Interpolation, inputs_of, make_dataset
from pnde.errors import ConfigError, SolveError, listed, nearest
from pnde.laws import Constraint
from pnde.laws.constraint import as_names
from pnde.laws.program import Program
from pnde.systems.base import Driving

if TYPE_CHECKING:
    import xarray as xr


def from_powerdynamics(network: Any, inputs: Sequence[str] | str = ()) -> PowerDynamicsGrid:
    """A network of PowerDynamics.jl 4 as it is: machines, controllers, loads and lines of any kind.

    **Arguments:**

    - `network`: the path of a `.jl` file whose last value is the `Network`, a Julia expression for one, or the object
        itself, where juliacall made it. This runs your own Julia code.
    - `inputs`: names `component₊parameter` of parameters that are inputs, such as set-points, or what says whether a
        line is in service: ``["load₊demand₊Pset", "line12₊branch₊active"]``. The grid's `parameters` has them all.

    **Returns:** the grid, at rest where its power flow says.

    **Raises:** `pnde.errors.EngineError` if Julia or PowerDynamics is not there, or the code fails;
    `pnde.errors.GridError` if it gives no network; `pnde.errors.ConfigError` for an input that is no parameter.
    """
    return PowerDynamicsGrid(_julia().network(network, as_names(inputs)))


class PowerDynamicsGrid:
    """The differential-algebraic system M u̇ = f(u, w) of a network, with M a diagonal of zeros and ones.

    Its law is that the rows of f without a derivative vanish. For the julia engine these are the network's own
    functions, with a sparse Jacobian. For the jax engine they are taken over once, as a program of affine maps,
    elementary functions and selections, which calls no Julia later on.

    - `states`: names `component₊state` `(n,)`; `operation_point`: the state at rest `(n,)`.
    - `moving`: which states have a derivative `(n,)`; where an input jumps, the others jump too.
    - `parameters`: all that have a name, with their values; `inputs`: those that are inputs `(k,)`, and `usual_inputs`
        `(k,)`, the values under which it rests.
    - `constraint`: the law, to be passed to `pnde.train`, `pnde.load` and `pnde.check`.
    """

    name = "powerdynamics"
    order = 1
    family: tuple[str, ...] = ()

    def __init__(self, network: Any):
        self.states: tuple[str, ...] = network.states
        self.operation_point: np.ndarray = network.operation_point
        self.moving: np.ndarray = network.moving
        self.parameters: dict[str, float] = network.parameters
        self.inputs: tuple[str, ...] = network.inputs
        self.usual_inputs = np.array([network.parameters[name] for name in network.inputs])
        self._network = network
        self.constraint: Constraint = AlgebraicEquations(network)

    def simulate(
        self,
        trajectories: int = 50,
        t_end: float = 5.0,
        dt: float = 0.05,
        seed: int = 1,
        push: float = 0.1,
        forced: Iterable[str] | None = None,
        driving: Driving | None = None,
        interpolation: Interpolation | Mapping[str, Interpolation] = "linear",
    ) -> xr.Dataset:
        """A data set of transients, by ambient forcing (Büttner et al. 2022) and a Rosenbrock method.

        **Arguments:**

        - `trajectories`: how many; `t_end`, `dt`: in seconds; `seed`: of the initial states.
        - `push`: bound of the uniform random velocities that act on the forced states for a pseudo-time of 0.2. With
            several times the default, machines fall out of step.
        - `forced`: names of the states that are pushed; by default those without a derivative, such as the voltages of
            loads. All states move then, along the manifold.
        - `driving`: the inputs of a grid that has some, at the samples, and when they jump; `interpolation`: how they
            go from one sample to the next, one for all or by name: linear, cubic, or held.

        **Raises:** `pnde.errors.SolveError` if a trajectory cannot be integrated; `pnde.errors.ConfigError` if inputs
        are missing; `pnde.errors.DataError` if they are not one for each sample.
        """
        from pnde import __version__

        steps = round(t_end / dt)
        if steps < 1 or abs(steps * dt - t_end) > 1e-9 * t_end:
            raise ConfigError(f"t_end = {t_end:g} is not a multiple of dt = {dt:g}")
        at = self._positions(forced)
        attributes = {
            "system": self.name,
            "parameters": json.dumps({"push": push, "forced": np.array(self.states)[at].tolist()}),
            "seed": seed,
            "solver": "rodas5p",
            "rtol": 1e-9,
            "atol": 1e-9,
            "pnde_version": __version__,
        }
        empty = make_dataset(
            np.zeros((trajectories, steps + 1, len(self.states))),
            np.linspace(0.0, t_end, steps + 1),
            self.states,
            attrs=attributes,
            time_units="s",
            **self._columns(driving, interpolation),
        )
        random = np.random.default_rng(seed).uniform(-push, push, (trajectories, len(self.states)))
        pushes = np.where(at, random, 0.0)
        solution = self._network.simulate(pushes, empty["time"].values, inputs_of(empty))
        for k in np.flatnonzero(solution.status):
            less = ", or change its inputs less" if self.inputs else ""
            raise SolveError(
                f"trajectory {k} cannot be integrated to t = {t_end:g}; push less than {push:g}, or force fewer states"
                + less
            )
        return empty.assign(u=(empty["u"].dims, solution.u))

    def _columns(self, driving: Driving | None, interpolation: Any) -> dict[str, Any]:
        """The keywords of `make_dataset` for the inputs."""
        if not self.inputs:
            if driving is not None:
                raise ConfigError(
                    "driving= is given, but the grid has no inputs: name them in from_powerdynamics(…, inputs=…)"
                )
            return {}
        if driving is None or driving.w is None:
            raise ConfigError(
                f"the grid has the inputs {listed(self.inputs)}: say what they are at the samples, "
                "driving=Driving(w=…); usual_inputs is where it rests"
            )
        return {
            "w": driving.w,
            "inputs": self.inputs,
            "interpolation": interpolation,
            "jumps": driving.jumps,
        }

    def _positions(self, forced: Iterable[str] | None) -> np.ndarray:
        if forced is None:
            return ~self.moving
        chosen = set(forced)
        for name in chosen - set(self.states):
            raise ConfigError(f"the grid has no state {name!r}{nearest(name, self.states)}")
        return np.isin(self.states, list(chosen))


class AlgebraicEquations(Constraint):
    """The law 0 = f(u, w) of the rows without a derivative, on the arrays of either engine.

    - `network`: what the julia engine evaluates it by.
    """

    def __init__(self, network: Any):
        rows = [
            name for name, moves in zip(network.states, network.moving, strict=True) if not moves
        ]
        super().__init__(
            self._driven_value if network.inputs else self._value,
            target=0.0,
            jacobian=self._driven_jacobian if network.inputs else self._jacobian,
            states=network.states,
            names=[f"0 = f({name})" for name in rows],
            jumps=rows if network.inputs else None,
        )
        self.inputs = network.inputs
        self.network = network

    @property
    def label(self) -> str:
        return "algebraic equations"

    @cached_property
    def _program(self) -> Program:
        """The rows as data; made when first asked for, since the julia engine does without."""
        program: Program = self.network.program()
        return program

    def _value(self, u: Any) -> Any:
        return self._program(u)

    def _driven_value(self, u: Any, w: Any) -> Any:
        return self._program(u, w)

    def _jacobian(self, u: Any) -> Any:
        return self._coloured(self._value, u)

    def _driven_jacobian(self, u: Any, w: Any) -> Any:
        return self._coloured(lambda u: self._program(u, w), u)

    def _coloured(self, rows_of: Callable[[Any], Any], u: Any) -> Any:
        import jax  # this is only ever evaluated by the jax engine
        import jax.numpy as jnp

        # States of one colour share no row, so one derivative gives the entries of all of them.
        rows, columns, colours = self.network.rows, self.network.columns, self.network.colours
        seeds = jnp.asarray(colours == np.arange(colours.max() + 1)[:, None], u.dtype)
        changes = jax.vmap(lambda seed: jax.jvp(rows_of, (u,), (seed,))[1])(seeds)
        entries = changes[colours[columns], rows]
        return jnp.zeros((changes.shape[1], len(u)), u.dtype).at[rows, columns].set(entries)


def _julia() -> Any:
    """The one engine that holds networks, by a method that the other has not."""
    from pnde.engines import get

    return get("julia")
