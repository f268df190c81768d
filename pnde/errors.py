"""What pnde raises: one clear sentence each, saying what is wrong where, and what to do."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

#: Characters of the longest message. A sentence of more is not read.
LONGEST = 300


class PndeError(Exception):
    """Base of every error that a user of pnde can cause and mend.

    The command line prints its message after `pnde: ` and ends with exit code 2. A message is one
    line of at most 300 characters: whoever writes it shortens what comes from a file by `shown` and
    `listed`; what is too long all the same loses its middle, for place and remedy stand at its ends.
    """

    def __init__(self, message: str = ""):
        super().__init__(shortened(" ".join(str(message).split()), LONGEST))


class ConfigError(PndeError):
    """A setting is unknown, of the wrong type, or out of its range."""


class DataError(PndeError):
    """A data set or file cannot be used; the message names the file, row, trajectory or column."""


class ConstraintError(PndeError):
    """A law and a state do not fit: off the manifold, unknown state names, rank lost."""


class IllConditionedWarning(UserWarning):
    """Rows of a law are nearly dependent, and the projection is less accurate than the precision allows."""


class GridError(PndeError):
    """A power grid is inconsistent; the message names the bus or the branch."""


class SolveError(PndeError):
    """A trajectory could not be integrated; the message names the trajectory, time and reason."""


class RunError(PndeError):
    """A run folder is missing, damaged, or does not fit what is asked of it."""


class EngineError(PndeError):
    """An engine is missing or failed.

    - `traceback`: the engine's own backtrace as text, or `None`.
    """

    def __init__(self, message: str, traceback: str | None = None):
        super().__init__(message)
        self.traceback = traceback


def nearest(name: Any, known: Collection[Any]) -> str:
    """` (did you mean 'x'?)` when one of `known` is close to `name`, else an empty string."""
    import difflib

    name = str(name).casefold()
    if len(name) > 100 or len(known) > 10_000:  # comparing takes too long, and is no typing error
        return ""
    folded = {str(k).casefold(): str(k) for k in known}  # a wrong case is the nearest of all
    close = difflib.get_close_matches(name, folded, n=1, cutoff=0.6)
    return f" (did you mean {shown(folded[close[0]])}?)" if close else ""


def shortened(text: str, most: int) -> str:
    """`text` without its middle where it has more than `most` characters."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 3]} … {text[len(text) - tail :]}"


def brief(value: Any, most: int = 40) -> str:
    """A value of a file or a caller as a message can show it."""
    return shortened(" ".join(str(value).split()), most)


def shown(value: Any, most: int = 40) -> str:
    """`brief`, in quotes."""
    return repr(shortened(str(value), most))


def listed(names: Collection[Any], most: int = 100) -> str:
    """`a, b, c`, or the first of them and how many there are."""
    text = ""
    for count, name in enumerate(names):
        short = shortened(str(name), 30)
        if text and len(text) + len(short) > most:
            return f"{text}, … ({len(names)} in all)"
        text = f"{text}, {short}" if count else short
    return text or "none"
