"""What a system shows beside its errors: a phase portrait, the last bob's path, a grid's powers and voltages; and what
drives it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import xarray as xr

from pnde.systems import DrivenPendulum, System
from pnde.systems.grid import PowerGrid
from pnde.systems.pendulum import Pendulum

from ._grid import active_power, diagram, voltage
from ._phase import phase
from ._trajectories import trajectories


@singledispatch
def system(
    system: System, truth: xr.Dataset, forecasts: Mapping[str, xr.Dataset]
) -> dict[str, Any]:
    """The figures of a system's own.

    **Arguments:**

    - `system`: whose trajectories they are.
    - `truth`, `forecasts`: as `pnde.plot.phase` takes them.

    **Returns:** axes by the name of the picture.
    """
    return {"phase": phase(truth, forecasts)}


@system.register
def _(system: Pendulum, truth, forecasts):
    last = (f"x_{system.n}", f"y_{system.n}")
    return {"phase": phase(truth, forecasts, states=last)}


@system.register
def _(system: DrivenPendulum, truth, forecasts):
    last = (f"x_{system.n}", f"y_{system.n}")
    sets = {"truth": truth, **forecasts}
    return {
        "phase": phase(truth, forecasts, states=last, pivot=("X", "Y")),
        "trajectories": trajectories(sets, states=last),
    }


@system.register
def _(system: PowerGrid, truth, forecasts):
    # As in the paper: what the law changes, beside the plain model.
    pair = {k: ds for k, ds in forecasts.items() if ds.attrs.get("method") != "snde"}
    shown = pair or forecasts
    if not system.inputs:
        return {
            "power": active_power(system, shown),
            "voltage": voltage(system, shown),
            "grid": diagram(system, shown),
        }
    # Each trajectory of a driven grid has set-points of its own: one can be read, a bundle cannot.
    each = {k: ds.isel(trajectory=[0]) for k, ds in shown.items()}
    return {
        "power": active_power(system, each),
        "voltage": voltage(system, {"truth": truth.isel(trajectory=[0]), **each}),
        "grid": diagram(system, shown),
    }
