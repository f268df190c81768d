"""Processes that compute together, by JAX's own runtime."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from pnde.engines.jax.numerics import numerics
from pnde.errors import ConfigError, EngineError

# A process that is not heard of for so many seconds has ended.
_HEARTBEAT = 30


def join(coordinator: str | None, processes: int | None, process: int | None) -> None:
    """See `pnde.engines.processes.join`."""
    given = coordinator, processes, process
    if None in given and any(value is not None for value in given):
        raise ConfigError(
            "the coordinator's address, the number of processes and that of this one go together: give all three, or "
            "none in a cluster that JAX knows"
        )
    if coordinator is not None and not coordinator.rpartition(":")[2].isdigit():
        raise ConfigError(
            f"a coordinator is an address with a port, such as node1:4321, not {coordinator[:80]!r}"
        )
    if processes is not None and process is not None and not 0 <= process < processes:
        raise ConfigError(
            f"of {processes} processes this one cannot be number {process}: they are counted from 0"
        )
    # It would keep SIGTERM from ending the process; older versions of JAX have no such switch.
    if hasattr(jax.config, "jax_enable_preemption_service"):
        jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(*given, heartbeat_timeout_seconds=_HEARTBEAT)
    except (ValueError, RuntimeError) as error:
        if "coordinator_address" in str(error):
            raise ConfigError(
                "JAX finds no cluster here: name the first process, how many there are and which this one is, by "
                "--coordinator HOST:PORT --processes N --process I"
            ) from None
        text = str(error).partition("\n")[0]
        raise ConfigError(f"the processes cannot be joined: {text[:200]}") from None
    # The first time, devices have half a minute to find each other; from then on they wait for as long as it takes.
    meet()


def leads() -> bool:
    """See `pnde.engines.processes.leads`."""
    return count() == 1 or jax.process_index() == 0


def count() -> int:
    """How many processes there are."""
    return jax.process_count() if jax.distributed.is_initialized() else 1


def meet() -> None:
    """See `pnde.engines.processes.meet`."""
    if count() > 1:
        with numerics():
            multihost_utils.sync_global_devices("pnde")


def check_alike(*arrays: Any) -> None:
    """Whether all processes have the same arrays, by the sums of their sizes.

    **Raises:** `pnde.errors.EngineError`, if not.
    """
    if count() == 1:
        return
    numbers = np.array([float(np.abs(np.asarray(array)).sum()) for array in arrays])
    sizes = multihost_utils.process_allgather(np.array([len(numbers)]))
    alike = bool(np.all(sizes == len(numbers)))
    if alike:
        each = np.asarray(multihost_utils.process_allgather(numbers))
        alike = np.allclose(each, numbers, rtol=1e-6, atol=0)
    if not alike:
        raise EngineError(
            "the processes do not begin alike: they have other data, settings or checkpoints; name files and a folder "
            "that all of them see"
        )
