"""States that are none: columns of a data set that drive the others, or tell its trajectories apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, listed, nearest, shown

from ._columns import names_in
from ._exogenous import Exogenous, Interpolation, kinds
from ._jumps import jump_times, snapped
from ._layout import check_layout, rebuilt, time_matrix

#: What a parameter may vary within its trajectory: by rounding, as a file writes it.
CONSTANT = 1e-9


def assign_roles(
    ds: xr.Dataset,
    inputs: str | Sequence[str] | None = None,
    parameters: str | Sequence[str] | None = None,
    interpolation: str | Mapping[str, str] | None = None,
    jumps: Sequence[float] | Mapping[Any, Sequence[float]] | None = None,
) -> xr.Dataset:
    """`ds` in which some of its states are inputs or parameters.

    They keep their values and units, and come after the inputs and parameters that `ds` has already.

    **Arguments:**

    - `ds`: a data set in the standard layout, see `make_dataset`.
    - `inputs`: states that are inputs w(t), known at every sample.
    - `parameters`: states that are parameters, the same throughout each trajectory (to 1e-9); missing samples of one
        do not matter.
    - `interpolation`: how inputs go from one sample to the next, ``"linear"`` (by default), ``"cubic"`` or ``"held"``:
        a table by input, or one for all of `inputs`, or of those that `ds` has if none is named.
    - `jumps`: times at which inputs jump, added to those that `ds` has; a sample at one holds the value after it. A
        list for all trajectories, of which each gets those that lie inside it, or a table of lists by trajectory label.

    **Raises:** `DataError` for a name that is no state, an input that is unknown at a sample, a parameter that varies
    within its trajectory, an unknown interpolation, a jump outside the data, or no state that is left.
    """
    check_layout(ds)
    states = [str(name) for name in ds["state"].values]
    new_inputs, new_parameters = names_in(inputs, "inputs"), names_in(parameters, "parameters")
    old = Exogenous.of(ds)
    for name in (*new_inputs, *new_parameters):
        if name not in states:
            known = [*old.inputs, *old.parameters]
            already = (
                " (it is an input or a parameter already)"
                if name in known
                else nearest(name, states)
            )
            raise DataError(
                f"there is no state {shown(name)}{already} to take as an input or a parameter; the states are "
                f"{listed(states)}"
            )
        if (*new_inputs, *new_parameters).count(name) > 1:
            raise DataError(
                f"{shown(name)} is named twice in inputs= and parameters=; name it once"
            )
    kept = [k for k, name in enumerate(states) if name not in (*new_inputs, *new_parameters)]
    if not kept:
        raise DataError(
            f"all of {listed(states)} are inputs or parameters; a state at least is to be left"
        )
    u = ds["u"].transpose("trajectory", "time", "state").values
    units = (
        [str(unit) for unit in ds["units"].values] if "units" in ds.coords else [""] * len(states)
    )
    as_inputs = [states.index(name) for name in new_inputs]
    as_parameters = [states.index(name) for name in new_parameters]
    all_inputs = (*old.inputs, *new_inputs)
    new = replace(
        old,
        w=np.concatenate([old.w, u[..., as_inputs]], axis=-1),
        inputs=all_inputs,
        input_units=(*old.input_units, *(units[k] for k in as_inputs)),
        interpolation=_interpolation(interpolation, old, new_inputs),
        p=np.concatenate([old.p, _constants(ds, u, as_parameters)], axis=-1),
        parameters=(*old.parameters, *new_parameters),
        parameter_units=(*old.parameter_units, *(units[k] for k in as_parameters)),
    )
    if jumps is not None:
        clock = new.ended(time_matrix(ds))
        declared = snapped(jump_times(jumps, ds["trajectory"].values, clock), clock)
        new = replace(new, jumps=_joined(old.jumps, declared))
    return rebuilt(ds, u[..., kept], [states[k] for k in kept], [units[k] for k in kept], new)


def _interpolation(
    interpolation: str | Mapping[str, str] | None, old: Exogenous, new: tuple[str, ...]
) -> tuple[Interpolation, ...]:
    """Of the old and the new inputs."""
    names = (*old.inputs, *new)
    if interpolation is not None and not names:
        raise DataError("interpolation= is given, but there are no inputs; name them by inputs=")
    if isinstance(interpolation, Mapping):
        before = dict(zip(old.inputs, old.interpolation, strict=True))
        return kinds(before | dict(interpolation), names, names)
    if interpolation is not None and not new:
        return kinds(interpolation, names, names)
    return (*old.interpolation, *kinds(interpolation or "linear", new, new))


def _constants(ds: xr.Dataset, u: np.ndarray, columns: list[int]) -> np.ndarray:
    """Parameters ``(trajectory, r)`` from columns of the states ``(trajectory, time, n)``."""
    out = np.empty((len(u), len(columns)))
    for row, label in enumerate(ds["trajectory"].values):
        for k, column in enumerate(columns):
            name = shown(ds["state"].values[column])
            known = np.flatnonzero(np.isfinite(u[row, :, column]))
            if not known.size:
                raise DataError(
                    f"trajectory {brief(label)}: parameter {name} is unknown; give it a number, or leave the "
                    "trajectory out"
                )
            values = u[row, known, column]
            other = np.flatnonzero(np.abs(values - values[0]) > CONSTANT * np.abs(values[0]))
            if other.size:
                time = time_matrix(ds)[row, known[[0, other[0]]]]
                raise DataError(
                    f"trajectory {brief(label)}: {name} is {values[0]:.10g} at t = {time[0]:.6g} and "
                    f"{values[other[0]]:.10g} at t = {time[1]:.6g}, but a parameter is the same throughout its "
                    "trajectory; make it an input by inputs="
                )
            out[row, k] = values[0]
    return out


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The jumps ``(trajectory, jump)`` of both, each time once."""
    both = np.sort(np.concatenate([one, other], axis=1), axis=1)
    both[:, 1:][np.diff(both, axis=1) == 0] = np.nan
    return np.sort(both, axis=1)
