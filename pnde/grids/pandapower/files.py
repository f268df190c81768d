"""pandapower nets from files: their tables, and nothing else that a file may name.

pandapower's own reader imports every module that a JSON file names, and builds objects of its
classes; before version 3.5.5 it called any function. Here the JSON is plain data: tables become
tables, and objects (controllers, characteristics) are counted and left where they are.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pnde.errors import DataError, brief, listed, shown
from pnde.grids.grid import Grid
from pnde.grids.pandapower.net import from_pandapower, needed
from pnde.grids.text import read_text
from pnde.grids.workbook import read_workbook

log = logging.getLogger(__name__)

_SAVE = "load it in pandapower and save it with pandapower.to_json"
# What a value of a net may be, by module and class; everything but the tables is left out.
_TABLE = {("pandas.core.frame", "DataFrame"), ("pandas", "DataFrame")}
_LEFT_OUT = {
    ("geopandas.geodataframe", "GeoDataFrame"),
    ("networkx", "MultiGraph"),
    ("pandas.core.series", "Series"),
    ("pandas", "Series"),
    ("numpy", "array"),
}
_PLAIN_TYPE = re.compile(
    r"(u?int|float|complex)(8|16|32|64|128)|bool|object|U?Int(8|16|32|64)|boolean"
)
# Objects, drawings and results of other computations: no bearing, or not data.
_UNUSED_COLUMNS = ("object", "recycle", "coords")
_UNUSED_TABLES = ("bus_geodata", "line_geodata", "measurement", "group")


def read_pandapower(path: str | Path) -> Grid:
    """A grid from a pandapower ``.json`` or ``.xlsx`` file; see [`pnde.grids.from_pandapower`][].

    **Raises:** [`pnde.errors.DataError`][] where pandapower is missing, the file holds no net, or
    names code in place of a table, and [`pnde.errors.GridError`][] where the grid is wrong.
    """
    path = Path(path)
    if path.suffix.lower() == ".xlsx":
        return of_sheets(read_workbook(path), path)
    needed()
    tables, values = _of_json(read_text(path), path.name)
    return _grid(tables, values, path)


def of_sheets(sheets: Mapping[str, Any], path: Path) -> Grid:
    """The grid of a workbook that pandapower's ``to_excel`` has written."""
    needed()
    tables: dict[str, Any] = {}
    values: dict[str, Any] = {}
    types: dict[str, dict[str, str]] = {}
    for name, sheet in sheets.items():
        table = sheet.set_index(sheet.columns[0]) if len(sheet.columns) else sheet
        if name in ("parameters", "user_pf_options"):
            first = table.iloc[0].to_dict() if len(table) else {}
            row = {str(k): v.item() if hasattr(v, "item") else v for k, v in first.items()}
            values |= row if name == "parameters" else {"user_pf_options": row}
        elif name == "dtypes":
            for row in sheet.itertuples(index=False):
                if {"element", "column", "dtype"} <= set(sheet.columns):
                    named = dict(zip(sheet.columns, row, strict=True))
                    element = types.setdefault(str(named["element"]), {})
                    element[str(named["column"])] = str(named["dtype"])
        elif not name.endswith(("_std_types", "_profiles")):
            tables[name] = table
    for name, table in tables.items():
        tables[name] = _typed(table, types.get(name, {}), f"{path.name}, sheet {name}")
    if "bus" not in tables:
        raise DataError(
            f"{path.name} has neither a sheet branch (MATPOWER) nor a sheet bus (pandapower), only "
            f"{listed(list(sheets))}"
        )
    return _grid(tables, values, path)


def _of_json(text: str, file: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tables and the plain values of a net."""
    net = _parsed(text, file, "the file")
    if isinstance(net, dict) and ("_class", "pandapowerNet") in net.items():
        net = net.get("_object")
        net = _parsed(net, file, "the net") if isinstance(net, str) else net
    if not isinstance(net, dict) or not isinstance(net.get("bus"), dict):
        raise DataError(
            f"{file} holds no pandapower net (an object with a table bus); if it is one, {_SAVE}"
        )
    tables: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name, value in net.items():
        if not isinstance(value, dict) or "_class" not in value:
            values[name] = value
            continue
        named = (str(value.get("_module", "")), str(value["_class"]))
        if named in _TABLE:
            if name not in _UNUSED_TABLES:
                tables[name] = _frame(value, file, name)
        elif named not in _LEFT_OUT:
            raise DataError(
                f"{file} names {shown('.'.join(named), 60)} for {shown(name)}, which is no table; "
                f"pnde takes tables only and calls nothing: {_SAVE}"
            )
    if "bus" not in tables:
        raise DataError(f"{file} has no table bus as pandapower 2 and later write it; {_SAVE}")
    return tables, values


def _parsed(text: str, file: str, what: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise DataError(f"{file}: {what} is nested too deep for a net; {_SAVE}") from None
    except ValueError as error:
        raise DataError(
            f"{file}: {what} is no JSON ({brief(error, 80)}); it may be cut short: {_SAVE}"
        ) from None


def _frame(value: Mapping[str, Any], file: str, name: str) -> Any:
    import pandas as pd

    held = value.get("_object")
    place = f"{file}, table {shown(name)}"
    held = _parsed(held, file, f"table {shown(name)}") if isinstance(held, str) else held
    try:
        if not isinstance(held, dict):
            raise ValueError("no columns, index and data")
        if {"columns", "index", "data"} <= set(held):
            columns = [str(column) for column in held["columns"]]
            if len(held["index"]) != len(held["data"]):  # pandas would repeat a single row
                raise ValueError(f"{len(held['index'])} rows by index, {len(held['data'])} by data")
            table = pd.DataFrame(held["data"], index=held["index"], columns=columns)
        else:
            table = pd.DataFrame(held)
    except (
        ValueError,
        TypeError,
        AssertionError,
        AttributeError,
        KeyError,
        OverflowError,
    ) as error:
        raise DataError(f"{place} is damaged ({brief(error, 80)}); {_SAVE}") from None
    types = value.get("dtype")
    return _typed(table, types if isinstance(types, dict) else {}, place)


def _typed(table: Any, types: Mapping[str, Any], place: str) -> Any:
    """The table with whole numbers as index, without objects, its columns of the types it names."""
    import pandas as pd

    if table.columns.has_duplicates:
        raise DataError(f"{place} has a column twice; {_SAVE}")
    table = table.drop(columns=[x for x in _UNUSED_COLUMNS if x in table.columns])
    if "geo" in table.columns:
        table["geo"] = None  # drawings have no bearing, but conversions look for the column
    try:
        table.index = pd.Index(table.index).astype("int64")
    except (ValueError, TypeError, OverflowError):
        pass  # tables by name, such as standard types
    if table.index.has_duplicates:
        twice = table.index[table.index.duplicated()][0]
        raise DataError(f"{place} has the row {shown(twice)} twice; number its rows differently")
    for column in table.columns:
        kind = str(types.get(column, ""))
        if not _PLAIN_TYPE.fullmatch(kind):
            continue
        try:
            table[column] = table[column].astype(kind)
        except (ValueError, TypeError, OverflowError) as error:
            if kind.startswith(("float", "complex")):
                raise DataError(
                    f"{place}: the column {shown(column)} is not of numbers ({brief(error, 60)}); "
                    "correct it"
                ) from None
    return table


def _grid(tables: dict[str, Any], values: Mapping[str, Any], path: Path) -> Grid:
    """The net of these tables, brought to the format of the installed pandapower, as a grid."""
    pandapower = needed()
    from pandapower.convert_format import convert_format

    net = pandapower.create_empty_network()
    controllers = tables.pop("controller", None)
    for name, value in values.items():
        if name in ("f_hz", "sn_mva"):
            if not isinstance(value, int | float) or not 0 < value < 1e12:
                raise DataError(
                    f"{path.name}: {name} is {shown(value)}; write a positive number, such as 50"
                )
            net[name] = float(value)
        elif name in ("version", "format_version") and isinstance(value, str | int | float):
            net[name] = str(value)
        elif name == "user_pf_options" and isinstance(value, dict):
            net[name] = {k: v for k, v in value.items() if isinstance(v, str | int | float | bool)}
    if "format_version" not in values:
        net["format_version"] = net["version"]
    for name in ("bus", "line"):
        if name in tables and "geo" not in tables[name].columns:
            tables[name]["geo"] = None
    for name, table in tables.items():
        if name in net and not hasattr(net[name], "columns"):
            raise DataError(f"{path.name} has a table under the name {shown(name)}; {_SAVE}")
        net[name] = table
    try:
        convert_format(net, donot_open_newer=False)
    except Exception as error:  # whatever its tables trip over
        raise DataError(
            f"pandapower cannot bring {path.name} to its format ({brief(error, 100)}); {_SAVE}"
        ) from None
    if controllers is not None and len(controllers):
        used = controllers.get("in_service")
        count = int(used.astype(bool).sum()) if used is not None else len(controllers)
        if count:
            log.warning(
                "%s: %d controllers are left out; what they set stays as the file has it",
                path.name,
                count,
            )
    return from_pandapower(net, name=path.stem)
