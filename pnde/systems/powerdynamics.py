"""Networks of PowerDynamics.jl, whose algebraic equations are the law; Julia makes the data, either engine trains."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pnde.errors import ConfigError, SolveError, nearest
from pnde.laws import Constraint
from pnde.laws.program import Program

if TYPE_CHECKING:
    import xarray as xr


def from_powerdynamics(network: Any) -> PowerDynamicsGrid:
    """A network of PowerDynamics.jl 4 as it is: machines, controllers, loads and lines of any kind.

    **Arguments:**

    - `network`: the path of a `.jl` file whose last value is the `Network`, a Julia expression for one, or the object
        itself, where juliacall made it. This runs your own Julia code.

    **Returns:** the grid, at rest where its power flow says.

    **Raises:** `pnde.errors.EngineError` if Julia or PowerDynamics is not there, or the code fails;
    `pnde.errors.GridError` if it gives no network.
    """
    return PowerDynamicsGrid(_julia().network(network))


class PowerDynamicsGrid:
    """The differential-algebraic system M u̇ = f(u) of a network, with M a diagonal of zeros and ones.

    Its law is that the rows of f without a derivative vanish. For the julia engine these are the network's own
    functions, with a sparse Jacobian. For the jax engine they are taken over once, as a program of affine maps,
    elementary functions and selections, which calls no Julia later on.

    - `states`: names `component₊state` `(n,)`; `operation_point`: the state at rest `(n,)`.
    - `moving`: which states have a derivative `(n,)`.
    - `constraint`: the law, to be passed to `pnde.train`, `pnde.load` and `pnde.check`.
    """

    name = "powerdynamics"
    order = 1

    def __init__(self, network: Any):
        self.states: tuple[str, ...] = network.states
        self.operation_point: np.ndarray = network.operation_point
        self.moving: np.ndarray = network.moving
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
    ) -> xr.Dataset:
        """A data set of transients, by ambient forcing (Büttner et al. 2022) and a Rosenbrock method.

        **Arguments:**

        - `trajectories`: how many; `t_end`, `dt`: in seconds; `seed`: of the initial states.
        - `push`: bound of the uniform random velocities that act on the forced states for a pseudo-time of 0.2. With
            several times the default, machines fall out of step.
        - `forced`: names of the states that are pushed; by default those without a derivative, such as the voltages of
            loads. All states move then, along the manifold.

        **Raises:** `pnde.errors.SolveError` if a trajectory cannot be integrated.
        """
        from pnde import __version__
        from pnde.data import make_dataset

        steps = round(t_end / dt)
        if steps < 1 or abs(steps * dt - t_end) > 1e-9 * t_end:
            raise ConfigError(f"t_end = {t_end:g} is not a multiple of dt = {dt:g}")
        at = self._positions(forced)
        random = np.random.default_rng(seed).uniform(-push, push, (trajectories, len(self.states)))
        pushes = np.where(at, random, 0.0)
        times = np.linspace(0.0, t_end, steps + 1)
        solution = self._network.simulate(pushes, times)
        for k in np.flatnonzero(solution.status):
            raise SolveError(
                f"trajectory {k} cannot be integrated to t = {t_end:g}; push less than {push:g}, or force fewer states"
            )
        attributes = {
            "system": self.name,
            "parameters": json.dumps({"push": push, "forced": np.array(self.states)[at].tolist()}),
            "seed": seed,
            "solver": "rodas5p",
            "rtol": 1e-9,
            "atol": 1e-9,
            "pnde_version": __version__,
        }
        return make_dataset(solution.u, times, self.states, attrs=attributes, time_units="s")

    def _positions(self, forced: Iterable[str] | None) -> np.ndarray:
        if forced is None:
            return ~self.moving
        chosen = set(forced)
        for name in chosen - set(self.states):
            raise ConfigError(f"the grid has no state {name!r}{nearest(name, self.states)}")
        return np.isin(self.states, list(chosen))


class AlgebraicEquations(Constraint):
    """The law 0 = f(u) of the rows without a derivative, on the arrays of either engine.

    - `network`: what the julia engine evaluates it by.
    """

    def __init__(self, network: Any):
        rows = [
            name for name, moves in zip(network.states, network.moving, strict=True) if not moves
        ]
        super().__init__(
            self._value,
            target=0.0,
            jacobian=self._jacobian,
            states=network.states,
            names=[f"0 = f({name})" for name in rows],
        )
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

    def _jacobian(self, u: Any) -> Any:
        import jax  # this is only ever evaluated by the jax engine
        import jax.numpy as jnp

        # States of one colour share no row, so one derivative gives the entries of all of them.
        rows, columns, colours = self.network.rows, self.network.columns, self.network.colours
        seeds = jnp.asarray(colours == np.arange(colours.max() + 1)[:, None], u.dtype)
        changes = jax.vmap(lambda seed: jax.jvp(self._value, (u,), (seed,))[1])(seeds)
        entries = changes[colours[columns], rows]
        return jnp.zeros((changes.shape[1], len(u)), u.dtype).at[rows, columns].set(entries)


def _julia() -> Any:
    """The one engine that holds networks, by a method that the other has not."""
    from pnde.engines import get

    return get("julia")
