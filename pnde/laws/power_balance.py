"""The law of a grid: power balance at every load bus, and the pinned voltage of the slack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pnde.errors import ConstraintError, GridError, nearest
from pnde.grids.grid import Grid
from pnde.grids.network import Network
from pnde.laws.constraint import Constraint
from pnde.laws.instant import Instant


class PowerBalance(Constraint):
    """Every load bus draws its active and reactive power, and every slack bus keeps its voltage.

    The rows are P at the loads, Q at the loads (paper, Eq. 30-31 and appendix I), Re v and Im v at
    the slack buses, m = 2 L + 2 S, p.u. Loads of constant current, which draw more at a higher
    |v|, are taken off P and Q; those of constant impedance are shunts. The rows' targets are the
    set-points, not what a trajectory happens to start with. The slack has rows of its own because a
    projection on the loads' rows alone would move its voltage.

    **Arguments:**

    - `grid`: the grid; its state is ``[Re v_1 … Re v_N, Im v_1 … Im v_N]``, p.u.
    - `driven`: positions ``(D,)`` of load buses whose demand is an input: what they draw at constant
      power, less what is fed in there, active ``(D,)`` and then reactive, MW and Mvar. In place of
      the set-points; the rows' targets are then 0. Where demand jumps, so do the loads' voltages,
      and no source's.

    **Raises:** [`pnde.errors.GridError`][] for a grid without a load bus.
    """

    structure: Network
    target: np.ndarray

    def __init__(self, grid: Grid, driven: np.ndarray | None = None):
        if not len(grid.loads):
            raise GridError(
                f"{grid.name} has no load bus, so there is no power balance to keep; every bus is "
                "a source or a slack"
            )
        self.grid = grid
        set_point = grid.buses.active[grid.loads], grid.buses.reactive[grid.loads]
        slack = grid.slack_voltage
        self.driven = np.zeros(0, int) if driven is None else np.asarray(driven)
        is_driven = np.tile(np.isin(grid.loads, self.driven), 2)
        rows = [("P", grid.loads), ("Q", grid.loads), ("Re v", grid.slack), ("Im v", grid.slack)]
        super().__init__(
            self._rows,
            target=np.concatenate(
                [np.where(is_driven, 0.0, np.concatenate(set_point)), slack.real, slack.imag]
            ),
            jacobian=self._matrix,
            names=[f"{what} at {grid.bus_label(k)}" for what, at in rows for k in at],
            states=grid.state_names,
            jumps=[grid.state_names[k] for k in _free_at_jumps(grid)],
            julia=None if grid.buses.current.any() else "PowerBalance",
        )
        self.structure = Network(grid)
        numbers = grid.buses.number[self.driven]
        #: Names of the demands that are inputs, such as ``P load 4``; those of P, then those of Q.
        self.inputs = tuple(f"{part} load {number}" for part in ("P", "Q") for number in numbers)
        if len(self.driven):
            self.takes = frozenset({"w"})
            # For each row the input that it has; the one behind the last is 0.
            order = np.argsort(self.driven)
            at = order[np.searchsorted(self.driven[order], grid.loads) % len(order)]
            both = np.concatenate([at, at + len(self.driven)])
            none = 2 * len(self.driven)
            pins = np.full(2 * len(grid.slack), none)
            self._input = np.concatenate([np.where(is_driven, both, none), pins])
        self.julia_parameters = self._julia_parameters()

    @property
    def label(self) -> str:
        return f"power balance of {self.grid.name}"

    @property
    def usual_demand(self) -> np.ndarray:
        """The inputs that are the set-points of the grid, MW and Mvar, ``(2 D,)``."""
        buses = self.grid.buses
        injected = np.concatenate([buses.active[self.driven], buses.reactive[self.driven]])
        return 0.0 - self.grid.base_mva * injected  # and not -0 where nothing is drawn

    def demand(self, w: Any) -> Any:
        """What inputs ``(2 D,)``, or their derivatives, add to the rows, p.u., ``(m,)``."""
        xp = w.__array_namespace__()
        return xp.concatenate([w, xp.zeros(1, dtype=w.dtype)])[self._input] / self.grid.base_mva

    def value(self, u: Any, at: Instant) -> Any:
        rows = self._rows(u)
        return rows + self.demand(at.w) if len(self.driven) else rows

    def _rows(self, u: Any) -> Any:
        return self.structure.rows(u, self.structure.current(u))

    def _matrix(self, u: Any) -> Any:
        return self.structure.matrix(u, self.structure.current(u))

    def _julia_parameters(self) -> dict[str, Any]:
        """The keywords of the Julia package's `PowerBalance`; its positions count from 1."""
        grid, matrix = self.grid, self.grid.admittance().tocoo()
        parameters = {
            "size": grid.size,
            "rows": matrix.row + 1,
            "columns": matrix.col + 1,
            "conductance": np.ascontiguousarray(matrix.data.real),
            "susceptance": np.ascontiguousarray(matrix.data.imag),
            "loads": grid.loads + 1,
            "slack": grid.slack + 1,
        }
        if len(self.driven):
            units = np.eye(2 * len(self.driven))
            parameters["demand"] = np.stack([self.demand(unit) for unit in units], axis=1)
        return parameters

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


def _free_at_jumps(grid: Grid) -> np.ndarray:
    """The states without a derivative: those of the loads, and of the slack, whose rows would have none else."""
    buses = np.concatenate([grid.loads, grid.slack])
    return np.concatenate([buses, buses + grid.size])
