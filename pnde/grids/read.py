"""One door for every kind of grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pnde.errors import DataError, nearest
from pnde.grids.fields import from_ppc
from pnde.grids.grid import Grid
from pnde.grids.ieee14 import ieee14
from pnde.grids.mat_file import holds_case
from pnde.grids.matpower import read_matpower
from pnde.grids.psse import read_psse

BUILT_IN: dict[str, Callable[[], Grid]] = {
    "ieee14": ieee14,
    "ieee14-published": lambda: ieee14(published=True),
}


def _pandapower_file(path: Path) -> Grid:
    from pnde.grids.pandapower import read_pandapower

    return read_pandapower(path)


def _workbook(path: Path) -> Grid:
    """MATPOWER's tables, or those of a pandapower net, which has no branches."""
    from pnde.grids.matpower import of_sheets
    from pnde.grids.workbook import read_workbook

    sheets = read_workbook(path)
    if "branch" in sheets:
        return of_sheets(sheets, path)
    from pnde.grids.pandapower import of_sheets as of_net_sheets

    return of_net_sheets(sheets, path)


def _pickle(path: Path) -> Grid:
    raise DataError(
        f"cannot read {path}: a pickle can run any code when it is opened, so pnde opens none; load "
        "the net in pandapower and save it with pandapower.to_json"
    )


READERS: dict[str, Callable[[Path], Grid]] = {
    ".m": read_matpower,
    ".mat": read_matpower,
    ".raw": read_psse,
    ".json": _pandapower_file,
    ".xlsx": _workbook,
}
_REFUSED = dict.fromkeys((".p", ".pkl", ".pickle"), _pickle)


def read_grid(source: Any) -> Grid:
    """A grid from whatever holds one.

    **Arguments:**

    - `source`: ``"ieee14"`` or ``"ieee14-published"``; the path of a MATPOWER ``.m``, ``.mat`` or
        ``.xlsx``, PSS/E ``.raw``, or pandapower ``.json`` or ``.xlsx`` file; a PYPOWER case (dict);
        a pandapower net; or a `Grid`.

    **Raises:** [`pnde.errors.DataError`][] where the source is of no known kind.
    """
    if isinstance(source, Grid):
        return source
    if hasattr(source, "bus") and hasattr(source, "ext_grid"):  # before Mapping: a net is a dict
        from pnde.grids.pandapower import from_pandapower

        return from_pandapower(source)
    if isinstance(source, Mapping):
        return from_ppc(source)
    if not isinstance(source, str | Path):
        raise DataError(
            f"cannot read a grid from {type(source).__name__}; give a name, a path, a PYPOWER case "
            "or a pandapower net"
        )
    if str(source) in BUILT_IN:
        return BUILT_IN[str(source)]()
    path = Path(source)
    reader = {**READERS, **_REFUSED}.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"cannot read a grid from {str(source)!r}{nearest(str(source), BUILT_IN)}; built in "
            f"are {', '.join(BUILT_IN)}, and files may end in {', '.join(READERS)}"
        )
    try:
        return reader(path)
    except MemoryError:
        raise DataError(
            f"{path.name} holds more than the memory can take; read a part of the grid"
        ) from None


def is_grid_file(path: str | Path) -> bool:
    """Whether a path is that of a grid, by its suffix; a ``.mat`` file by what it holds."""
    path = Path(path)
    if path.suffix.lower() != ".mat":
        return path.suffix.lower() in READERS
    return path.is_file() and holds_case(path)
