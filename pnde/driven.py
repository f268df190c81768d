"""The conditions of a forecast: inputs and parameters, from whatever a user gives them as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from pnde.data import Inputs, as_inputs, inputs_of, open_data, time_matrix
from pnde.errors import DataError, listed, nearest
from pnde.laws import Conditions
from pnde.models import Model

# A function is followed to this part of its largest value; pieces shorter than this part of the whole are a jump.
_EXACT, _SHORTEST = 1e-11, 1e-7


def conditions_of(
    model: Model,
    data: xr.Dataset,
    truth: xr.Dataset,
    times: np.ndarray,
    inputs: Any = None,
    parameters: Any = None,
    jumps: Sequence[float] = (),
) -> Conditions:
    """Inputs and parameters of B trajectories that are forecast at times `(B, T)`, NaN behind a trajectory's end.

    **Arguments:**

    - `data`: what the model was trained on, which says how inputs go between samples.
    - `truth`: has the inputs and parameters that are not given.
    - `inputs`: a data set or file with the model's inputs as its inputs or columns; an array `(T, k)` or `(B, T, k)` at
        the times of the forecast; or a function of the time that gives k numbers.
    - `parameters`: numbers `(r,)`, an array `(B, r)`, or either by name.
    - `jumps`: times at which inputs jump that are an array, a function, or columns of a data set; inputs that a data
        set has as such bring their own.

    **Raises:** `pnde.errors.DataError` if something is missing, has another shape, or ends before the forecast.
    """
    p = _parameters(model, truth, len(times), parameters)
    if not model.inputs:
        if inputs is not None:
            raise DataError("the model takes no inputs: leave inputs= out")
        return Conditions(None, p)
    start, end = times[:, 0], np.nanmax(times, axis=1)
    if callable(inputs):
        return Conditions(_followed(inputs, model, start.min(), end.max(), len(times), jumps), p)
    if inputs is None or not isinstance(inputs, np.ndarray | list | tuple):
        source = truth if inputs is None else open_data(inputs)
        own = _driven(source, model, data, len(times), inputs is None, jumps)
        _check_covers(source, start, end, truth["trajectory"].values)
        return Conditions(own, p)
    w = np.asarray(inputs, dtype=float)
    k, wanted = len(model.inputs), (*times.shape, len(model.inputs))
    if k == 1 and w.shape == times.shape[1:]:
        w = w[:, None]
    if w.shape not in (wanted, wanted[1:]):
        raise DataError(
            f"the inputs have the shape {w.shape} instead of {wanted[1:]} or {wanted}: {listed(model.inputs)} at the "
            f"{times.shape[1]} times of the forecast"
        )
    w = np.broadcast_to(w, wanted)
    unknown = ~np.isfinite(w).all(axis=-1) & np.isfinite(times)
    if unknown.any():
        row, sample = np.argwhere(unknown)[0]
        raise DataError(
            f"the inputs of trajectory {truth['trajectory'].values[row]} have no value at t = "
            f"{times[row, sample]:g}: give one at each time of the forecast"
        )
    declared = np.broadcast_to(np.sort(np.asarray(jumps, float)), (len(times), len(jumps)))
    return Conditions(Inputs.through(w, times, _kinds(data), declared), p)


def _kinds(data: xr.Dataset) -> list[Any]:
    return [str(kind) for kind in data["interpolation"].values]


def _driven(
    source: xr.Dataset,
    model: Model,
    data: xr.Dataset,
    count: int,
    of_truth: bool,
    jumps: Sequence[float],
) -> Inputs:
    """The inputs of a data set, those of its only trajectory for all."""
    if "w" not in source:
        held = [str(name) for name in source["state"].values]
        missing = next((name for name in model.inputs if name not in held), None)
        if missing is not None:
            remedy = "pass inputs=" if of_truth else f"name a column so{nearest(missing, held)}"
            raise DataError(f"the model takes the input {missing!r}, which is not there: {remedy}")
        kinds = dict(zip(model.inputs, _kinds(data), strict=True))
        source = as_inputs(source, model.inputs, kinds, list(jumps) or None)
    else:
        held = [str(name) for name in source["input"].values]
        missing = next((name for name in model.inputs if name not in held), None)
        if missing is not None:
            raise DataError(
                f"the model takes the input {missing!r}, which is not there{nearest(missing, held)}; the inputs are "
                f"{listed(held)}"
            )
        if len(jumps):
            raise DataError(
                "jumps= is given, but the inputs have their own: declare them there, or leave jumps= out"
            )
        source = source.sel(input=list(model.inputs))
    if source.sizes["trajectory"] not in (1, count):
        raise DataError(
            f"there are inputs for {source.sizes['trajectory']} trajectories, but {count} are forecast: give inputs "
            "for one, which are those of all, or for each"
        )
    own = inputs_of(source)
    assert own is not None
    return own.of(np.zeros(count, int)) if len(own) == 1 else own


def _check_covers(
    source: xr.Dataset, start: np.ndarray, end: np.ndarray, labels: np.ndarray
) -> None:
    """Whether inputs are known from the start to the end of each forecast, `(B,)`."""
    times = time_matrix(source)
    first, last = (np.broadcast_to(x, len(start)) for x in (times[:, 0], np.nanmax(times, axis=1)))
    slack = 1e-9 * (np.abs(last - first) + np.abs(last))
    for row in np.flatnonzero(first > start + slack)[:1]:
        raise DataError(
            f"the inputs of trajectory {labels[row]} begin at t = {first[row]:g}, after its start at {start[row]:g}: "
            "give inputs from there on"
        )
    for row in np.flatnonzero(last < end - slack)[:1]:
        raise DataError(
            f"the inputs of trajectory {labels[row]} end at t = {last[row]:g}, before the forecast at {end[row]:g}: "
            "give inputs up to there, or an earlier t_end"
        )


def _parameters(model: Model, truth: xr.Dataset, count: int, given: Any) -> np.ndarray | None:
    """The parameters `(B, r)`."""
    names = list(model.parameters)
    if not names:
        if given is not None:
            raise DataError("the model takes no parameters: leave parameters= out")
        return None
    if given is None:
        held = [str(name) for name in truth["parameter"].values] if "parameters" in truth else []
        missing = next((name for name in names if name not in held), None)
        if missing is not None:
            raise DataError(
                f"the model takes the parameter {missing!r}, which is not there: pass parameters="
            )
        own = truth["parameters"].sel(parameter=names).transpose("trajectory", "parameter")
        return np.asarray(own.values, float)
    if isinstance(given, Mapping):
        odd = next((name for name in [*given, *names] if (name in given) != (name in names)), None)
        if odd is not None:
            raise DataError(
                f"parameters= {'lacks' if odd in names else 'has'} {odd!r}{nearest(odd, names)}; the model takes "
                f"{listed(names)}"
            )
        columns = [np.broadcast_to(np.asarray(given[name], float), count) for name in names]
        given = np.stack(columns, axis=1)
    p = np.asarray(given, dtype=float)
    if p.shape not in ((len(names),), (count, len(names))):
        raise DataError(
            f"the parameters have the shape {p.shape} instead of ({len(names)},) or ({count}, {len(names)}): "
            f"{listed(names)}"
        )
    if not np.isfinite(p).all():
        raise DataError("parameters are finite numbers; these are not")
    return np.broadcast_to(p, (count, len(names)))


def _followed(
    function: Callable[[float], Any],
    model: Model,
    start: float,
    end: float,
    count: int,
    jumps: Sequence[float],
) -> Inputs:
    """A function of the time as cubic pieces, halved until they are what it is."""
    k = len(model.inputs)

    def value(t: float) -> np.ndarray:
        w = np.atleast_1d(np.asarray(function(float(t)), dtype=float))
        if w.shape != (k,):
            raise DataError(
                f"inputs= gives an array of shape {w.shape} at t = {t:g} instead of ({k},): {listed(model.inputs)}"
            )
        if not np.isfinite(w).all():
            raise DataError(f"inputs= is not finite at t = {t:g}")
        return w

    inside = sorted({float(t) for t in jumps if start < t <= end})
    edges = [start, *inside, *([] if inside[-1:] == [end] else [end])]
    scale = np.zeros(k)
    knots, pieces = [], []
    # From the right to the left, so that the next one is the last of the list.
    ahead = [(a, b, b in inside) for a, b in pairwise(edges)][::-1]
    ahead = [
        (a + i * (b - a) / 16, a + (i + 1) * (b - a) / 16, jump and i == 15)
        for a, b, jump in ahead
        for i in range(15, -1, -1)
    ]
    thirds, between = np.arange(4) / 3, np.array([1, 3, 5]) / 6
    while ahead:
        a, b, jump = ahead.pop()
        last = np.nextafter(b, a) if jump else b
        nodes = [value(t) for t in (*(a + thirds[:3] * (b - a)), last)]
        c = np.linalg.solve(np.vander(thirds, increasing=True), nodes)
        points = np.stack([value(a + s * (b - a)) for s in between])
        scale = np.maximum(scale, np.abs(points).max(axis=0))
        off = np.abs(np.vander(between, 4, increasing=True) @ c - points).max(axis=0)
        if (off <= _EXACT * np.maximum(scale, 1e-300)).all():
            knots.append(a)
            pieces.append(c / (b - a) ** np.arange(4)[:, None])
            continue
        if b - a < _SHORTEST * (end - start):
            raise DataError(
                f"inputs= jumps, or has a corner, near t = {a:.6g}: declare it by jumps=, a list of times; the "
                "value at one is that after it"
            )
        middle = (a + b) / 2
        ahead += [(middle, b, jump), (a, middle, False)]
    if inside[-1:] == [end]:
        knots.append(end)
        pieces.append(np.concatenate([value(end)[None], np.zeros((3, k))]))
    own = Inputs(
        np.array([knots]),
        np.array([pieces]),
        np.array([inside]).reshape(1, -1),
        np.empty((1, 0)),  # of those that are not declared, pieces are as small as they need
    )
    return own.of(np.zeros(count, int))
