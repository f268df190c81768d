"""Which of JAX's devices computes, as the setting `device` says."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax

from pnde.errors import ConfigError


def check_device(device: str) -> None:
    """Whether there is such a device.

    **Raises:** `pnde.errors.ConfigError` with the remedy, if not.
    """
    if device != "auto" and _found(device) is None:
        raise ConfigError(
            f'device = "{device}", but JAX finds none here: install JAX for your card (pip install "jax[cuda13]"), '
            'or set device = "auto"'
        )


def on_device_of(device: str) -> AbstractContextManager[Any]:
    """Arrays made inside, and programs run inside, are on that device; on JAX's own choice for `"auto"`.

    What was trained on a card is forecast elsewhere too: where there is none, JAX chooses.
    """
    found = None if device == "auto" else _found(device)
    return nullcontext() if found is None else jax.default_device(found)


def _found(device: str) -> jax.Device | None:
    try:
        return jax.devices(device)[0]
    except RuntimeError:
        return None
