"""Which of JAX's devices compute, as the settings `device` and `devices` say."""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from pnde.config import Config
from pnde.engines.jax.processes import count
from pnde.errors import ConfigError


def leave_threads() -> None:
    """Threads for the work of a CPU that JAX was told to take for several devices.

    By default XLA has a thread for each core. Each of these devices keeps one while it waits for what the others send,
    so that none is left for their work, and they wait forever. To be called before JAX computes; `NPROC` of the
    environment stands.
    """
    flag = re.search(r"xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    virtual = max(getattr(jax.config, "jax_num_cpu_devices", 1), int(flag[1]) if flag else 1)
    if virtual > 1:
        os.environ.setdefault("NPROC", str(2 * virtual + (os.cpu_count() or 1)))


def check_devices(config: Config) -> None:
    """Whether there are such devices, and whether a training can be spread over them.

    **Raises:** `pnde.errors.ConfigError` with the remedy, if not.
    """
    device = config.device
    if device != "auto" and not _found(device):
        raise ConfigError(
            f'device = "{device}", but JAX finds none here: install JAX for your card (pip install "jax[cuda13]"), '
            'or set device = "auto"'
        )
    if config.devices == 1:
        if count() > 1:
            raise ConfigError(
                f'devices = 1, but {count()} processes train together: set devices = "all"'
            )
        return
    if config.solver.adjoint == "backsolve" and len(devices_of(device)) > 1:
        raise ConfigError(
            'solver.adjoint = "backsolve" has one error for the gradient of a whole batch, which cannot be spread: '
            'set devices = 1, or solver.adjoint = "discretise"'
        )


def devices_of(device: str, own: bool = False) -> list[jax.Device]:
    """All devices of the kind, JAX's own choice for `"auto"`; only those of this process, if `own`."""
    kind = None if device == "auto" or not _found(device) else device
    return jax.local_devices(backend=kind) if own else jax.devices(kind)


def on_device_of(device: str) -> AbstractContextManager[Any]:
    """Arrays made inside, and programs run inside, are on that device; on JAX's own choice for `"auto"`.

    What was trained on a card is forecast elsewhere too: where there is none, JAX chooses.
    """
    found = [] if device == "auto" else _found(device)
    return jax.default_device(found[0]) if found else nullcontext()


def _found(device: str) -> list[jax.Device]:
    """Those of this process."""
    try:
        return jax.local_devices(backend=device)
    except RuntimeError:
        return []
