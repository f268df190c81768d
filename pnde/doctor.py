"""What `pnde doctor` looks at."""

from __future__ import annotations

import os
import platform
import sys
import time

import numpy as np

import pnde
from pnde.engines import NAMES, get
from pnde.errors import PndeError


def examine() -> dict[str, str]:
    """Versions, environment and devices, what each engine says of itself, and a small solve with the default one."""
    findings = {
        "pnde": pnde.__version__,
        "python": f"{sys.version.split()[0]} ({sys.executable})",
        "platform": f"{platform.platform()}, {os.cpu_count()} processors",
        "numpy": np.__version__,
    }
    for name in sorted(os.environ):
        if name.startswith(("PNDE_", "PYTHON_JULIA", "JAX_PLATFORMS", "XLA_FLAGS", "JULIA_")):
            findings[name] = os.environ[name]
    for name in NAMES:
        try:
            status = get(name).status()
            findings[f"engine {name}"] = ", ".join(f"{k} {v}" for k, v in status.items())
        except PndeError as error:
            findings[f"engine {name}"] = f"not available: {error}"
    findings["solve"] = _solve()
    return findings


def _solve() -> str:
    """Integrate Lotka-Volterra and see that its law holds."""
    began = time.perf_counter()
    try:
        data = pnde.systems.lotka_volterra().simulate(trajectories=4, t_end=5.0)
        worst = float(pnde.check(data)["relative"].max())
    except PndeError as error:
        return f"failed: {error}"
    seconds = time.perf_counter() - began
    verdict = "ok" if worst < 1e-9 else "WRONG"
    return f"{verdict}: Lotka-Volterra keeps its law to {worst:.1e} ({seconds:.1f} s)"
