"""Table III: dimensions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pnde.engines import get
from pnde.laws import Instant
from pnde.paper.results import Results
from pnde.paper.studies import study
from pnde.paper.tables.writing import Table


def dimensions(results: Results) -> Table:
    """State dimension n and number of constraints m, read off the systems.

    The law of a grid pins its slack too: two rows more than the paper's, which has the loads alone.
    """
    rows = []
    for name in results.plan.studies:
        system = results.system(name)
        u = system.initial(np.random.default_rng(0), 1, "paper")
        m = get("jax").law(system.constraint, u, Instant(np.zeros(1))).shape[1]
        slack = 2 * len(system.grid.slack) if hasattr(system, "grid") else 0
        rows.append(
            {"system": study(name).title, "n": u.shape[1], "m": m - slack, "m of the slack": slack}
        )
    frame = pd.DataFrame(rows)
    return Table(
        "State dimension n and number of constraints m for each system.", frame, frame.astype(str)
    )
