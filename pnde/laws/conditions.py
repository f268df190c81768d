"""What trajectories run under beside their states: inputs and parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from pnde.data import Inputs, inputs_of
from pnde.errors import ConstraintError, listed, nearest, shown
from pnde.laws.constraint import Constraint, Stacked
from pnde.laws.instant import Instant
from pnde.laws.signature import Role


@dataclass(frozen=True, eq=False)
class Conditions:
    """Inputs and parameters of B trajectories.

    - `inputs`: functions of time; `None` where nothing drives the trajectories.
    - `p`: parameters `(B, r)`, `None` where there are none.
    """

    inputs: Inputs | None = None
    p: np.ndarray | None = None

    @classmethod
    def of(cls, ds: xr.Dataset) -> Conditions:
        """Those of a data set in the standard layout."""
        p = None
        if "parameters" in ds:
            p = ds["parameters"].transpose("trajectory", "parameter").values
        return cls(inputs_of(ds), p)

    @property
    def roles(self) -> frozenset[Role]:
        """What there is of inputs and parameters."""
        held = {"w": self.inputs, "p": self.p}
        return frozenset(role for role, part in held.items() if part is not None)  # type: ignore[misc]

    @property
    def jump(self) -> bool:
        """Whether an input jumps in any of the trajectories."""
        return self.inputs is not None and self.inputs.jumps.shape[1] > 0

    @property
    def smooth(self) -> Conditions:
        """The same, of trajectories that are known not to jump."""
        if self.inputs is None:
            return self
        return replace(self, inputs=replace(self.inputs, jumps=self.inputs.jumps[:, :0]))

    def rows(self, rows: np.ndarray) -> Conditions:
        """Those of the trajectories at the positions `rows`."""
        inputs = None if self.inputs is None else self.inputs.of(rows)
        return Conditions(inputs, None if self.p is None else self.p[rows])

    def between(self, start: np.ndarray, end: np.ndarray) -> Conditions:
        """What counts from `start` to `end`, `(B,)` each."""
        inputs = None if self.inputs is None else self.inputs.between(start, end)
        return Conditions(inputs, self.p)

    def since(self, start: np.ndarray) -> Conditions:
        """The same on clocks that begin at `start` `(B,)`."""
        return Conditions(None if self.inputs is None else self.inputs.since(start), self.p)

    def meeting(self, times: np.ndarray, tolerance: float) -> Conditions:
        """The same with jumps that miss one of the times `(B, T)` by no more than `tolerance` moved onto it."""
        inputs = None if self.inputs is None else self.inputs.meeting(times, tolerance)
        return Conditions(inputs, self.p)

    def at(self, t: np.ndarray) -> Instant:
        """The instants at times `(B, ...)`; where a time is NaN, so are its inputs."""
        w = rate = curvature = p = None
        if self.inputs is not None:
            w, rate, curvature = (self.inputs.at(t, order) for order in range(3))
        if self.p is not None:
            axes = (1,) * (t.ndim - 1)
            p = np.broadcast_to(self.p.reshape(len(self.p), *axes, -1), (*t.shape, self.p.shape[1]))
        return Instant(t, w, rate, curvature, p)


#: Of trajectories that nothing drives.
UNDRIVEN = Conditions()


def check_given(what: str, roles: frozenset[Role], ds: xr.Dataset) -> None:
    """Whether a data set has the inputs and parameters that a function takes; `what` is its name in messages.

    **Raises:** `pnde.errors.ConstraintError` with the remedy.
    """
    if "w" in roles and "w" not in ds:
        raise ConstraintError(
            f"{what} takes inputs, but the data have none; name the columns that are inputs by inputs="
        )
    if "p" in roles and "parameters" not in ds:
        raise ConstraintError(
            f"{what} takes parameters, but the data have none; name the columns that are parameters by parameters="
        )


def check_inputs(law: Constraint, ds: xr.Dataset) -> None:
    """Whether a data set has the inputs that a law, or a part of it, is written for, in their order.

    **Raises:** `pnde.errors.ConstraintError` naming the first that is another.
    """
    for part in law.parts if isinstance(law, Stacked) else (law,):
        if not part.inputs:
            continue
        own, given = part.inputs, tuple(str(name) for name in ds["input"].values)
        what = f"the law {part.label!r}"
        for name in own:
            if name not in given:
                raise ConstraintError(
                    f"{what} takes the input {shown(name)}, which the data lack{nearest(name, given)}; theirs are "
                    f"{listed(given)}"
                )
        if given != own:
            raise ConstraintError(
                f"{what} takes the inputs {listed(own)}, but the data have {listed(given)}: select and order them alike"
            )
