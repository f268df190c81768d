"""Pictures as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pnde.files import write_aside


def save(axes: Any, path: str | Path) -> Path:
    """Write the figure of some axes, in the format that the path's suffix names.

    **Arguments:**

    - `axes`: one, or an array of them, as the other functions return them.

    **Raises:** `pnde.errors.RunError` if the disk does not take it.
    """
    figure, path = np.atleast_1d(axes).flat[0].figure, Path(path)
    write_aside(path, lambda temporary: figure.savefig(temporary, format=path.suffix[1:] or "png"))
    return path
