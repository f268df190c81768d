"""Inputs, jumps and parameters of the standard layout among named arrays."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

logger = logging.getLogger("pnde")


def parted(arrays: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keywords of `Exogenous.make` that stand in arrays of the standard layout, and all other arrays.

    Inputs are ``w`` beside ``u``, or with their names in ``input`` or ``inputs``; parameters are ``parameters`` (or
    ``p``) beside ``u``, or with their names in ``parameter``. Any other array of such a name is one like others.
    """
    rest, own = dict(arrays), {}
    names = {
        "inputs": [name for name in ("input", "inputs") if is_text(rest.get(name))],
        "parameters": [name for name in ("parameter", "parameters") if is_text(rest.get(name))],
    }
    if "w" in rest and ("u" in rest or names["inputs"]):
        own["w"] = rest.pop("w")
        for name in ("interpolation", "input_units"):
            if is_text(rest.get(name)):
                own[name] = rest.pop(name)
        if "jumps" in rest and not is_text(rest["jumps"]):
            own["jumps"] = rest.pop("jumps")
        if names["inputs"]:
            own["inputs"] = rest.pop(names["inputs"][0])
        else:
            logger.warning(
                "the array 'w' beside 'u' is read as inputs; an array 'inputs' names them"
            )
    values = next(
        (
            name
            for name in ("parameters", "p")
            if name in rest
            and not is_text(rest[name])
            and (names["parameters"] or (name == "parameters" and "u" in rest))
        ),
        None,
    )
    if values is not None:
        own["p"] = rest.pop(values)
        if names["parameters"]:
            own["parameters"] = rest.pop(names["parameters"][0])
        if is_text(rest.get("parameter_units")):
            own["parameter_units"] = rest.pop("parameter_units")
    return own, rest


def with_all_axes(own: dict[str, Any], count: int, length: int) -> dict[str, Any]:
    """The same for `count` trajectories of `length` samples; MATLAB drops axes of length one."""
    out = dict(own)
    for name in ("inputs", "input_units", "interpolation", "parameters", "parameter_units"):
        if name in own:
            out[name] = [str(text) for text in np.atleast_1d(np.asarray(own[name])).ravel()]
    if "interpolation" in out and len(out["interpolation"]) == 1:
        out["interpolation"] = out["interpolation"][0]
    if "w" in own:
        out["w"] = _inputs(own["w"], count, length, len(out.get("inputs", ())))
    if "jumps" in own and not isinstance(own["jumps"], list):
        jumps = np.atleast_1d(np.asarray(own["jumps"]))
        if jumps.ndim == 1 and (count == 1 or len(jumps) == count):
            jumps = jumps.reshape(count, -1)
        out["jumps"] = jumps
    if "p" in own:
        p = np.atleast_1d(np.asarray(own["p"]))
        one = len(out.get("parameters", "p")) == 1
        out["p"] = p[:, None] if p.ndim == 1 and len(p) == count and one else p
    return out


def is_text(value: Any) -> bool:
    """Whether an array, or a list, holds text."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(entry, str | bytes) for entry in value)
    return value is not None and np.asarray(value).dtype.kind in "US"


def by_trajectory(value: Any, count: int, clock: tuple[int, ...]) -> np.ndarray | None:
    """An array that has no times as ``(trajectory, k)``, or `None` for one that has; `clock` is the times' shape."""
    if isinstance(value, list):
        return None
    array = np.asarray(value)
    if array.size == 1:
        return np.broadcast_to(array.reshape(1, 1), (count, 1))
    if array.ndim in (1, 2) and count > 1 and len(array) == count and array.shape != clock:
        return array.reshape(count, -1)
    if array.ndim == 1 and count == 1 and len(array) != clock[-1]:
        return array[None]
    return None


def _inputs(w: Any, count: int, length: int, named: int) -> Any:
    if isinstance(w, list):
        return [np.asarray(part).reshape(len(part), -1) for part in w]
    array = np.asarray(w)
    if array.ndim < 2:
        return array.reshape(-1, 1)
    one = named == 1 or (named == 0 and array.shape[0] != length)
    return array[..., None] if array.shape == (count, length) and one else array
