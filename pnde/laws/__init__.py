"""Laws: their kinds, rods, power balance, targets, and the conditions that they hold under."""

from pnde.laws.conditions import UNDRIVEN, Conditions
from pnde.laws.conserved import Conserved, as_constraint
from pnde.laws.constraint import Constraint, Stacked
from pnde.laws.holonomic import Holonomic
from pnde.laws.instant import Instant
from pnde.laws.linear import ConstantJacobian, Linear, Pinned
from pnde.laws.power_balance import PowerBalance
from pnde.laws.rods import Rods, RodsStructure

__all__ = [
    "UNDRIVEN",
    "Conditions",
    "Conserved",
    "ConstantJacobian",
    "Constraint",
    "Holonomic",
    "Instant",
    "Linear",
    "Pinned",
    "PowerBalance",
    "Rods",
    "RodsStructure",
    "Stacked",
    "as_constraint",
]
