"""A Python function of the state, traced by JAX, as a program for Julia."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from pnde.engines.julia.primitives import ELEMENTWISE, MOVING, REDUCING, RUNNING
from pnde.errors import ConstraintError, EngineError
from pnde.laws.program import Program, Step

# Loops are unrolled. A program of more steps than this would take longer to read than its loop to run.
_MOST_STEPS = 20_000


def trace(
    function: Callable[..., Any], sizes: Sequence[int | None], what: str, clock: int | None = None
) -> Program:
    """What `function` computes, in double precision.

    **Arguments:**

    - `sizes`: of the arrays that it takes; `None` for a number.
    - `what`: what messages call it, such as "the law 'energy'".
    - `clock`: which argument is the time.

    **Returns:** a program whose result is the function's, row by row.

    **Raises:** `pnde.errors.EngineError` naming an operation that Julia has no counterpart for, and its line;
    `pnde.errors.ConstraintError` if the function cannot be traced.
    """
    shapes = [() if size is None else (size,) for size in sizes]
    with jax.enable_x64(True):
        examples = [jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes]
        try:
            closed = jax.make_jaxpr(lambda *x: jax.numpy.asarray(function(*x)))(*examples)
        except jax.errors.TracerArrayConversionError:
            raise ConstraintError(
                f"{what} calls a NumPy function, which cannot be differentiated; write it with jax.numpy "
                "(import jax.numpy as np), or with arithmetic only"
            ) from None
        except jax.errors.ConcretizationTypeError:
            raise ConstraintError(
                f"{what} branches on the state (if, while, float); use jax.numpy.where instead"
            ) from None
        tracer = _Tracer(what, [int(np.prod(shape)) for shape in shapes])
        inputs = [_Value(k, shape) for k, shape in enumerate(shapes)]
        (result,) = tracer.inline(closed.jaxpr, list(closed.consts), inputs)
        return tracer.program(tracer.value(result), clock)


@dataclass(frozen=True)
class _Value:
    """A value that depends on the inputs: its number in the program, and the shape that its flat array has."""

    number: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Missing(_Value):
    """The result of an operation without a counterpart, which is an error where it is used."""

    name: str
    where: str


class _Tracer:
    """The steps so far. Values known already are NumPy arrays; only the others become steps."""

    def __init__(self, what: str, sizes: list[int]):
        self._what, self._sizes = what, tuple(sizes)
        self._constants: list[np.ndarray] = []
        self._constant_numbers: dict[bytes, int] = {}
        self._steps: list[Step] = []
        self._step_numbers: dict[Step, int] = {}
        self._where = ""

    # Constants are numbered downwards from -1 until their count is known.
    def value(self, x: Any) -> int:
        """The number of a value or constant."""
        if isinstance(x, _Value):
            return x.number
        flat = np.ravel(np.asarray(x, np.float64))
        key = flat.tobytes()
        if key not in self._constant_numbers:
            self._constants.append(flat)
            self._constant_numbers[key] = -len(self._constants)
        return self._constant_numbers[key]

    def emit(
        self, operation: str, operands: Sequence[Any], shape: Any, integers: Iterable[int] = ()
    ) -> _Value:
        """One more step, unless the same was there before."""
        step = Step(
            operation,
            tuple(self.value(x) for x in operands),
            tuple(int(k) for k in integers),
        )
        if step not in self._step_numbers:
            if len(self._steps) == _MOST_STEPS:
                raise EngineError(
                    f"{self._what} has a loop with too many turns for the julia engine{self._where}: give its twin "
                    '(julia="u -> ..."), or use engine="jax"'
                )
            self._steps.append(step)
            self._step_numbers[step] = len(self._sizes) + len(self._steps) - 1
        return _Value(self._step_numbers[step], tuple(shape))

    def take(self, operands: Sequence[Any], positions: np.ndarray) -> Any:
        """The numbers at positions `(shape)` in the operands, one behind the other."""
        flat = np.ravel(positions)
        (first, *others) = operands
        if not others and isinstance(first, _Value):
            if np.array_equal(flat, np.arange(int(np.prod(first.shape)))):
                return _Value(first.number, positions.shape)
        return self.emit("take", operands, positions.shape, flat)

    def program(self, result: int, clock: int | None) -> Program:
        """The steps that the result needs, numbered as a `Program` has them."""
        inputs = len(self._sizes)
        needed: set[int] = set()
        open_ends = [result]
        while open_ends:
            number = open_ends.pop()
            if number not in needed:
                needed.add(number)
                if number >= inputs:
                    open_ends.extend(self._steps[number - inputs].operands)
        constants = sorted((k for k in needed if k < 0), reverse=True)
        kept = sorted(k for k in needed if k >= inputs)
        new = {k: k for k in range(inputs)}
        new |= {k: inputs + i for i, k in enumerate(constants)}
        new |= {k: inputs + len(constants) + i for i, k in enumerate(kept)}
        steps = [self._steps[k - inputs] for k in kept]
        return Program(
            self._sizes,
            tuple(self._constants[-k - 1] for k in constants),
            tuple(step._replace(operands=tuple(new[k] for k in step.operands)) for step in steps),
            new[result],
            clock,
        )

    def inline(self, jaxpr: Any, constants: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a jaxpr."""
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
        known |= dict(zip(jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            self._where = _line(equation) or self._where
            outputs = self._apply(equation, [read(atom) for atom in equation.invars])
            known |= dict(zip(equation.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _apply(self, equation: Any, operands: list[Any]) -> list[Any]:
        name, params = equation.primitive.name, equation.params
        shapes = [tuple(out.aval.shape) for out in equation.outvars]
        inner = next((params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in params), None)
        if name in ("scan", "while", "cond", "custom_linear_solve"):
            return getattr(self, f"_{name}")(params, operands, shapes)
        if inner is not None:
            return self.inline(*_opened(inner), operands)
        for x in operands:
            if isinstance(x, _Missing):
                raise self._missing(x.name, x.where)
        if not any(isinstance(x, _Value) for x in operands):
            return _evaluated(equation, operands)
        if name in ELEMENTWISE:
            operands = [self._as_large(x, shapes[0]) for x in operands]
            return [ELEMENTWISE[name](self, operands, params, shapes[0])]
        if name in ("copy", "copy_p", "stop_gradient", "optimization_barrier", "reduce_precision"):
            return list(operands)
        if name in MOVING and not any(isinstance(x, _Value) for x in _indices(name, operands)):
            return self._move(equation, operands)
        if name == "scatter" and not isinstance(operands[1], _Value):
            return self._move(equation, operands)
        if name == "scatter-add" and not isinstance(operands[1], _Value):
            return [self._scatter_add(equation, operands, shapes[0])]
        if name in REDUCING:
            return [self._reduce(REDUCING[name], operands[0], params["axes"], shapes[0])]
        if name in RUNNING:
            return [self._run(RUNNING[name], operands, params, shapes[0])]
        if name == "dot_general":
            return [self._dot(operands, params["dimension_numbers"][0:2], shapes[0])]
        if name == "triangular_solve" and len(shapes[0]) == 2:
            return [self._triangular_solve(params, operands, shapes[0])]
        if name == "cholesky" and len(shapes[0]) == 2:
            return [self._cholesky(params, operands[0], shapes[0])]
        if name == "lu":
            # Its results are needed where its matrix is not solved with, and a solve has a step of its own.
            return [_Missing(-1, shape, name, self._where) for shape in shapes]
        raise self._missing(name, self._where)

    def _missing(self, name: str, where: str) -> EngineError:
        return EngineError(
            f"{self._what} uses {name!r}{where}, for which the julia engine has no counterpart: write it in another "
            'way, give a twin (julia="u -> ..."), or use engine="jax"'
        )

    def _as_large(self, x: Any, shape: tuple[int, ...]) -> Any:
        """x in a shape that its own stretches to; one number alone is left as it is."""
        own = x.shape if isinstance(x, _Value) else np.shape(x)
        count = int(np.prod(own))
        if count == 1 or own == shape:
            return x
        return self.take([x], np.broadcast_to(np.arange(count).reshape(own), shape))

    def _move(self, equation: Any, operands: list[Any]) -> list[Any]:
        """Whatever moves numbers, done with their positions in place of them."""
        indices = _indices(equation.primitive.name, operands)
        data = operands[: len(operands) - len(indices)]
        scatters = equation.primitive.name == "scatter"
        if scatters:
            data = [operands[0], operands[2]]  # its indices are between the numbers
        ends = np.cumsum(
            [0, *(np.size(x) if not isinstance(x, _Value) else int(np.prod(x.shape)) for x in data)]
        )
        places = [
            np.arange(start, end).reshape(np.shape(x) if not isinstance(x, _Value) else x.shape)
            for x, start, end in zip(data, ends[:-1], ends[1:], strict=True)
        ]
        moved = [places[0], *indices, places[1]] if scatters else [*places, *indices]
        outputs = _evaluated(equation, moved)
        if any((out < 0).any() for out in outputs):
            # An index out of bounds, where JAX puts NaN.
            data, outputs = [*data, np.nan], [np.where(out < 0, ends[-1], out) for out in outputs]
        return [self.take(data, out) for out in outputs]

    def _scatter_add(self, equation: Any, operands: list[Any], shape: tuple[int, ...]) -> Any:
        """operand + Σ updates at their places, which are the cotangents of the updates for the places themselves."""
        operand, indices, updates = operands
        places = 1.0 + np.arange(int(np.prod(shape))).reshape(shape)
        like = np.zeros(updates.shape if isinstance(updates, _Value) else np.shape(updates))
        pull = jax.vjp(
            lambda x: equation.primitive.bind(np.zeros(shape), indices, x, **equation.params), like
        )[1]
        landed = np.ravel(np.asarray(pull(jax.numpy.asarray(places))[0])).astype(int) - 1
        kept = np.flatnonzero(landed >= 0)
        updates = self.take([updates], kept) if len(kept) < len(landed) else updates
        spread = self.emit("spread", [updates], shape, [*landed[kept], int(np.prod(shape))])
        return self.emit("add", [operand, spread], shape)

    def _reduce(self, operation: str, x: Any, axes: Any, shape: tuple[int, ...]) -> Any:
        axes = tuple(int(axis) for axis in axes)
        count = int(np.prod([x.shape[axis] for axis in axes]))
        if not axes:
            return x
        return self.emit(operation, [self._with_last(x, axes)], shape, [count])

    def _with_last(self, x: Any, axes: tuple[int, ...]) -> Any:
        """x with these axes behind the others."""
        order = [axis for axis in range(len(x.shape)) if axis not in axes]
        places = np.arange(int(np.prod(x.shape))).reshape(x.shape).transpose(*order, *axes)
        return self.take([x], places)

    def _run(self, operation: str, operands: list[Any], params: Any, shape: Any) -> Any:
        """A function along one axis that keeps the shape."""
        if len(operands) > 1:
            raise self._missing("sort of several arrays", self._where)
        axis = int(params["axis"] if "axis" in params else params["dimension"])
        places = np.moveaxis(np.arange(int(np.prod(shape))).reshape(shape), axis, -1)
        if params.get("reverse"):
            places = places[..., ::-1]
        last = self.take(operands, places)
        done = self.emit(operation, [last], places.shape, [shape[axis]])
        return self.take([done], np.argsort(places.ravel()).reshape(shape))

    def _dot(self, operands: list[Any], dimension_numbers: Any, shape: tuple[int, ...]) -> Any:
        (contracted, batched) = dimension_numbers
        sides, free, batch, inner = [], [], 1, 1
        for x, over, along in zip(operands, contracted, batched, strict=True):
            x_shape = x.shape if isinstance(x, _Value) else np.shape(x)
            own = [axis for axis in range(len(x_shape)) if axis not in (*over, *along)]
            places = np.arange(int(np.prod(x_shape))).reshape(x_shape)
            places = places.transpose(*along, *own, *over)
            sides.append(self.take([x], places) if isinstance(x, _Value) else np.ravel(x)[places])
            free.append(int(np.prod([x_shape[axis] for axis in own])))
            batch = int(np.prod([x_shape[axis] for axis in along]))
            inner = int(np.prod([x_shape[axis] for axis in over]))
        return self.emit("dot", sides, shape, [batch, *free, inner])

    def _triangular_solve(self, params: Any, operands: list[Any], shape: Any) -> Any:
        """The matrix with its other half made zero, and a plain solve."""
        matrix, right = operands
        n = int(
            np.sqrt(np.size(matrix) if not isinstance(matrix, _Value) else np.prod(matrix.shape))
        )
        places = np.arange(n * n).reshape(n, n)
        row, column = np.indices((n, n))
        inside = row >= column if params["lower"] else row <= column
        places = np.where(inside, places, n * n)
        if params["unit_diagonal"]:
            places = np.where(row == column, n * n + 1, places)
        # X A = B is AᵀXᵀ = Bᵀ.
        left = params["left_side"]
        if params["transpose_a"] == left:
            places = places.T
        matrix = self.take([matrix, 0.0, 1.0], places)
        turned = np.arange(int(np.prod(shape))).reshape(shape)
        if not left:
            right = self.take([right], turned.T)
        count = shape[1] if left else shape[0]
        solution = self.emit("solve", [matrix, right], (n, count), [n, count])
        return solution if left else self.take([solution], turned.reshape(n, count).T)

    def _cholesky(self, params: Any, matrix: Any, shape: Any) -> Any:
        n = shape[0]
        if params.get("symmetrize_input"):
            turned = self.take([matrix], np.arange(n * n).reshape(n, n).T)
            both = self.emit("add", [matrix, turned], shape)
            matrix = self.emit("multiply", [0.5, both], shape)
        return self.emit("cholesky", [matrix], shape, [n])

    def _custom_linear_solve(self, params: Any, operands: list[Any], shapes: Any) -> list[Any]:
        """The matrix, column by column, from the product with it that the solve is defined by; then a plain solve."""
        count = params["const_lengths"].matvec
        constants = operands[:count]
        (right,) = operands[sum(params["const_lengths"]) :]
        (shape,) = shapes
        n = int(np.prod(shape))
        columns = []
        for k in range(n):
            unit = np.zeros(n)
            unit[k] = 1
            (column,) = self.inline(
                *_opened(params["jaxprs"].matvec), [*constants, unit.reshape(shape)]
            )
            columns.append(column)
        matrix = self.take(columns, np.arange(n * n).reshape(n, n).T)
        return [self.emit("solve", [matrix, right], shape, [n, 1])]

    def _scan(self, params: Any, operands: list[Any], shapes: Any) -> list[Any]:
        constants = operands[: params["num_consts"]]
        carry = operands[params["num_consts"] :][: params["num_carry"]]
        rows = operands[params["num_consts"] + params["num_carry"] :]
        length, body = params["length"], _opened(params["jaxpr"])
        turns = range(length - 1, -1, -1) if params["reverse"] else range(length)
        written: dict[int, list[Any]] = {}
        for k in turns:
            outputs = self.inline(*body, [*constants, *carry, *(self._row(x, k) for x in rows)])
            carry, written[k] = outputs[: len(carry)], outputs[len(carry) :]
        stacked = []
        for i, shape in enumerate(shapes[len(carry) :]):
            entries = [written[k][i] for k in range(length)]
            if any(isinstance(x, _Value) for x in entries):
                stacked.append(self.take(entries, np.arange(int(np.prod(shape))).reshape(shape)))
            else:
                stacked.append(np.reshape(np.stack(entries), shape) if entries else np.zeros(shape))
        return [*carry, *stacked]

    def _row(self, x: Any, k: int) -> Any:
        if not isinstance(x, _Value):
            return x[k]
        return self.take([x], np.arange(int(np.prod(x.shape))).reshape(x.shape)[k])

    def _while(self, params: Any, operands: list[Any], shapes: Any) -> list[Any]:
        first, second = params["cond_nconsts"], params["body_nconsts"]
        for_condition, for_body = operands[:first], operands[first : first + second]
        carry = operands[first + second :]
        condition, body = _opened(params["cond_jaxpr"]), _opened(params["body_jaxpr"])
        while True:
            (more,) = self.inline(*condition, [*for_condition, *carry])
            if isinstance(more, _Value):
                raise self._missing("while with turns that depend on the state", self._where)
            if not more:
                return carry
            carry = self.inline(*body, [*for_body, *carry])

    def _cond(self, params: Any, operands: list[Any], shapes: Any) -> list[Any]:
        which, *rest = operands
        branches = [_opened(branch) for branch in params["branches"]]
        if not isinstance(which, _Value):
            return self.inline(*branches[int(np.clip(which, 0, len(branches) - 1))], rest)
        chosen, *others = [self.inline(*branch, rest) for branch in branches]
        for k, outputs in enumerate(others, start=1):
            later = self.emit("greater_equal", [which, float(k)], ())
            chosen = [
                self.emit("select", [later, new, old], shape)
                for new, old, shape in zip(outputs, chosen, shapes, strict=True)
            ]
        return chosen


def _opened(jaxpr: Any) -> tuple[Any, list[Any]]:
    """A jaxpr and its constants."""
    return (jaxpr.jaxpr, list(jaxpr.consts)) if hasattr(jaxpr, "consts") else (jaxpr, [])


def _indices(name: str, operands: list[Any]) -> list[Any]:
    """Those operands of an operation that moves numbers which say where to."""
    if name == "scatter":
        return [operands[1]]
    return operands[MOVING[name] :] if MOVING[name] is not None else []


def _evaluated(equation: Any, operands: list[Any]) -> list[np.ndarray]:
    """The outputs of an equation for known operands."""
    bound = equation.primitive.bind(*(jax.numpy.asarray(x) for x in operands), **equation.params)
    return [np.asarray(x) for x in (bound if equation.primitive.multiple_results else [bound])]


def _line(equation: Any) -> str:
    """Where in the user's file an equation comes from: the innermost frame that is not JAX's or ours."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        path = Path(frame.file_name)
        if "jax" not in path.parts and path != Path(__file__):
            return f" ({path.name}, line {frame.line_num})"
    return ""
