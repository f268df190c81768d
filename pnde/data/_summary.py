"""A data set in a few lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from ._exogenous import Exogenous
from ._layout import check_layout, time_label, time_matrix


def state_table(ds: xr.Dataset) -> pd.DataFrame:
    """One row for each state: ``unit``, ``min``, ``max``, ``mean``, ``missing`` (share, 0 to 1).

    Padding after the end of a shorter trajectory does not count as missing.
    """
    check_layout(ds)
    u = ds["u"].transpose("trajectory", "time", "state").values[_inside(ds)]
    known = np.isfinite(u)
    units = ds["units"].values.astype(str) if "units" in ds.coords else [""] * u.shape[-1]
    return pd.DataFrame(
        {
            "unit": units,
            "min": np.where(known, u, np.inf).min(axis=0),
            "max": np.where(known, u, -np.inf).max(axis=0),
            "mean": np.where(known, u, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1),
            "missing": 1 - known.mean(axis=0),
        },
        index=pd.Index(ds["state"].values.astype(str), name="state"),
    )


def summary(ds: xr.Dataset) -> str:
    """A few lines of text: trajectories by split, points, times, missing samples, states, inputs, parameters."""
    check_layout(ds)
    inside = _inside(ds)
    lengths = inside.sum(axis=1)
    times = np.where(inside, time_matrix(ds), np.nan)
    steps = np.diff(times, axis=1)
    steps = steps[np.isfinite(steps)]
    unit = time_label(ds)
    unit = f" {unit}" if unit else ""
    count = ds.sizes["trajectory"]
    lines = [f"{count} trajector{'y' if count == 1 else 'ies'}{_splits(ds)}"]
    lines.append(f"points      {_range(lengths.min(), lengths.max())}, {lengths.sum()} in all")
    lines.append(f"time        {np.nanmin(times):g} to {np.nanmax(times):g}{unit}")
    lines.append(f"time step   {_range(steps.min(), steps.max())}{unit}")
    gaps = np.isnan(ds["u"].transpose("trajectory", "time", "state").values).any(axis=-1)[inside]
    lines.append(
        f"missing     {int(gaps.sum())} of {gaps.size} samples ({100 * gaps.mean():.3g} %)"
    )
    table = state_table(ds)
    table["missing"] = [f"{100 * share:.3g} %" for share in table["missing"]]
    if not table["unit"].any():
        table = table.drop(columns="unit")
    table.index.name = None
    return "\n".join([*lines, _text(table), *_exogenous(ds)])


def _exogenous(ds: xr.Dataset) -> list[str]:
    """The inputs and their jumps, and the parameters, as far as there are any."""
    own = Exogenous.of(ds)
    tables = []
    if own.inputs:
        w = own.w[np.isfinite(own.w).all(axis=-1)]
        table = _ranges(w, own.inputs, own.input_units)
        table["interpolation"] = own.interpolation
        tables.append(f"inputs\n{_text(table)}")
    if own.jumps.size:
        counts = np.isfinite(own.jumps).sum(axis=1)
        tables.append(f"jumps       {_range(counts.min(), counts.max())} in each trajectory")
    if own.parameters:
        tables.append(f"parameters\n{_text(_ranges(own.p, own.parameters, own.parameter_units))}")
    return tables


def _ranges(values: np.ndarray, names: Sequence[str], units: Sequence[str]) -> pd.DataFrame:
    """One row for each column of values ``(k, n)``, without units where there are none."""
    table = pd.DataFrame(
        {"unit": units, "min": values.min(0), "max": values.max(0), "mean": values.mean(0)},
        index=list(names),
    )
    return table if any(units) else table.drop(columns="unit")


def _text(table: pd.DataFrame) -> str:
    return table.to_string(float_format=lambda x: f"{x:.4g}")


def _inside(ds: xr.Dataset) -> np.ndarray:
    """Which samples ``(trajectory, time)`` lie before the end of their trajectory."""
    gone = np.isnan(ds["u"].transpose("trajectory", "time", "state").values).all(axis=-1)
    # Padding: nothing is known from here to the end.
    padding = np.logical_and.accumulate(gone[:, ::-1], axis=1)[:, ::-1]
    return np.isfinite(time_matrix(ds)) & ~padding


def _splits(ds: xr.Dataset) -> str:
    if "split" not in ds.coords:
        return ", not split"
    names, counts = np.unique(ds["split"].values.astype(str), return_counts=True)
    order = {"train": 0, "valid": 1, "test": 2}
    pairs = sorted(zip(names, counts, strict=True), key=lambda pair: order.get(pair[0], 3))
    return ": " + ", ".join(f"{number} {name}" for name, number in pairs)


def _range(low: float, high: float) -> str:
    return f"{low:g}" if np.isclose(low, high, rtol=1e-9) else f"{low:g} to {high:g}"
