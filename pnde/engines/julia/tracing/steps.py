"""The steps of a program as they are found, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pnde.errors import EngineError
from pnde.laws.program import Program, Step

# Loops are unrolled. A program of more steps than this would take longer to read than its loop to run.
_MOST_STEPS = 20_000


@dataclass(frozen=True)
class Value:
    """A value that depends on the inputs: its number in the program, and the shape that its flat array has."""

    number: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Missing(Value):
    """The result of an operation without a counterpart, which is an error where it is used."""

    name: str
    where: str


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a value or constant."""
    return x.shape if isinstance(x, Value) else np.shape(x)


def size_of(x: Any) -> int:
    """How many numbers a value or constant has."""
    return int(np.prod(shape_of(x)))


def places(shape: Sequence[int], first: int = 0) -> np.ndarray:
    """The position of each number of an array in its flat array, which starts at `first`."""
    count = int(np.prod(shape))
    return np.arange(first, first + count).reshape(tuple(shape))


class Steps:
    """The steps so far. Values known already are NumPy arrays; only the others become steps.

    - `what`: what messages call the function; `where`: the line that is looked at.
    """

    def __init__(self, what: str, sizes: Sequence[int]):
        self.what, self.where = what, ""
        self._sizes = tuple(sizes)
        self._constants: list[np.ndarray] = []
        self._constant_numbers: dict[bytes, int] = {}
        self._steps: list[Step] = []
        self._step_numbers: dict[Step, int] = {}

    # Constants are numbered downwards from -1 until their count is known.
    def value(self, x: Any) -> int:
        """The number of a value or constant."""
        if isinstance(x, Value):
            return x.number
        flat = np.ravel(np.asarray(x, np.float64))
        key = flat.tobytes()
        if key not in self._constant_numbers:
            self._constants.append(flat)
            self._constant_numbers[key] = -len(self._constants)
        return self._constant_numbers[key]

    def emit(
        self, operation: str, operands: Sequence[Any], shape: Any, integers: Iterable[int] = ()
    ) -> Value:
        """One more step, unless the same was there before."""
        step = Step(
            operation,
            tuple(self.value(x) for x in operands),
            tuple(int(k) for k in integers),
        )
        if step not in self._step_numbers:
            if len(self._steps) == _MOST_STEPS:
                raise EngineError(
                    f"{self.what} has a loop with too many turns for the julia engine{self.where}: give its twin "
                    '(julia="u -> ..."), or use engine="jax"'
                )
            self._steps.append(step)
            self._step_numbers[step] = len(self._sizes) + len(self._steps) - 1
        return Value(self._step_numbers[step], tuple(shape))

    def take(self, operands: Sequence[Any], positions: np.ndarray) -> Any:
        """The numbers at positions `(shape)` in the operands, one behind the other."""
        flat = np.ravel(positions)
        (first, *others) = operands
        if not others and isinstance(first, Value):
            if np.array_equal(flat, np.arange(size_of(first))):
                return Value(first.number, positions.shape)
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
