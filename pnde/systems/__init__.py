"""The systems of the paper and driven ones, by name or as classes, and what a new one has to bring."""

from pnde.systems.base import Driving, System
from pnde.systems.driven_pendulum import DrivenPendulum
from pnde.systems.grid import IEEE14, IEEE14Loads, IEEE14Published, PowerGrid
from pnde.systems.load_profiles import driven_by
from pnde.systems.lotka_volterra import LotkaVolterra
from pnde.systems.lotka_volterra_family import LotkaVolterraFamily
from pnde.systems.of_data import inequalities_for, law_for, system_of
from pnde.systems.pendulum import Pendulum
from pnde.systems.powerdynamics import PowerDynamicsGrid, from_powerdynamics
from pnde.systems.quartic import Quartic
from pnde.systems.registry import get, names

quartic = Quartic
lotka_volterra = LotkaVolterra
lotka_volterra_family = LotkaVolterraFamily
pendulum = Pendulum
driven_pendulum = DrivenPendulum
ieee14 = IEEE14
power_grid = PowerGrid

__all__ = [
    "IEEE14",
    "DrivenPendulum",
    "Driving",
    "IEEE14Loads",
    "IEEE14Published",
    "LotkaVolterra",
    "LotkaVolterraFamily",
    "Pendulum",
    "PowerDynamicsGrid",
    "PowerGrid",
    "Quartic",
    "System",
    "driven_by",
    "driven_pendulum",
    "from_powerdynamics",
    "get",
    "ieee14",
    "inequalities_for",
    "law_for",
    "lotka_volterra",
    "lotka_volterra_family",
    "names",
    "pendulum",
    "power_grid",
    "quartic",
    "system_of",
]
