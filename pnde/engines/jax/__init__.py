"""The embedded engine: JAX, diffrax, equinox and optax."""

from pnde.engines import Engine
from pnde.engines.jax import chain as chain  # registers the operator of chains
from pnde.engines.jax import network as network  # registers the operator of grids


def load() -> Engine:
    """The one instance of this engine."""
    from pnde.engines.jax.engine import JaxEngine

    return JaxEngine()
