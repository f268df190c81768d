"""Laws: their kinds, rods, power balance, targets, inequalities, and the conditions that they hold under."""

from pnde.laws.bounds import Bounds
from pnde.laws.conditions import UNDRIVEN, Conditions
from pnde.laws.conserved import Conserved, as_constraint
from pnde.laws.constraint import Constraint, Stacked
from pnde.laws.grid_limits import AngleLimit, VoltageBand
from pnde.laws.holonomic import Holonomic
from pnde.laws.inequality import Bounded, Inequality, Joined, split_laws
from pnde.laws.instant import Instant
from pnde.laws.linear import ConstantJacobian, Linear, Pinned
from pnde.laws.of_file import law_of
from pnde.laws.power_balance import PowerBalance
from pnde.laws.rods import Rods, RodsStructure

__all__ = [
    "UNDRIVEN",
    "AngleLimit",
    "Bounded",
    "Bounds",
    "Conditions",
    "Conserved",
    "ConstantJacobian",
    "Constraint",
    "Holonomic",
    "Inequality",
    "Instant",
    "Joined",
    "Linear",
    "Pinned",
    "PowerBalance",
    "Rods",
    "RodsStructure",
    "Stacked",
    "VoltageBand",
    "as_constraint",
    "law_of",
    "split_laws",
]
