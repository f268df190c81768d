"""Power grids: tables, readers, load flow, sources, operation point.

    grid = pnde.grids.read_grid("ieee14")      # or a .m, .raw or .json file, or a pandapower net
    flow = pnde.grids.load_flow(grid)
    voltage = pnde.grids.operation_point(grid)

The laws of a grid are `PowerBalance`. Everything here is NumPy, but for the elimination of large grids, which is JAX;
JAX, SciPy and pandapower are imported when first used. A network of PowerDynamics.jl, with machines and
controllers of any kind, is taken by `from_powerdynamics`.
"""

from pnde.grids.case import CaseTables
from pnde.grids.fields import from_ppc
from pnde.grids.forcing import TAU, ambient_forcing
from pnde.grids.grid import Grid
from pnde.grids.ieee14 import ieee14
from pnde.grids.layout import layout
from pnde.grids.load_flow import LoadFlow, load_flow
from pnde.grids.matpower import read_matpower
from pnde.grids.modes import growth_rate, slow_modes
from pnde.grids.network import Network
from pnde.grids.operation_point import (
    complete,
    operation_point,
    residual,
    residual_jacobian,
)
from pnde.grids.pandapower import from_pandapower, read_pandapower
from pnde.grids.power import power_jacobian
from pnde.grids.psse import read_psse
from pnde.grids.read import BUILT_IN, is_grid_file, read_grid
from pnde.grids.sources import ALPHA, ETA, KAPPA, NormalForm, dvoc, normal_form
from pnde.grids.tables import KINDS, Branches, Buses

__all__ = [
    "ALPHA",
    "BUILT_IN",
    "ETA",
    "KAPPA",
    "KINDS",
    "TAU",
    "Branches",
    "Buses",
    "CaseTables",
    "Grid",
    "LoadFlow",
    "Network",
    "NormalForm",
    "ambient_forcing",
    "complete",
    "dvoc",
    "from_pandapower",
    "from_ppc",
    "growth_rate",
    "ieee14",
    "is_grid_file",
    "layout",
    "load_flow",
    "normal_form",
    "operation_point",
    "power_jacobian",
    "read_grid",
    "read_matpower",
    "read_pandapower",
    "read_psse",
    "residual",
    "residual_jacobian",
    "slow_modes",
]
