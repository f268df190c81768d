"""What pnde raises: one clear sentence each, saying what is wrong where, and what to do."""


class PndeError(Exception):
    """Base of every error that a user of pnde can cause and mend.

    The command line prints its message after ``pnde: `` and ends with exit code 2.
    """


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

    **Attributes:**

    - ``traceback``: the engine's own backtrace as text, or ``None``.
    """

    def __init__(self, message: str, traceback: str | None = None):
        super().__init__(message)
        self.traceback = traceback


def nearest(name: str, known) -> str:
    """`` (did you mean 'x'?)`` when one of ``known`` is close to ``name``, else an empty string."""
    import difflib

    known = {str(k).casefold(): k for k in known}  # a wrong case is the nearest of all
    close = difflib.get_close_matches(name.casefold(), known, n=1, cutoff=0.6)
    return f" (did you mean {known[close[0]]!r}?)" if close else ""
