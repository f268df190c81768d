"""A run's forecast for programs that do not have pnde: one file, and its signature beside it."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

import pnde
from pnde.engines import Engine, Status
from pnde.errors import ConfigError, DataError, listed, nearest, shown
from pnde.files import write_bytes
from pnde.models import Model, Weights

Format = Literal["stablehlo", "npz"]


def export_forecast(
    engine: Engine,
    model: Model,
    weights: Weights,
    samples: int,
    path: Path,
    format: str,
    time_units: str,
    units: list[str],
) -> Path:
    """Write the forecast as a program, and `PATH.txt`, which says how it is called; see `pnde.Run.export`."""
    if format not in get_args(Format):
        raise ConfigError(
            f"unknown format {shown(format)}{nearest(format, get_args(Format))}; there are "
            f"{' and '.join(get_args(Format))}"
        )
    if model.inputs:
        raise ConfigError(
            f"the model is driven by {listed(model.inputs)}, and an exported forecast takes no functions of the time: "
            "forecast it by pnde rollout or Run.rollout"
        )
    if samples < 2:
        raise ConfigError(
            f"a forecast has two samples at least, the start and the end, not {samples}"
        )
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}")
    program = engine.export(model, weights, model.config.rollout, samples)
    content = program if format == "stablehlo" else _archive(model, weights, program, samples)
    write_bytes(path, content)
    text = _signature(model, samples, path.name, format, time_units, units)
    checksum = hashlib.sha256(content).hexdigest()
    write_bytes(path.with_name(f"{path.name}.txt"), f"{text}\nsha256 {checksum}\n".encode())
    return path


def _archive(model: Model, weights: Weights, program: bytes, samples: int) -> bytes:
    """The program among plain arrays: what the model is made of, for whoever writes it in another language."""
    arrays: dict[str, Any] = {
        "program": np.frombuffer(program, np.uint8),
        "states": np.array(model.states),
        "parameters": np.array(model.parameters, dtype=str),
        "samples": np.array(samples),
        "mean": model.mean,
        "std": model.std,
        **{f"weights.{name}": array for name, array in weights.items()},
    }
    for name in ("speed", "condition_mean", "condition_std"):
        if getattr(model, name) is not None:
            arrays[name] = getattr(model, name)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _signature(
    model: Model, samples: int, name: str, format: str, time_units: str, units: list[str]
) -> str:
    """How the program is called, in words and as code."""
    n, r = len(model.states), len(model.parameters)
    law, settings = model.constraint, model.config.rollout
    states = ", ".join(f"{s} [{u}]" if u else s for s, u in zip(model.states, units, strict=True))
    p = ", p" if r else ""
    read = f'Path("{name}").read_bytes()'
    if format == "npz":
        read = f'np.load("{name}")["program"].tobytes()'
    lines = [
        f"{model.kind.label}, exported by pnde {pnde.__version__}",
        "",
        f"forecast(u0, times{p}) -> u, status",
        "",
        f"  u0      float64 (B, {n})  initial states: {states}; any number B of them",
        f"  times   float64 ({samples},)  increasing; times[0] is that of the initial states"
        + (f"; {time_units}" if time_units else ""),
        *([f"  p       float64 (B, {r})  parameters: {', '.join(model.parameters)}"] if r else []),
        f"  u       float64 (B, {samples}, {n})  states at these times, NaN from where a trajectory failed",
        "  status  int32 (B,)  " + ", ".join(f"{s.value}: {s.reason}" for s in Status),
        "",
        f"law: {'none' if law is None else law.label}. A law's targets are those at u0, or the fixed ones; states off "
        "those are put onto them.",
        f"solver: {settings.solver}, rtol {settings.rtol:g}, atol {settings.atol:g}, states in {settings.precision}.",
        "",
        "It needs JAX alone, and the package flatbuffers, by which JAX reads programs (pip install jax flatbuffers):",
        "",
        "    import jax, numpy as np"
        if format == "npz"
        else "    import jax\n    from pathlib import Path",
        "    from jax import export",
        "",
        '    jax.config.update("jax_enable_x64", True)',
        f"    forecast = export.deserialize(bytearray({read})).call",
        f"    u, status = forecast(u0, times{p})",
        "",
    ]
    return "\n".join(lines)
