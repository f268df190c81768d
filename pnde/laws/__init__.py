"""Laws: their kinds, rods, power balance, targets."""

from pnde.laws.conserved import Conserved, as_constraint
from pnde.laws.constraint import Constraint, Stacked
from pnde.laws.holonomic import Holonomic
from pnde.laws.linear import ConstantJacobian, Linear, Pinned
from pnde.laws.power_balance import PowerBalance
from pnde.laws.rods import Rods, RodsStructure

__all__ = [
    "Conserved",
    "ConstantJacobian",
    "Constraint",
    "Holonomic",
    "Linear",
    "Pinned",
    "PowerBalance",
    "Rods",
    "RodsStructure",
    "Stacked",
    "as_constraint",
]
