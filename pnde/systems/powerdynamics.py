"""Networks of PowerDynamics.jl, whose algebraic equations are the law; Julia makes the data, either engine trains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pnde.errors import ConfigError, EngineError, GridError, SolveError, nearest
from pnde.laws import Constraint

if TYPE_CHECKING:
    import xarray as xr

_UUID = "cc46b21f-1b17-51c2-b642-af74c3d3a8be"  # of PowerDynamics.jl


def from_powerdynamics(network: Any) -> PowerDynamicsGrid:
    """A network of PowerDynamics.jl 4 as it is: machines, controllers, loads and lines of any kind.

    **Arguments:**

    - `network`: the path of a `.jl` file whose last value is the `Network`, a Julia expression for one, or the object
        itself, where juliacall made it. This runs your own Julia code.

    **Returns:** the grid, at rest where its power flow says.

    **Raises:** `pnde.errors.EngineError` if Julia or PowerDynamics is not there, or the code fails;
    `pnde.errors.GridError` if it gives no network.
    """
    from pnde.engines.julia.session import pnde_module, translated

    jl, main = pnde_module(), _with_powerdynamics()
    with translated():
        if isinstance(network, str | Path):
            network = jl.load_code(str(network))
        if not main.isa(network, main.PowerDynamics.Network):
            kind = main.string(main.typeof(network))
            raise GridError(
                f"the code gives a {kind}, not a Network of PowerDynamics; let it end with one"
            )
        return PowerDynamicsGrid(jl.DifferentialAlgebraic(network))


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

    def __init__(self, system: Any):
        from pnde.engines.julia.session import pnde_module, translated

        with translated():
            law = pnde_module().AlgebraicRows(system)
            self.states = tuple(str(name) for name in system.names)
            self.operation_point = np.array(system.operation_point)
            self.moving = np.array(system.moving, dtype=bool)
        self._system = system
        self.constraint: Constraint = AlgebraicEquations(self, law)

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
        from pnde.engines.julia.arrays import to_julia, trajectories_of
        from pnde.engines.julia.session import pnde_module, translated

        steps = round(t_end / dt)
        if steps < 1 or abs(steps * dt - t_end) > 1e-9 * t_end:
            raise ConfigError(f"t_end = {t_end:g} is not a multiple of dt = {dt:g}")
        at = self._positions(forced)
        random = np.random.default_rng(seed).uniform(-push, push, (trajectories, len(self.states)))
        pushes = np.where(at, random, 0.0)
        times = np.linspace(0.0, t_end, steps + 1)
        jl = pnde_module()
        with translated():
            u0 = jl.ambient_forcing(self._system, to_julia(pushes))
            solution = trajectories_of(jl.simulate(self._system, u0, to_julia(times)))
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
    """The law 0 = f(u) of the rows without a derivative, on the arrays of either engine."""

    def __init__(self, grid: PowerDynamicsGrid, law: Any):
        rows = [name for name, moves in zip(grid.states, grid.moving, strict=True) if not moves]
        super().__init__(
            self._value,
            target=0.0,
            jacobian=self._jacobian,
            states=grid.states,
            names=[f"0 = f({name})" for name in rows],
        )
        self.julia_object = law
        self._system = grid._system
        self._steps: list[_Step] = []
        self._columns = np.repeat(np.arange(len(grid.states)), np.diff(law.pattern.colptr))
        self._rows = np.array(law.pattern.rowval) - 1
        self._colours = np.array(law.colours) - 1

    @property
    def label(self) -> str:
        return "algebraic equations"

    def _value(self, u: Any) -> Any:
        xp = u.__array_namespace__()
        known = u
        for step in self._program():
            operands = [
                xp.asarray(matrix, u.dtype) @ known + xp.asarray(constant, u.dtype)
                for matrix, constant in step.operands
            ]
            if step.operation == "power":
                operands.append(xp.asarray(step.parameter, u.dtype))
            known = xp.concatenate([known, _OPERATIONS[step.operation](xp, *operands)])
        return known[-len(self._steps[-1].parameter) :]

    def _jacobian(self, u: Any) -> Any:
        import jax  # this is only ever evaluated by the jax engine
        import jax.numpy as jnp

        # States of one colour share no row, so one derivative gives the entries of all of them.
        seeds = jnp.asarray(self._colours == np.arange(self._colours.max() + 1)[:, None], u.dtype)
        changes = jax.vmap(lambda seed: jax.jvp(self._value, (u,), (seed,))[1])(seeds)
        entries = changes[self._colours[self._columns], self._rows]
        return (
            jnp.zeros((changes.shape[1], len(u)), u.dtype)
            .at[self._rows, self._columns]
            .set(entries)
        )

    def _program(self) -> list[_Step]:
        """The rows as steps; made when first asked for, since the julia engine does without."""
        from pnde.engines.julia.session import pnde_module, translated

        if not self._steps:
            try:
                with translated():
                    steps = list(pnde_module().algebraic_program(self._system))
            except EngineError as error:
                raise GridError(
                    f'the jax engine cannot take this network over; use engine="julia" ({error})'
                ) from error
            count = len(self._system.names)
            for step in steps:
                self._steps.append(_step(step, count))
                count += len(self._steps[-1].parameter)
        return self._steps


class _Step(NamedTuple):
    """One operation on many operands at once; an operand is affine, a matrix and a constant, in all that is known."""

    operation: str
    parameter: np.ndarray
    operands: list[tuple[np.ndarray, np.ndarray]]


def _step(step: Any, count: int) -> _Step:
    operands = []
    for operand in step.operands:
        constant = np.array(operand.constant, dtype=float)
        matrix = np.zeros((len(constant), count))
        matrix[np.array(operand.rows) - 1, np.array(operand.columns) - 1] = np.array(operand.values)
        operands.append((matrix, constant))
    return _Step(str(step.operation), np.array(step.parameter, dtype=float), operands)


def _plain(name: str) -> Callable[..., Any]:
    return lambda xp, *operands: getattr(xp, name)(*operands)


_PLAIN = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("exp", "log", "sqrt", "abs", "sign", "minimum", "maximum", "atan2"),
)
_OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: _plain(name) for name in _PLAIN},
    "multiply": lambda xp, x, y: x * y,
    "divide": lambda xp, x, y: x / y,
    "power": lambda xp, x, exponent: x**exponent,
    "less": lambda xp, x, y: xp.astype(x < y, x.dtype),
    "less_equal": lambda xp, x, y: xp.astype(x <= y, x.dtype),
    "equal": lambda xp, x, y: xp.astype(x == y, x.dtype),
    "select": lambda xp, condition, x, y: xp.where(condition != 0, x, y),
    "result": lambda xp, x: x,
}


def _with_powerdynamics() -> Any:
    """Julia's Main, with PowerDynamics loaded."""
    from juliacall import Main

    from pnde.engines.julia.session import translated

    try:
        with translated():
            Main.seval("import PowerDynamics")
    except EngineError as error:
        raise EngineError(
            'PowerDynamics.jl is not in the Julia project of this engine: run python -c "import juliapkg; '
            f"juliapkg.add('PowerDynamics', '{_UUID}', version='4')\" and then pnde setup julia",
            traceback=error.traceback,
        ) from error
    return Main
