"""What acts on the states and is none of them: inputs w(t), the times at which they jump, and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import xarray as xr

from pnde.errors import DataError, brief, listed, nearest, shown

from ._jumps import check_cubic, check_jumps, jump_times, snapped
from ._labels import check_count
from ._naming import check_apart, check_names, unit_list
from ._numbers import as_numbers

#: How an input goes from one sample to the next.
Interpolation = Literal["linear", "cubic", "held"]
KINDS: tuple[Interpolation, ...] = ("linear", "cubic", "held")
#: Names of the variables and coordinates in the standard layout.
VARIABLES = ("w", "jumps", "parameters")
COORDINATES = ("input", "input_units", "interpolation", "parameter", "parameter_units")


@dataclass(frozen=True, eq=False)
class Exogenous:
    """The inputs and parameters of B trajectories of T samples.

    **Attributes:**

    - `w`: inputs ``(B, T, k)``, NaN behind a trajectory's end; `inputs`, `input_units`, `interpolation`: of each.
    - `jumps`: declared jumps ``(B, J)``, increasing, NaN behind the last of each trajectory.
    - `p`: parameters ``(B, r)``; `parameters`, `parameter_units`: of each.
    """

    w: np.ndarray
    jumps: np.ndarray
    p: np.ndarray
    inputs: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    interpolation: tuple[Interpolation, ...] = ()
    parameters: tuple[str, ...] = ()
    parameter_units: tuple[str, ...] = ()

    @classmethod
    def none(cls, count: int, length: int) -> Exogenous:
        """No inputs and no parameters, of `count` trajectories of `length` samples."""
        return cls(np.empty((count, length, 0)), np.empty((count, 0)), np.empty((count, 0)))

    @classmethod
    def make(
        cls,
        times: np.ndarray,
        labels: Sequence[Any] | np.ndarray,
        w: Any = None,
        inputs: Any = None,
        input_units: Any = None,
        interpolation: Any = "linear",
        jumps: Any = None,
        p: Any = None,
        parameters: Any = None,
        parameter_units: Any = None,
    ) -> Exogenous:
        """From what a caller or a file gives; see `pnde.data.make_dataset`. `times` are ``(B, T)``.

        **Raises:** `DataError` where shapes, names or kinds do not fit.
        """
        if w is None and inputs is not None:
            raise DataError("inputs= names inputs, but there are no values: pass w=")
        if p is None and parameters is not None:
            raise DataError("parameters= names parameters, but there are no values: pass p=")
        out = cls.none(*times.shape)
        if w is not None:
            values = _input_values(w, times, labels)
            names = _names(inputs, "w", values.shape[-1], "input")
            out = replace(
                out,
                w=values,
                inputs=names,
                input_units=tuple(unit_list(input_units, names, "input")),
                interpolation=kinds(interpolation, names, names),
            )
        if p is not None:
            values = _parameter_values(p, len(times))
            names = _names(parameters, "p", values.shape[-1], "parameter")
            units = unit_list(parameter_units, names, "parameter")
            out = replace(out, p=values, parameters=names, parameter_units=tuple(units))
        return replace(out, jumps=jump_times(jumps, labels, out.ended(times)))

    @classmethod
    def of(cls, ds: xr.Dataset) -> Exogenous:
        """Those of a data set in the standard layout; names, units and kinds that it lacks are the usual ones."""
        out = cls.none(ds.sizes["trajectory"], ds.sizes["time"])
        if "w" in ds and "input" in ds["w"].dims:
            w = ds["w"].transpose("trajectory", "time", "input").values
            names = _texts(ds, "input", [f"w{k}" for k in range(w.shape[-1])])
            out = replace(
                out,
                w=w,
                inputs=names,
                input_units=_texts(ds, "input_units", [""] * len(names)),
                interpolation=kinds(
                    _texts(ds, "interpolation", ["linear"] * len(names)), names, names
                ),
            )
        if "jumps" in ds and "jump" in ds["jumps"].dims:
            out = replace(out, jumps=ds["jumps"].transpose("trajectory", "jump").values)
        if "parameters" in ds and "parameter" in ds["parameters"].dims:
            p = ds["parameters"].transpose("trajectory", "parameter").values
            out = replace(
                out,
                p=p,
                parameters=_texts(ds, "parameter", [f"p{k}" for k in range(p.shape[-1])]),
                parameter_units=_texts(ds, "parameter_units", [""] * p.shape[-1]),
            )
        return out

    def ended(self, times: np.ndarray) -> np.ndarray:
        """Times ``(B, T)``, NaN also where a trajectory ends before the grid that it shares with others."""
        return np.where(np.isnan(self.w).any(axis=-1), np.nan, times)

    def on(self, times: np.ndarray) -> Exogenous:
        """The same with jumps that miss one of the times ``(B, T)`` by rounding moved to it."""
        return replace(self, jumps=snapped(self.jumps, times)) if self.jumps.size else self

    def check(
        self,
        u: np.ndarray,
        times: np.ndarray,
        labels: Sequence[Any] | np.ndarray,
        states: Sequence[str],
    ) -> None:
        """Refuse what does not fit the states ``(B, T, n)``, their times ``(B, T)`` and names.

        **Raises:** `DataError` naming trajectory, input or parameter, and time.
        """
        check_names(self.inputs, "input")
        check_names(self.parameters, "parameter")
        check_apart(states, self.inputs, self.parameters)
        if self.inputs:
            _check_inputs(self.w, u, times, labels, self.inputs)
        unknown = np.argwhere(~np.isfinite(self.p))
        if unknown.size:
            row, column = unknown[0]
            value = "unknown" if np.isnan(self.p[row, column]) else "infinite"
            raise DataError(
                f"trajectory {brief(labels[row])}: parameter {shown(self.parameters[column])} is {value}; give it a "
                "number, or leave the trajectory out"
            )
        if self.jumps.size and not self.inputs:
            raise DataError(
                "there are jumps, but no inputs that could jump; name the inputs by inputs="
            )
        ended = self.ended(times)
        if self.jumps.size:
            check_jumps(self.jumps, ended, labels)
        cubic = [
            name
            for name, kind in zip(self.inputs, self.interpolation, strict=True)
            if kind == "cubic"
        ]
        check_cubic(cubic, self.jumps, ended, labels)

    def variables(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Variables and coordinates of the standard layout, for what there is."""
        variables: dict[str, Any] = {}
        coordinates: dict[str, Any] = {}
        if self.inputs:
            variables["w"] = (("trajectory", "time", "input"), self.w)
            coordinates["input"] = list(self.inputs)
            coordinates["input_units"] = ("input", list(self.input_units))
            coordinates["interpolation"] = ("input", list(self.interpolation))
        if self.jumps.size:
            variables["jumps"] = (("trajectory", "jump"), self.jumps)
        if self.parameters:
            variables["parameters"] = (("trajectory", "parameter"), self.p)
            coordinates["parameter"] = list(self.parameters)
            coordinates["parameter_units"] = ("parameter", list(self.parameter_units))
        return variables, coordinates


def kinds(
    interpolation: Any, names: Sequence[str], known: Sequence[str]
) -> tuple[Interpolation, ...]:
    """The interpolation of each of the inputs `names`: one for all, one for each, or by name, "linear" by default.

    `known` are the inputs that a table may name.

    **Raises:** `DataError` for a kind, or an input, that there is not.
    """
    if isinstance(interpolation, Mapping):
        for name in interpolation:
            if name not in known:
                raise DataError(
                    f"interpolation= names {shown(name)}, no input{nearest(name, known)}; the inputs are "
                    f"{listed(known)}"
                )
        interpolation = [interpolation.get(name, "linear") for name in names]
    elif isinstance(interpolation, str):
        interpolation = [interpolation] * len(names)
    check_count("interpolations", interpolation, len(names), "inputs")
    for name, kind in zip(names, interpolation, strict=True):
        if kind not in KINDS:
            raise DataError(
                f"the interpolation of input {shown(name)} is {shown(kind)}, which is unknown{nearest(kind, KINDS)}; "
                f"known are {', '.join(KINDS)}"
            )
    return tuple(cast(Interpolation, str(kind)) for kind in interpolation)


def _check_inputs(
    w: np.ndarray,
    u: np.ndarray,
    times: np.ndarray,
    labels: Sequence[Any] | np.ndarray,
    names: Sequence[str],
) -> None:
    """Refuse inputs that are infinite, have no time, or are unknown before their trajectory's end."""
    untimed = np.argwhere(np.isfinite(w) & np.isnan(times)[..., None])
    if untimed.size:
        row, sample, column = untimed[0]
        raise DataError(
            f"trajectory {brief(labels[row])}: input {shown(names[column])} has a value but no time at sample {sample}"
        )
    timed, known = np.isfinite(times), np.isfinite(w)
    # A trajectory goes on as long as anything in it is known.
    alive = timed & (np.isfinite(u).any(axis=-1) | known.any(axis=-1))
    goes_on = np.logical_or.accumulate(alive[:, ::-1], axis=1)[:, ::-1]
    for wrong, what in (
        (np.isinf(w), "is infinite at"),
        (~known & goes_on[..., None], "is missing at"),
    ):
        found = np.argwhere(wrong)
        if found.size:
            row, sample, column = found[0]
            raise DataError(
                f"trajectory {brief(labels[row])}: input {shown(names[column])} {what} t = {times[row, sample]:.15g} "
                f"(sample {sample}); an input is known at every sample of its trajectory: fill it in, or leave the "
                "sample out"
            )


def _input_values(w: Any, times: np.ndarray, labels: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Inputs ``(B, T, k)``, from that shape, ``(T, k)`` for all trajectories alike, or a list of ``(T_i, k)``."""
    if isinstance(w, list | tuple) and w and all(np.ndim(part) == 2 for part in w):
        if len(w) != len(times):
            raise DataError(
                f"there are inputs for {len(w)} trajectories, but {len(times)} trajectories"
            )
        parts = [as_numbers(part, "w") for part in w]
        out = np.full((*times.shape, parts[0].shape[1]), np.nan)
        for row, (part, clock) in enumerate(zip(parts, times, strict=True)):
            length = np.count_nonzero(np.isfinite(clock))
            if part.shape != (length, out.shape[-1]):
                raise DataError(
                    f"trajectory {brief(labels[row])} has {length} points, but its inputs have the shape "
                    f"{part.shape}; ({length}, {out.shape[-1]}) is meant"
                )
            out[row, :length] = part
        return out
    values = as_numbers(w, "w")
    if values.ndim == 2 and len(values) == times.shape[1]:
        return np.where(np.isfinite(times)[..., None], values, np.nan)
    if values.ndim != 3 or values.shape[:2] != times.shape:
        raise DataError(
            f"w has the shape {values.shape}; it must be (trajectory, time, input) = "
            f"({times.shape[0]}, {times.shape[1]}, …), or (time, input) for all trajectories alike"
        )
    return values


def _parameter_values(p: Any, count: int) -> np.ndarray:
    """Parameters ``(B, r)``, from that shape or ``(r,)`` for all trajectories alike."""
    values = as_numbers(p, "p")
    if values.ndim == 1:
        return np.tile(values, (count, 1))
    if values.ndim != 2 or len(values) != count:
        raise DataError(
            f"p has the shape {values.shape}; it must be (trajectory, parameter) = ({count}, …), or (parameter,) for "
            "all trajectories alike"
        )
    return values


def _names(names: Any, letter: str, count: int, what: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"{letter}{k}" for k in range(count))
    if isinstance(names, str):
        names = [names]
    check_count(f"{what} names", names, count, f"{what}s")
    return tuple(str(name) for name in names)


def _texts(ds: xr.Dataset, name: str, usual: list[str]) -> tuple[str, ...]:
    return tuple(str(value) for value in ds[name].values) if name in ds.coords else tuple(usual)
