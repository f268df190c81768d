"""pandapower nets, in memory and in files."""

from pnde.grids.pandapower.files import of_sheets, read_pandapower
from pnde.grids.pandapower.net import from_pandapower

__all__ = ["from_pandapower", "of_sheets", "read_pandapower"]
