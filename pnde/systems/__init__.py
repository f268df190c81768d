"""The systems of the paper, by name or as classes, and what a new one has to bring."""

from pnde.systems.base import System
from pnde.systems.grid import IEEE14, IEEE14Published, PowerGrid
from pnde.systems.lotka_volterra import LotkaVolterra
from pnde.systems.of_data import law_for, system_of
from pnde.systems.pendulum import Pendulum
from pnde.systems.powerdynamics import PowerDynamicsGrid, from_powerdynamics
from pnde.systems.quartic import Quartic
from pnde.systems.registry import get, names

quartic = Quartic
lotka_volterra = LotkaVolterra
pendulum = Pendulum
ieee14 = IEEE14
power_grid = PowerGrid

__all__ = [
    "IEEE14",
    "IEEE14Published",
    "LotkaVolterra",
    "Pendulum",
    "PowerDynamicsGrid",
    "PowerGrid",
    "Quartic",
    "System",
    "from_powerdynamics",
    "get",
    "ieee14",
    "law_for",
    "lotka_volterra",
    "names",
    "pendulum",
    "power_grid",
    "quartic",
    "system_of",
]
