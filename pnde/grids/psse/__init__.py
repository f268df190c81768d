"""Reader of PSS/E power flow raw data, versions 29 to 35."""

from __future__ import annotations

from pathlib import Path

from pnde.grids.case import build
from pnde.grids.grid import Grid
from pnde.grids.psse.buses import add_buses, add_loads, add_machines, add_shunts
from pnde.grids.psse.direct_current import add_dc_lines, add_facts, add_vsc_lines, refuse_others
from pnde.grids.psse.sections import cut
from pnde.grids.psse.tables import Tables
from pnde.grids.psse.transformers import add_lines, add_transformers
from pnde.grids.text import read_text

__all__ = ["read_psse"]


def read_psse(path: str | Path) -> Grid:
    """A grid from a PSS/E ``.raw`` file, version 29 to 35.

    Read are buses, loads with their three parts, fixed and switched shunts (at their initial
    susceptance), generators, branches, closed switches, two-winding transformers with every CW, CZ
    and CM, and three-winding transformers, which become a star with a load bus of no power in the
    middle. Branches of no more than PSS/E's threshold of impedance join their buses. DC lines are
    injections, FACTS devices sources of reactive power. What takes power and is not modelled is
    refused by its line; what regulates stays where the file has it, with a warning. For what becomes
    of the rest see [`pnde.grids.from_ppc`][].

    **Raises:** [`pnde.errors.DataError`][] naming the file and line, or
    [`pnde.errors.GridError`][] naming the bus or branch.
    """
    path = Path(path)
    tables = Tables(cut(read_text(path), path.name))
    add_buses(tables)
    add_loads(tables)
    add_shunts(tables)
    add_machines(tables)
    add_lines(tables)
    add_transformers(tables)
    add_dc_lines(tables)
    add_vsc_lines(tables)
    add_facts(tables)
    refuse_others(tables)
    return build(tables.case(path.stem))
