"""Some rows of a law."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.laws.constraint import Constraint
from pnde.laws.instant import Instant


class Selected(Constraint):
    """The rows of a law at which a mask `(m,)` is true, without the law's structure."""

    def __init__(self, law: Constraint, rows: np.ndarray):
        super().__init__(law.h)
        self._law, self._chosen = law, np.flatnonzero(rows)
        self.takes = law.takes

    @property
    def label(self) -> str:
        return "" if not hasattr(self, "_law") else self._law.label

    def value(self, u: Any, at: Instant) -> Any:
        return self._law.value(u, at)[self._chosen]
