"""The systems of the paper, by name or as classes, and what a new one has to bring."""

from __future__ import annotations

from pnde.systems.base import System as System
from pnde.systems.grid import IEEE14, PowerGrid
from pnde.systems.lotka_volterra import LotkaVolterra
from pnde.systems.of_data import law_for as law_for
from pnde.systems.of_data import system_of as system_of
from pnde.systems.pendulum import Pendulum
from pnde.systems.powerdynamics import PowerDynamicsGrid as PowerDynamicsGrid
from pnde.systems.powerdynamics import from_powerdynamics as from_powerdynamics
from pnde.systems.quartic import Quartic
from pnde.systems.registry import get as get
from pnde.systems.registry import names as names

quartic = Quartic
lotka_volterra = LotkaVolterra
pendulum = Pendulum
ieee14 = IEEE14
power_grid = PowerGrid
