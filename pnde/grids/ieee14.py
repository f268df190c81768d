"""The paper's 14-bus grid, built in: as it was meant, and as it was published."""

from __future__ import annotations

import numpy as np

from pnde.grids.grid import Grid
from pnde.grids.tables import Branches, Buses

_CITATION = (
    "IEEE 14-bus test system as reduced in White et al., Projected neural differential equations "
    "(code: white-alistair/Projected-Neural-Differential-Equations, MIT), after the ieee14bus "
    "example of PowerDynamics.jl: series admittances only, no taps, shunts or line charging"
)

# bus: kind, active, reactive, voltage (p.u.; injections). The reactive powers of the sources come
# from a load flow with every |v| at 1, so the grid rests at |v| = 1 on all its sources.
_BUSES: dict[int, tuple[str, float, float, float]] = {
    1: ("source", 2.32, -0.4371497069425563, 1.0),
    2: ("slack", np.nan, np.nan, 1.0),
    3: ("source", -0.942, 0.4826087394862919, 1.0),
    4: ("load", -0.478, 0.0, np.nan),
    5: ("load", -0.076, -0.016, np.nan),
    6: ("source", -0.122, 0.35007095647560965, 1.0),
    7: ("load", 0.0, 0.0, np.nan),
    8: ("source", 0.0, 0.1548724573182038, 1.0),
    9: ("load", -0.295, -0.166, np.nan),
    10: ("load", -0.09, -0.058, np.nan),
    11: ("load", -0.035, -0.018, np.nan),
    12: ("load", -0.061, -0.016, np.nan),
    13: ("load", -0.135, -0.058, np.nan),
    14: ("load", -0.149, -0.05, np.nan),
}

# start, end, real and imaginary part of the series admittance, p.u.
_BRANCHES = (
    (1, 2, 4.999131600798035, -15.263086523179553),
    (1, 5, 1.025897454970189, -4.234983682334831),
    (2, 3, 1.1350191923073958, -4.781863151757718),
    (2, 4, 1.686033150614943, -5.115838325872083),
    (2, 5, 1.7011396670944048, -5.193927397969713),
    (3, 4, 1.9859757099255606, -5.0688169775939205),
    (4, 5, 6.840980661495672, -21.578553981691588),
    (4, 7, 0.0, -4.781943381790359),
    (4, 9, 0.0, -1.7979790715236075),
    (5, 6, 0.0, -3.967939052456154),
    (6, 11, 1.9550285631772604, -4.0940743442404415),
    (6, 12, 1.525967440450974, -3.1759639650294003),
    (6, 13, 3.0989274038379877, -6.102755448193116),
    (7, 8, 0.0, -5.676979846721544),
    (7, 9, 0.0, -9.09008271975275),
    (9, 10, 3.902049552447428, -10.365394127060915),
    (9, 14, 1.4240054870199312, -3.0290504569306034),
    (10, 11, 1.8808847537003996, -4.402943749460521),
    (12, 13, 2.4890245868219187, -2.251974626172212),
    (13, 14, 1.1369941578063267, -2.314963475105352),
)


def ieee14(published: bool = False) -> Grid:
    """The grid of the paper: slack at bus 2, sources at 1, 3, 6, 8, loads at the nine others.

    **Arguments:**

    - `published`: the grid that the published numbers came from. Its script passed the set-points
        of bus 8 in the wrong order, so there the voltage set-point is 0.15487 p.u. (meant as
        reactive power) and the reactive set-point is 0; |v_8| rests at 0.3846. By default the
        set-points are as meant, and every source rests at 1 p.u.
    """
    rows = dict(_BUSES)
    if published:
        kind, active, reactive, _ = rows[8]
        rows[8] = (kind, active, 0.0, reactive)
    kinds, active_powers, reactive_powers, voltages = zip(*rows.values(), strict=True)
    start, end, real, imag = (np.array(column) for column in zip(*_BRANCHES, strict=True))
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
