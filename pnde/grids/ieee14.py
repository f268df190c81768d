"""The paper's 14-bus grid, built in: as it was meant, and as it was published."""

from __future__ import annotations

import tomllib

import numpy as np

from pnde.files import julia_package
from pnde.grids.grid import Grid
from pnde.grids.tables import Branches, Buses

_CITATION = (
    "IEEE 14-bus test system as reduced in White et al., Projected neural differential equations "
    "(code: white-alistair/Projected-Neural-Differential-Equations, MIT), after the ieee14bus "
    "example of PowerDynamics.jl: series admittances only, no taps, shunts or line charging"
)


def ieee14(published: bool = False) -> Grid:
    """The grid of the paper: slack at bus 2, sources at 1, 3, 6, 8, loads at the nine others.

    **Arguments:**

    - `published`: the grid that the published numbers came from. Its script passed the set-points
        of bus 8 in the wrong order, so there the voltage set-point is 0.15487 p.u. (meant as
        reactive power) and the reactive set-point is 0; |v_8| rests at 0.3846. By default the
        set-points are as meant, and every source rests at 1 p.u.
    """
    # The Julia package has the same law, and reads the same file.
    text = (julia_package() / "data" / "ieee14.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    rows = {number: values for number, *values in table["buses"]}
    if published:
        kind, active, reactive, _ = rows[8]
        rows[8] = [kind, active, 0.0, reactive]
    kinds, active_powers, reactive_powers, voltages = zip(*rows.values(), strict=True)
    start, end, real, imag = (np.array(column) for column in zip(*table["branches"], strict=True))
    return Grid(
        Buses(
            number=np.array(list(rows)),
            kind=kinds,
            active=np.array(active_powers),
            reactive=np.array(reactive_powers),
            voltage=np.array(voltages),
        ),
        Branches(start=start - 1, end=end - 1, admittance=real + 1j * imag),
        name="ieee14-published" if published else "ieee14",
        base_mva=100.0,
        citation=_CITATION,
    )
