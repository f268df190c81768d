"""What the operating system does with the memory of JAX, where it costs time or the process.

Both remedies are for Linux; elsewhere these functions do nothing.
"""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path

import jax

_MAPS = Path("/proc/self/maps")
_MOST_MAPS = Path("/proc/sys/vm/max_map_count")
# Parameters of mallopt(3), with what is set: blocks up to 1 GiB come from the heap, 2 GiB at its end are kept when
# freed, and all threads share the one heap (those of their own hold no block beyond 64 MiB).
_MALLOC = {
    "M_MMAP_THRESHOLD": (-3, 2**30),
    "M_TRIM_THRESHOLD": (-1, 2**31 - 1),
    "M_ARENA_MAX": (-8, 1),
}


def keep_freed() -> None:
    """Let the process keep freed arrays for the next ones.

    By default glibc returns large blocks to Linux at once, and a training step waits for the same pages to be mapped
    and cleared again each time: a quarter to a half of its time on a CPU. Where the environment has settings for malloc
    (`MALLOC_...`, `GLIBC_TUNABLES`, a preloaded library), they stand.
    """
    chosen = any(name.startswith("MALLOC_") for name in os.environ)
    if chosen or "GLIBC_TUNABLES" in os.environ or "LD_PRELOAD" in os.environ:
        return
    if platform.libc_ver()[0] == "glibc":
        for parameter, value in _MALLOC.values():
            ctypes.CDLL(None).mallopt(parameter, value)


def make_room_for_programs() -> None:
    """Forget compiled programs before they are too many; they are compiled again when used.

    A program of XLA holds several memory maps, a training some hundreds. Linux allows a process 65530 by default, and
    the compiler ends it with a segmentation fault when there are no more: after some ninety trainings.
    """
    if not _MAPS.exists():
        return
    with _MAPS.open("rb") as maps:
        held = sum(1 for _ in maps)
    if held > int(_MOST_MAPS.read_text()) // 2:
        jax.clear_caches()
