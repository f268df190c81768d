"""Programs that are kept on disk for the next process: those without callbacks."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pnde.config import SolverConfig
from pnde.engines import get
from pnde.engines.jax.solve import solve
from pnde.errors import EngineError

UNSORTED = np.array([0.0, 1.0, 0.5])


def test_a_forecast_has_no_callbacks():
    def of(times):
        return solve(lambda t, u, args: -u, jnp.ones(1), times, None, SolverConfig(step=0.1)).u

    assert "callback" not in jax.jit(of).lower(jnp.linspace(0, 1, 3)).as_text()


def test_its_times_are_checked_before():
    with pytest.raises(EngineError, match="not in order"):
        get("jax").integrate(lambda u, t: -u, np.ones((1, 1)), UNSORTED, SolverConfig())


def test_diffrax_of_others_has_its_checks():
    with pytest.raises(eqx.EquinoxRuntimeError):
        diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, u, args: -u),
            diffrax.Tsit5(),
            0.0,
            1.0,
            0.1,
            jnp.ones(1),
            saveat=diffrax.SaveAt(ts=jnp.asarray(UNSORTED)),
        )
