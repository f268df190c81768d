"""A run of a benchmark as one JSON file: what was measured, on which machine, with which versions and commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "pnde",
    "jax",
    "jaxlib",
    "diffrax",
    "equinox",
    "numpy",
    "torch",
    "torchode",
    "juliacall",
)


def facts() -> dict[str, Any]:
    """The machine, the versions and the commit."""
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **{name: found for name in PACKAGES if (found := _version(name))},
        "commit": _commit(),
    }


def write(path: Path, rows: Sequence[dict[str, Any]], **more: str) -> None:
    """The rows of a table, with the command that made them; `more` facts of the run."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    record = {"command": command, "facts": facts() | more, "rows": list(rows)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(record, indent=1, ensure_ascii=False, default=float) + "\n", encoding="utf-8"
    )


def read(path: Path) -> dict[str, Any]:
    """What `write` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    return found.stdout.strip()
