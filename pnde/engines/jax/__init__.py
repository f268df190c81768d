"""The embedded engine: JAX, diffrax, equinox and optax."""

from pnde.engines import Engine
from pnde.engines.jax.structures import network as network  # registers the operator of grids
from pnde.engines.jax.structures import rates as rates  # registers an operator of rods
from pnde.engines.jax.structures import rods as rods  # and another


def load() -> Engine:
    """The one instance of this engine."""
    from pnde.engines.jax.devices import leave_threads
    from pnde.engines.jax.engine import JaxEngine

    leave_threads()
    return JaxEngine()
