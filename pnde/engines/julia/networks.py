"""Networks of PowerDynamics.jl, held by Julia; what the front sees of them are arrays, trajectories and a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pnde.data import Inputs
from pnde.engines import Trajectories
from pnde.engines.julia.arrays import to_julia, trajectories_of
from pnde.engines.julia.driving import drive_of
from pnde.engines.julia.session import julia
from pnde.errors import ConfigError, EngineError, GridError, nearest, shown
from pnde.laws.program import Program, Step


class JuliaNetwork:
    """A differential-algebraic system M u̇ = f(u, w), with M a diagonal of zeros and ones.

    - `states`: names `(n,)`; `operation_point`: a state at rest `(n,)`.
    - `parameters`: their values by their names; `inputs`: which of them are inputs, `(k,)`.
    - `moving`: which states have a derivative `(n,)`.
    - `rows`, `columns`: the entries of ∂f/∂u that can be other than zero, in the rows without a derivative.
    - `colours`: of the states `(n,)`; states of one colour share no such row.
    """

    def __init__(self, system: Any, inputs: Sequence[str] = ()):
        with julia() as jl:
            names, values = list(system.parameters), np.array(jl.parameter_values(system))
        self.parameters = {str(name): float(x) for name, x in zip(names, values, strict=True)}
        self.inputs = tuple(inputs)
        _check_inputs(self.inputs, self.parameters)
        with julia() as jl:
            self._system = system = jl.with_inputs(system, list(self.inputs))
            self.law = jl.AlgebraicRows(system)
            self.states = tuple(str(name) for name in system.names)
            self.operation_point = np.array(system.operation_point)
            self.moving = np.array(system.moving, dtype=bool)
            pattern = self.law.pattern
            self.columns = np.array(pattern.columns) - 1
            self.rows = np.array(pattern.rows) - 1
            self.colours = np.array(self.law.colours) - 1

    def simulate(
        self, pushes: np.ndarray, times: np.ndarray, inputs: Inputs | None = None
    ) -> Trajectories:
        """The truth from the operation point, pushed along the manifold by velocities `(B, n)`, at times `(T,)` from 0
        on, with the inputs of B trajectories."""
        start = np.zeros(len(pushes))
        driven = {} if inputs is None else {"drive": drive_of(to_julia(start), inputs)}
        with julia() as jl:
            u0 = jl.ambient_forcing(self._system, to_julia(pushes))
            return trajectories_of(jl.simulate(self._system, u0, to_julia(times), **driven))

    def program(self) -> Program:
        """The rows of f without a derivative, of the state and, where there are some, the inputs.

        **Raises:** `pnde.errors.GridError` if they take plain numbers alone, or branch too often.
        """
        try:
            with julia() as jl:
                steps = list(jl.algebraic_program(self._system))
        except EngineError as error:
            raise GridError(
                f'the jax engine cannot take this network over; use engine="julia" ({error})'[:300]
            ) from error
        return _program(steps, len(self.states), len(self.inputs))


def julia_network(network: Any, inputs: Sequence[str] = ()) -> JuliaNetwork:
    """A network that is given as code, as a file of code, or as the Julia object; some of its parameters are inputs.

    **Raises:** `pnde.errors.EngineError` if PowerDynamics is not there, or the code fails;
    `pnde.errors.GridError` if it gives no network; `pnde.errors.ConfigError` for an input that is no parameter.
    """
    missing = _load_powerdynamics()
    try:
        with julia() as jl:
            if isinstance(network, str | Path):
                network = jl.load_code(str(network))
            if not jl.is_system(network):
                if missing is not None:
                    raise missing
                if not jl.is_network(network):
                    raise GridError(
                        f"the code gives a {jl.name_of_type(network)}, not a Network of PowerDynamics; let it end "
                        "with one"
                    )
                network = jl.DifferentialAlgebraic(network)
    except EngineError as error:
        # What the code misses is the package, and not a name of its own.
        raise missing if missing is not None and "PowerDynamics" in str(error) else error from None
    return JuliaNetwork(network, inputs)


def _check_inputs(inputs: Sequence[str], parameters: dict[str, float]) -> None:
    for k, name in enumerate(inputs):
        if name not in parameters:
            known = "" if parameters else "; none of its parameters has a name"
            raise ConfigError(
                f"the network has no parameter {shown(name)} that could be an input{nearest(name, parameters)}{known}"
            )
        if name in inputs[:k]:
            raise ConfigError(f"the input {shown(name)} is named twice; name it once")


def _load_powerdynamics() -> EngineError | None:
    """Load the package where it is installed; returns what there is to say where it is not."""
    try:
        with julia():
            from juliacall import Main  # started by now, see `session`

            Main.seval("import PowerDynamics")
    except EngineError as error:
        return EngineError(
            "PowerDynamics.jl is not in the Julia project of this engine: run pnde setup julia --powerdynamics",
            traceback=error.traceback,
        )
    return None


def _program(found: list[Any], n: int, k: int = 0) -> Program:
    """Julia's steps, whose operands are affine in all that is known, as a program of n states and k inputs."""
    sizes = (n, k) if k else (n,)
    constants: list[np.ndarray] = []
    steps: list[tuple[str, list[Any], tuple[int, ...]]] = []
    known: list[Any] = [("input", i) for i in range(len(sizes))]

    def constant(values: Any) -> tuple[str, int]:
        constants.append(np.array(values, dtype=np.float64))
        return ("constant", len(constants) - 1)

    def step(operation: str, operands: list[Any], integers: Any = ()) -> tuple[str, int]:
        steps.append((operation, operands, tuple(int(k) for k in integers)))
        return ("step", len(steps) - 1)

    for entry in found:
        operands = []
        for operand in entry.operands:
            places = [*(np.array(operand.rows) - 1), *(np.array(operand.columns) - 1)]
            parts = [constant(operand.values), constant(operand.constant), *known]
            operands.append(step("affine", parts, places))
        name = str(entry.operation)
        if name == "result":
            result = operands[0]
            break
        if name == "power":
            operands.append(constant(entry.parameter))
        known.append(step(name, operands))

    start = {"input": 0, "constant": len(sizes), "step": len(sizes) + len(constants)}

    def number(value: tuple[str, int]) -> int:
        return start[value[0]] + value[1]

    return Program(
        sizes,
        tuple(constants),
        tuple(Step(name, tuple(number(x) for x in xs), integers) for name, xs, integers in steps),
        number(result),
    )
