"""Attributes of data sets: text, numbers and tables, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from pnde.errors import DataError, brief, shown

from ._labels import is_unicode

#: Characters of the longest attribute. HDF5 keeps 64 KiB in an object's header and more beside it;
#: the tables of a grid of ten thousand buses have some megabytes.
LONGEST = 64 << 20


def plain_attributes(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes as NetCDF can hold them: text and numbers; dicts and lists as JSON text.

    ``None`` is left out.

    **Raises:** `DataError` naming the attribute that is neither, holds itself, or is too large.
    """
    if not isinstance(attrs, Mapping):
        raise DataError(f"attributes are a table, such as {{'seed': 3}}, not {shown(attrs)}")
    return {str(key): _plain(str(key), value) for key, value in attrs.items() if value is not None}


def table_of(attrs: Mapping[Any, Any], name: str) -> dict[str, Any]:
    """The table that an attribute holds, as JSON text or as a dict; empty where there is none.

    **Raises:** `DataError` where it holds something else.
    """
    value = attrs.get(name, "{}")
    if not isinstance(value, Mapping):
        try:
            value = json.loads(value)
        except (TypeError, ValueError, RecursionError):
            value = None
    if not isinstance(value, dict):
        raise DataError(
            f"the attribute {name!r} is {shown(attrs.get(name))}, no table in JSON; remove the "
            f"attribute, or write it as json.dumps({{...}})"
        )
    return value


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufUS":
        value = value.tolist()
    if isinstance(value, bool | dict | list | tuple):
        value = _as_json(name, value)
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise DataError(
                f"the attribute {shown(name)} has {len(value)} characters; {LONGEST} are the most"
            )
        if not is_unicode(value):
            raise DataError(f"the attribute {brief(name)!a} is not text in UTF-8; remove it")
        return value
    if isinstance(value, int | float):
        # A whole number that no 64 bits hold is kept as text.
        return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value
    raise DataError(
        f"the attribute {shown(name)} is of type {type(value).__name__}; only text, numbers, lists "
        "and tables can be kept: remove it, or turn it into text"
    )


def _as_json(name: str, value: Any) -> str:
    try:
        return json.dumps(value, default=_number)
    except (TypeError, ValueError):
        reason = "holds itself, or something that JSON has no word for"
    except RecursionError:
        reason = "is nested too deep"
    raise DataError(f"the attribute {shown(name)} {reason}; remove it, or turn it into text")


def _number(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError
