"""How a training went."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pnde.errors import DataError, nearest

from ._style import INITIAL, TRUTH, WIDTH, panels, style


def history(df: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Training and validation loss over the epochs, with the best epoch marked.

    **Arguments:**

    - `df`: the history of a run, with the columns `epoch`, `loss` and, if there are validation
      data, `valid_loss`.
    - `ax`: the axes to draw on.

    **Returns:** the axes.

    **Raises:** `pnde.errors.DataError` if a column is missing.
    """
    columns = [str(column) for column in df.columns]
    for name in ("epoch", "loss"):
        if name not in columns:
            raise DataError(
                f"the history has no column {name!r}{nearest(name, columns)}; it has "
                f"{', '.join(columns)}"
            )
    epoch = df["epoch"].to_numpy(float)
    with style():
        if ax is None:
            ax = panels(1, 1, WIDTH, 2.0)[0, 0]
        assert ax is not None
        marker: dict[str, Any] = {"marker": "."} if len(df) == 1 else {}
        ax.plot(epoch, df["loss"].to_numpy(float), label="training", color="#888888", **marker)
        valid: Any = df["valid_loss"].to_numpy(float) if "valid_loss" in columns else np.array([])
        if np.isfinite(valid).any():
            ax.plot(epoch, valid, label="validation", **TRUTH, **marker)
            best = int(np.nanargmin(valid))
            ax.plot(
                epoch[best],
                valid[best],
                "o",
                color=INITIAL,
                markersize=3,
                label=f"best (epoch {epoch[best]:g})",
            )
        ax.set_yscale("log")
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss")
        ax.legend()
    return ax
