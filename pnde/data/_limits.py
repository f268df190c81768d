"""What fits into memory, known before it is read."""

from __future__ import annotations

import os

from pnde.errors import DataError

#: Where nobody tells how much memory there is.
_UNKNOWN = 2 << 30


def check_room(needed: int, what: str) -> None:
    """Refuse what needs more than half of the machine's memory.

    Half, because a table is held twice while it is turned into a data set.
    """
    if needed > room():
        raise DataError(
            f"{what} would take {_size(needed)}, more than half of this machine's memory "
            f"({_size(2 * room())}); keep fewer states or samples, or cut it into several files"
        )


def room() -> int:
    """How many bytes data may take: half of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"
