"""Data held against a law."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from pnde.data import open_data, time_matrix
from pnde.engines import get
from pnde.errors import ConstraintError
from pnde.laws.targets import evaluate_law
from pnde.metrics import deviation, law_scale, unrelated_states
from pnde.systems import law_for


def check(data: Any, constraint: Any = None) -> xr.Dataset:
    """How far data themselves stray from a law, for each trajectory, time and row.

    **Arguments:**

    - `data`: a data set or a file, as `pnde.train` takes them.
    - `constraint`: a law or a plain function of the state; that of the built-in system if absent.

    **Returns:** a data set with `absolute` |h - c| and `relative`, both `(trajectory, time, row)`. Relative to |c|, or
    where c = 0 to the size of h on unrelated states. `pnde.metrics.deviation_table` sums it up, `pnde.plot.check`
    draws it.

    **Raises:** `pnde.errors.ConstraintError` if the law does not fit the data or is not defined on them.
    """
    ds = open_data(data)
    law = law_for(ds, constraint)
    if law is None:
        raise ConstraintError("there is no law to check: pass constraint=")
    engine = get("jax")
    u, t = ds["u"].transpose("trajectory", "time", "state").values, time_matrix(ds)
    h = evaluate_law(engine, law, u, t, ds["trajectory"].values)
    first = np.argmax(np.isfinite(h).all(axis=-1), axis=1)
    c = law.targets(h[np.arange(len(h)), first])
    scale = law_scale(c, engine.law(law, unrelated_states(ds), np.zeros(1000)))
    return deviation(h - c[:, None], scale, ds, rows=law.row_names(c.shape[1]))
