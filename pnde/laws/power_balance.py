"""The law of a grid: power balance at every load bus, and the pinned voltage of the slack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, GridError, nearest
from pnde.grids.grid import Grid
from pnde.grids.network import Network
from pnde.laws.constraint import Constraint


class PowerBalance(Constraint):
    """Every load bus draws its active and reactive power, and every slack bus keeps its voltage.

    The rows are P at the loads, Q at the loads (paper, Eq. 30-31 and appendix I), Re v and Im v at
    the slack buses, m = 2 L + 2 S, p.u. Loads of constant current, which draw more at a higher
    |v|, are taken off P and Q; those of constant impedance are shunts. The rows' targets are the
    set-points, not what a trajectory happens to start with. The slack has rows of its own because a
    projection on the loads' rows alone would move its voltage.

    **Arguments:**

    - `grid`: the grid; its state is ``[Re v_1 … Re v_N, Im v_1 … Im v_N]``, p.u.

    **Raises:** [`pnde.errors.GridError`][] for a grid without a load bus.
    """

    structure: Network
    target: np.ndarray

    def __init__(self, grid: Grid):
        if not len(grid.loads):
            raise GridError(
                f"{grid.name} has no load bus, so there is no power balance to keep; every bus is "
                "a source or a slack"
            )
        self.grid = grid
        set_point = grid.buses.active[grid.loads], grid.buses.reactive[grid.loads]
        slack = grid.slack_voltage
        rows = [("P", grid.loads), ("Q", grid.loads), ("Re v", grid.slack), ("Im v", grid.slack)]
        super().__init__(
            self._rows,
            target=np.concatenate([*set_point, slack.real, slack.imag]),
            jacobian=self._matrix,
            names=[f"{what} at {grid.bus_label(k)}" for what, at in rows for k in at],
            states=grid.state_names,
            julia=None if grid.buses.current.any() else "PowerBalance",
            julia_parameters=_julia_parameters(grid),
        )
        self.structure = Network(grid)

    @property
    def label(self) -> str:
        return f"power balance of {self.grid.name}"

    def _rows(self, u: Any) -> Any:
        return self.structure.rows(u, self.structure.current(u))

    def _matrix(self, u: Any) -> Any:
        return self.structure.matrix(u, self.structure.current(u))

    def bind(self, states: Sequence[str]) -> Constraint:
        own, given = self.grid.state_names, tuple(states)
        for name in given:
            if name not in own:
                raise ConstraintError(
                    f"the data have a state {name!r}, which belongs to no bus of "
                    f"{self.grid.name}{nearest(name, own)}; select or rename the states, or name "
                    "the grid that they come from"
                )
        for name in own:
            if name not in given:
                raise ConstraintError(
                    f"the data have no state {name!r}, but {self.grid.name} has that bus; its "
                    f"states are {own[0]!r} to {own[-1]!r}, two for each bus"
                )
        for position, (mine, theirs) in enumerate(zip(own, given, strict=True)):
            if mine != theirs:
                raise ConstraintError(
                    f"state {position + 1} of the data is {theirs!r}, but that of "
                    f"{self.grid.name} is {mine!r}; order them as Re v of all buses, then Im v"
                )
        return self


def _julia_parameters(grid: Grid) -> dict[str, Any]:
    """The keywords of the Julia package's `PowerBalance`; its positions count from 1."""
    matrix = grid.admittance().tocoo()
    return {
        "size": grid.size,
        "rows": matrix.row + 1,
        "columns": matrix.col + 1,
        "conductance": np.ascontiguousarray(matrix.data.real),
        "susceptance": np.ascontiguousarray(matrix.data.imag),
        "loads": grid.loads + 1,
        "slack": grid.slack + 1,
    }
