"""Reader of MATPOWER cases: ``.m`` files, parsed and never run, ``.mat`` files and workbooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pnde.errors import DataError, listed
from pnde.grids.case import COLUMNS
from pnde.grids.fields import grid_of_fields
from pnde.grids.grid import Grid
from pnde.grids.mat_file import read_mat
from pnde.grids.matlab import Workspace, read_matlab
from pnde.grids.matpower_columns import CONSTANTS, NAMES
from pnde.grids.text import read_text
from pnde.grids.workbook import read_workbook

# The order in which a case of version 1 returns its tables.
_VERSION_1 = ("baseMVA", "bus", "gen", "branch", "areas", "gencost")


def read_matpower(path: str | Path) -> Grid:
    """A grid from a MATPOWER case of version 1 or 2: a ``.m``, ``.mat`` or ``.xlsx`` file.

    A ``.m`` file may hold what MATLAB allows in assignments and arithmetic, such as the conversions
    of units at the end of MATPOWER's distribution cases. It is not run: loops, other files and
    functions that do more than compute are refused by their line. For what becomes of the tables
    see [`pnde.grids.from_ppc`][].

    **Raises:** [`pnde.errors.DataError`][] naming the file and line, or
    [`pnde.errors.GridError`][] naming the bus or branch.
    """
    path = Path(path)
    if path.suffix.lower() == ".mat":
        return _of_mapping(read_mat(path), path)
    if path.suffix.lower() == ".xlsx":
        return of_sheets(read_workbook(path), path)
    workspace = read_matlab(read_text(path), path.name, CONSTANTS)
    fields, prefix = _case(workspace, path.name)

    def where(table: str, row: int) -> str:
        lines = workspace.lines.get(f"{prefix}{table}", [])
        if row < len(lines):
            return f"{path.name}, line {lines[row]}"
        return f"row {row + 1} of {prefix}{table} of {path.name}"

    return grid_of_fields(fields, path.stem, where, path.name)


def case_fields(path: Path) -> dict[str, Any]:
    """What the case of a ``.m`` file holds, by MATPOWER's names and as the file gives it."""
    return _case(read_matlab(read_text(path), path.name, CONSTANTS), path.name)[0]


def _case(workspace: Workspace, file: str) -> tuple[dict[str, Any], str]:
    """The fields of the case, and what stands before their names in the file."""
    variables, outputs = workspace.variables, workspace.outputs
    if len(outputs) >= 4:  # version 1: several matrices, by their order
        fields = {
            field: variables[name]
            for field, name in zip(_VERSION_1, outputs, strict=False)
            if name in variables
        }
        # The lines are kept by the file's own names, which may be others.
        for field, name in zip(_VERSION_1, outputs, strict=False):
            workspace.lines[field] = workspace.lines.get(name, [])
        return fields, ""
    candidates = outputs or list(variables)
    for name in candidates:
        if isinstance(variables.get(name), dict) and "bus" in variables[name]:
            return variables[name], f"{name}."
    if "bus" in variables:
        return variables, ""
    raise DataError(
        f"{file} has no table bus; it is not a MATPOWER case (save it with MATPOWER's savecase)"
    )


def _of_mapping(variables: Mapping[str, Any], path: Path) -> Grid:
    fields = variables
    if "bus" not in variables:
        held = [x for x in variables.values() if isinstance(x, dict) and "bus" in x]
        if not held:
            raise DataError(
                f"{path.name} has no structure with the table bus, only {listed(variables)}; save "
                "the case with MATPOWER's savecase"
            )
        fields = {"baseMVA": variables.get("baseMVA"), **held[0]}
        if fields["baseMVA"] is None:
            del fields["baseMVA"]
    return grid_of_fields(
        fields, path.stem, lambda table, row: f"row {row + 1} of {table} of {path.name}", path.name
    )


def of_sheets(sheets: Mapping[str, Any], path: Path) -> Grid:
    """The grid of a workbook with the sheets bus, gen and branch, and info for the power base.

    Columns are known by MATPOWER's names of them; where these are missing, by their order behind an
    index without a heading. Such workbooks are written by the package matpowercaseframes.
    """
    fields: dict[str, Any] = {}
    for key, table in sheets.items():
        if key == "info":
            for row in table.itertuples(index=False):
                if len(row) >= 2 and isinstance(row[0], str):
                    fields[row[0]] = row[1]
        elif key == "bus_name":
            fields[key] = [str(x) for x in table.iloc[:, -1]]
        else:
            fields[key] = _columns(key, table)
    for key in ("version",):
        if key in fields:
            fields[key] = str(fields[key]).removesuffix(".0")
    return grid_of_fields(
        fields,
        path.stem,
        lambda table, row: f"{path.name}, sheet {table}, row {row + 2}",
        path.name,
    )


def _columns(key: str, table: Any) -> np.ndarray:
    heads = [str(x).strip().upper() for x in table.columns]
    names = NAMES.get(key, ())
    if names and names[0] in heads:
        width = max(k + 1 for k, name in enumerate(names) if name in heads)
        columns = [
            table.iloc[:, heads.index(name)].to_numpy() if name in heads else np.zeros(len(table))
            for name in names[:width]
        ]
        return np.array(columns, object).T
    if heads and (heads[0].startswith("UNNAMED") or heads[0] == ""):
        table = table.iloc[:, 1:]
    return np.asarray(table.to_numpy(), object)


__all__ = ["COLUMNS", "of_sheets", "read_matpower"]
