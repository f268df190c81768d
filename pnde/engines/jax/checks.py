"""diffrax without the checks of its arguments.

Whether save times are in order and steps go forward is checked by diffrax as the program runs, through a callback to
Python; and a program with a callback is not kept on disk, so that it would be compiled anew in each process. The engine
checks these times before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import diffrax._integrate
import equinox.internal

_checked: ContextVar[bool] = ContextVar("checked", default=True)


class _Internal(ModuleType):
    """What diffrax uses of `equinox.internal`; checks are left out where they are not wanted, and only there."""

    def __getattr__(self, name: str) -> Any:
        return getattr(equinox.internal, name)

    @staticmethod
    def error_if(x: Any, *arguments: Any, **keywords: Any) -> Any:
        # As values, such as NaN in an exported program, they need no callback.
        if _checked.get() or equinox._errors.EQX_ON_ERROR != "raise":
            return equinox.internal.error_if(x, *arguments, **keywords)
        return x


diffrax._integrate.eqxi = _Internal("equinox.internal")


def without_checks(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of diffrax that trusts its arguments."""

    @functools.wraps(function)
    def trusting(*arguments: Any, **keywords: Any) -> Any:
        token = _checked.set(False)
        try:
            return function(*arguments, **keywords)
        finally:
            _checked.reset(token)

    return trusting
