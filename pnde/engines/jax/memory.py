"""What the operating system does with the programs of JAX."""

from __future__ import annotations

from pathlib import Path

import jax

_MAPS = Path("/proc/self/maps")
_MOST_MAPS = Path("/proc/sys/vm/max_map_count")


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
