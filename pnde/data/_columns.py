"""Which columns of a source are read, and which of them holds what."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pnde.errors import DataError, listed, nearest, shown

from ._labels import first_twice

# Names of columns that say which trajectory a row belongs to, besides `trajectory` itself.
_RUNS = (
    *("traj", "trajectory_id", "run", "run_id", "trial", "trial_id", "experiment", "episode"),
    *("series", "id"),
)
_CLOCKS = ("time", "timestamp", "datetime", "date_time", "date")
_SPLITS = ("split", "set", "subset", "partition")


@dataclass(frozen=True)
class Columns:
    """What the caller said of the columns (variables, arrays) of a source; `None` is left to the reader.

    **Attributes:** `states`: names to be read as states, in this order; `time`, `trajectory`: the
    names of the one with the times, and of the one with the trajectories' names; `inputs`,
    `parameters`: names to be read as these; `interpolation`, `jumps`: of inputs that are sampled at
    times of their own, see `pnde.data.assign_roles`.
    """

    states: tuple[str, ...] | None = None
    time: str | None = None
    trajectory: str | None = None
    inputs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    interpolation: Any = None
    jumps: Any = None

    @classmethod
    def make(
        cls,
        states: Any = None,
        time: Any = None,
        trajectory: Any = None,
        inputs: Any = None,
        parameters: Any = None,
        interpolation: Any = None,
        jumps: Any = None,
    ) -> Columns:
        """The choice, checked. **Raises:** `DataError` where it is no name, or names one twice."""
        if states is not None:
            if isinstance(states, str) or not isinstance(states, Sequence) or not states:
                raise DataError(
                    f"states= is a list of names, such as ['x', 'v'], not {shown(states)}"
                )
            states = tuple(str(name) for name in states)
        inputs, parameters = names_in(inputs, "inputs"), names_in(parameters, "parameters")
        asked = [*(states or ()), *inputs, *parameters, *(n for n in (time, trajectory) if n)]
        twice = first_twice(asked)
        if twice is not None:
            raise DataError(f"the column {shown(twice)} is asked for twice")
        for word, name in (("time", time), ("trajectory", trajectory)):
            if name is not None and not isinstance(name, str):
                raise DataError(f"{word}= is the name of a column, not {shown(name)}")
        return cls(states, time, trajectory, inputs, parameters, interpolation, jumps)

    @property
    def named(self) -> tuple[str, ...]:
        """States, inputs and parameters, as far as they are named."""
        return (*(self.states or ()), *self.inputs, *self.parameters)

    def chosen(self, held: Collection[str], what: str = "column") -> list[str] | None:
        """The names of states, inputs and parameters, or `None` for all; `DataError` where one is not held."""
        for name in self.named:
            _check_held(name, held, what)
        return None if self.states is None else list(self.named)

    def time_among(self, held: Collection[str], what: str = "column") -> str | None:
        """The name that holds the times, or `None`.

        **Raises:** `DataError` where it is said and not there, or where there are several.
        """
        if self.time is not None:
            return _check_held(self.time, held, what)
        read = self._others(held)
        found = [name for name in read if name == "t" or name.casefold() in _CLOCKS]
        return _the_one(found, "time", what)

    def trajectory_among(self, held: Collection[str], what: str = "column") -> str | None:
        """The name that tells the trajectories apart, or `None`; errors as in `time_among`."""
        if self.trajectory is not None:
            return _check_held(self.trajectory, held, what)
        read = self._others(held)
        found = [name for name in read if name.casefold() == "trajectory"]
        found = found or [name for name in read if name.casefold() in _RUNS]
        return _the_one(found, "trajectory", what)

    def split_among(self, held: Collection[str]) -> list[str]:
        """Names that may hold the splits, the likeliest first."""
        read = self._others(held)
        return [name for word in _SPLITS for name in read if name.casefold() == word]

    def _others(self, held: Collection[str]) -> list[str]:
        """The names that are not asked for as states, inputs or parameters."""
        named = frozenset(self.named)
        return [name for name in held if name not in named]


def names_in(names: Any, word: str) -> tuple[str, ...]:
    """A name or a list of names, as `word=` takes it."""
    if isinstance(names, str):
        return (names,)
    if names is None:
        return ()
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{word}= is a name or a list of names, such as ['F', 'G'], not {shown(names)}"
        )
    return tuple(names)


def _check_held(name: str, held: Collection[str], what: str) -> str:
    if name not in held:
        raise DataError(
            f"there is no {what} {shown(name)}{nearest(name, held)}; there are {listed(held)}"
        )
    return name


def _the_one(found: list[str], role: str, what: str) -> str | None:
    if len(found) > 1:
        raise DataError(
            f"each {what} of {listed(found)} could be the {role}; say which by "
            f"{role}={shown(found[0])}, and name the states by states=[…]"
        )
    return found[0] if found else None
