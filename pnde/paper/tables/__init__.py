"""The paper's tables, one function each, by the name of their file."""

from __future__ import annotations

from collections.abc import Callable

from pnde.paper.results import Results
from pnde.paper.tables.complexity import complexity
from pnde.paper.tables.dimensions import dimensions
from pnde.paper.tables.errors import errors
from pnde.paper.tables.settings import settings
from pnde.paper.tables.times import times
from pnde.paper.tables.writing import Table

TABLES: dict[str, Callable[[Results], Table | None]] = {
    "table-1-times": times,
    "table-2-complexity": complexity,
    "table-3-dimensions": dimensions,
    "table-4-settings": settings,
    "table-5-errors": errors,
}
