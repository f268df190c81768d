"""The built-in systems by name."""

from __future__ import annotations

import inspect
from typing import Any

from pnde.errors import ConfigError, nearest
from pnde.systems.base import System
from pnde.systems.driven_pendulum import DrivenPendulum
from pnde.systems.grid import IEEE14, IEEE14Loads, IEEE14Published, PowerGrid
from pnde.systems.lotka_volterra import LotkaVolterra
from pnde.systems.lotka_volterra_family import LotkaVolterraFamily
from pnde.systems.pendulum import Pendulum
from pnde.systems.quartic import Quartic

_SYSTEMS: dict[str, type[System]] = {
    kind.name: kind
    for kind in (
        Quartic,
        LotkaVolterra,
        LotkaVolterraFamily,
        Pendulum,
        DrivenPendulum,
        IEEE14,
        IEEE14Loads,
        IEEE14Published,
        PowerGrid,
    )
}


def names() -> tuple[str, ...]:
    """The names that `get` knows."""
    return tuple(_SYSTEMS)


def get(name: str, **parameters: Any) -> System:
    """The built-in system of that name.

    **Raises:** `pnde.errors.ConfigError` if there is none, or it has no such parameter.
    """
    if name not in _SYSTEMS:
        raise ConfigError(
            f"there is no system {name!r}{nearest(name, _SYSTEMS)}; there are: {', '.join(_SYSTEMS)}"
        )
    known = inspect.signature(_SYSTEMS[name]).parameters
    for parameter in parameters:
        if parameter not in known:
            raise ConfigError(
                f"{name} has no parameter {parameter!r}{nearest(parameter, known)}; "
                f"it has: {', '.join(known) or 'none'}"
            )
    for parameter, about in known.items():
        if about.default is inspect.Parameter.empty and parameter not in parameters:
            raise ConfigError(
                f"{name} needs its parameter {parameter!r}: pnde.systems.get({name!r}, {parameter}=…), or "
                f"-p {parameter}=… on the command line"
            )
    try:
        return _SYSTEMS[name](**parameters)
    except TypeError as error:
        raise ConfigError(f"{name}: {error}") from None
