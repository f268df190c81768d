"""The engine of the paper: the Julia package PNDE, reached through juliacall. Nothing starts before it is asked for."""

from pnde.engines import Engine
from pnde.engines.julia.environment import is_set_up as is_set_up
from pnde.engines.julia.environment import require


def load() -> Engine:
    """The one instance of this engine. Julia itself starts with the first call that needs it.

    **Raises:** `pnde.errors.EngineError` saying what to run, if it has not been set up.
    """
    require()
    from pnde.engines.julia.engine import JuliaEngine

    return JuliaEngine()
