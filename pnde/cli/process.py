"""What the command line sets for its process; the library leaves memory and garbage of a process as they are."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
from pathlib import Path

#: Variables of glibc with the parameters of mallopt(3) that they set, and what is set: all blocks come from the heap,
#: what is free at its end is kept (-1 is "never trimmed"), and all threads share the one heap (those of their own hold
#: no block beyond 64 MiB).
MALLOC = {
    "MALLOC_MMAP_MAX_": (-4, 0),
    "MALLOC_TRIM_THRESHOLD_": (-1, -1),
    "MALLOC_ARENA_MAX": (-8, 1),
}


def prepare() -> None:
    """Settings for a process that does nothing but the work of pnde; those of the environment stand."""
    _keep_compiled()
    keep_freed()
    # Tracing makes small objects by the million, and looking for garbage after each 700 is a tenth of the start.
    gc.set_threshold(100_000, 50, 50)


def _keep_compiled() -> None:
    """The second start of a command finds its programs compiled."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pnde" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    # JAX does not keep programs that call back to Python, as checks of implicit solvers do (for others see
    # `pnde.engines.jax.checks`); what they check has been checked.
    os.environ.setdefault("EQX_ON_ERROR", "nan")


def keep_freed() -> None:
    """Let the process keep freed arrays for the next ones.

    By default glibc returns large blocks to Linux at once, and a training step waits for the same pages to be mapped
    and cleared again each time: a quarter to a half of its time on a CPU. Processes that this one starts find it so in
    their environment. Where the environment has settings for malloc (`MALLOC_...`, `GLIBC_TUNABLES`, a preloaded
    library), they stand.

    To be called before the first thread is there, which NumPy starts when it is imported: it gets a heap of its own
    otherwise, and others with it.
    """
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    if chosen or "GLIBC_TUNABLES" in os.environ or "LD_PRELOAD" in os.environ:
        return
    if platform.libc_ver()[0] == "glibc":
        for name, (parameter, value) in MALLOC.items():
            ctypes.CDLL(None).mallopt(parameter, value)
            os.environ[name] = str(value)
