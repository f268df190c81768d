"""Reader of MATPOWER case files, version 2. It parses tables and runs no code."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pnde.errors import DataError
from pnde.grids.case import COLUMNS, PD, QD, CaseTables, R, X, build
from pnde.grids.grid import Grid

log = logging.getLogger(__name__)

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eEdD][+-]?\d+)?|\.\d+([eEdD][+-]?\d+)?|inf|nan)", re.I)
_ASSIGN = re.compile(
    r"(?:(?P<struct>[A-Za-z]\w*)\.)?(?P<field>[A-Za-z]\w*)\s*=(?!=)\s*(?P<rest>.*)"
)
# Columns are named by these calls; they change nothing.
_CONSTANTS = re.compile(r"(\[[^\]]*\]\s*=\s*)?(idx_\w+|define_constants)\s*;?$")
_END = re.compile(r"(end|endfunction|return)\s*;?$")


@dataclass
class _Matrix:
    rows: list[list[float]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_matpower(path: str | Path) -> Grid:
    """A grid from a MATPOWER ``.m`` case file (format version 2).

    Comments, continued lines, out-of-service rows, several generators at a bus, taps, phase shifts,
    line charging, bus shunts, bus names and isolated buses are understood. Files of distribution
    grids that end with MATPOWER's two usual statements, ohms to p.u. and kW to MW, are converted.
    Any other code is refused, because reading it would mean running it. For what becomes of the
    tables see [`pnde.grids.from_ppc`][].

    **Raises:** [`pnde.errors.DataError`][] naming the file and line, or
    [`pnde.errors.GridError`][] naming the bus or branch.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; check the path") from error
    return _Parser(path.name, text).grid(path.stem)


class _Parser:
    def __init__(self, file: str, text: str):
        self.file = file
        self.matrices: dict[str, _Matrix] = {}
        self.base_mva: float | None = None
        self.names: list[str] = []
        self.scaled: set[str] = set()
        self.lines = _statements(text)
        for line, code in self.lines:
            self._statement(line, code)

    def grid(self, name: str) -> Grid:
        missing = [key for key in COLUMNS if key not in self.matrices]
        if missing:
            raise DataError(
                f"{self.file} has no table mpc.{missing[0]}; it is not a MATPOWER case of version "
                "2 (save it with MATPOWER's savecase)"
            )
        if self.base_mva is None:
            raise DataError(f"{self.file} has no mpc.baseMVA; add the power base, such as 100")
        tables = {key: self._table(key, self.matrices[key], COLUMNS[key]) for key in COLUMNS}
        self._convert_units(tables)
        ignored = sorted(set(self.matrices) - set(COLUMNS))
        if "dcline" in ignored and (self._table("dcline", self.matrices["dcline"], 3)[:, 2]).any():
            log.warning("%s: its DC lines are ignored, as in MATPOWER's own load flow", self.file)
        others = [key for key in ignored if key != "dcline"]
        if others:
            log.info("%s: ignored the tables %s", self.file, ", ".join(others))
        where = {
            key: [f"{self.file}, line {line}" for line in self.matrices[key].lines]
            for key in COLUMNS
        }
        return build(
            CaseTables(
                tables["bus"],
                tables["gen"],
                tables["branch"],
                self.base_mva,
                name,
                where["bus"],
                where["gen"],
                where["branch"],
                bus_name=self.names,
            )
        )

    def _statement(self, line: int, code: str) -> None:
        head = re.match(r"function\b\s*(.*)", code)
        if head:
            if head.group(1).startswith("["):
                raise DataError(
                    f"{self.file}, line {line}: this is a MATPOWER case of version 1 (it returns "
                    "several matrices); save it anew with MATPOWER's savecase"
                )
            return
        if _END.match(code) or _CONSTANTS.match(code):
            return
        if self._unit_statement(code):
            return
        match = _ASSIGN.match(code)
        if match is None:
            raise self._refused(line, code)
        name, rest = match["field"], match["rest"].strip()
        if rest.startswith("["):
            self.matrices[name] = self._matrix(name, line)
        elif rest.startswith("{"):
            cells = self._cells(line)
            if name == "bus_name":
                self.names = cells
        elif name == "baseMVA":
            value = rest.rstrip(";, \t")
            self.base_mva = _number(value)
            if self.base_mva is None:
                raise DataError(
                    f"{self.file}, line {line}: baseMVA is {value!r}; give a number, such as 100"
                )
        elif name == "version":
            version = rest.rstrip(";, \t").strip("'\"")
            if version != "2":
                raise DataError(
                    f"{self.file}, line {line}: this is a MATPOWER case of version {version}; "
                    "pnde reads version 2 (save it anew with MATPOWER's savecase)"
                )
        elif name in COLUMNS or not _is_plain(rest):
            raise self._refused(line, code)

    def _refused(self, line: int, code: str) -> DataError:
        code = code if len(code) <= 60 else code[:57] + "..."
        return DataError(
            f"{self.file}, line {line}: {code!r} is code, and pnde reads only tables; load the "
            "case in MATPOWER and save the result with savecase"
        )

    def _unit_statement(self, code: str) -> bool:
        """The two conversions at the end of MATPOWER's distribution cases, recognised as text."""
        text = re.sub(r"\s", "", code).rstrip(";")
        if text in ("Vbase=mpc.bus(1,BASE_KV)*1e3", "Sbase=mpc.baseMVA*1e6"):
            return True
        impedance = "mpc.branch(:,[BR_RBR_X])"
        if text == f"{impedance}={impedance}/(Vbase^2/Sbase)":
            self.scaled.add("ohm")
            return True
        power = "mpc.bus(:,[PD,QD])"
        if text == f"{power}={power}/1e3":
            self.scaled.add("kW")
            return True
        return False

    def _convert_units(self, tables: dict[str, np.ndarray]) -> None:
        if "ohm" in self.scaled:
            base_kv = 9
            if tables["bus"].shape[1] <= base_kv or not tables["bus"][:1, base_kv].all():
                raise DataError(
                    f"{self.file}: its impedances are in ohms but its first bus has no base "
                    "voltage; fill in the column baseKV"
                )
            assert self.base_mva is not None
            tables["branch"][:, [R, X]] /= tables["bus"][0, base_kv] ** 2 / self.base_mva
        if "kW" in self.scaled:
            tables["bus"][:, [PD, QD]] /= 1e3

    def _body(self, line: int, opening: str, closing: str) -> Iterator[tuple[int, str]]:
        """Code between brackets, line by line; leaves what follows the closing one to be read."""
        number, code = line, next(c for n, c in [self.lines.current] if n == line)
        code = code[code.index(opening) + 1 :]
        while True:
            end = _find(code, closing)
            if end is not None:
                yield number, code[:end]
                after = code[end + 1 :].strip().lstrip(";").strip()
                if after:
                    self.lines.push(number, after)
                return
            yield number, code
            following = next(self.lines, None)
            if following is None:
                raise DataError(
                    f"{self.file}, line {line}: the bracket {opening!r} opened here is never "
                    f"closed; the file may be cut short, or add {closing!r}"
                )
            number, code = following

    def _matrix(self, name: str, line: int) -> _Matrix:
        matrix = _Matrix()
        for number, code in self._body(line, "[", "]"):
            for part in code.split(";"):
                row: list[float] = []
                for token in part.replace(",", " ").split():
                    value = _number(token)
                    if value is None:
                        if name not in COLUMNS:  # a table that pnde does not use
                            continue
                        raise DataError(
                            f"{self.file}, line {number}: {token!r} in row {len(matrix.rows) + 1} "
                            f"of mpc.{name} is not a number; write its value"
                        )
                    row.append(value)
                if row:
                    matrix.rows.append(row)
                    matrix.lines.append(number)
        return matrix

    def _cells(self, line: int) -> list[str]:
        cells: list[str] = []
        for _, code in self._body(line, "{", "}"):
            cells += [
                a.replace("''", "'") if quote == "'" else b
                for quote, a, b in (
                    (m.group(0)[0], m.group(1) or "", m.group(2) or "")
                    for m in re.finditer(r"'((?:[^']|'')*)'|\"([^\"]*)\"", code)
                )
            ]
        return cells

    def _table(self, name: str, matrix: _Matrix, least: int) -> np.ndarray:
        if not matrix.rows:
            return np.zeros((0, least))
        width = len(matrix.rows[0])
        for k, row in enumerate(matrix.rows):
            place = f"{self.file}, line {matrix.lines[k]}: row {k + 1} of mpc.{name}"
            if len(row) != width:
                raise DataError(
                    f"{place} has {len(row)} columns, the first row has {width}; complete the row"
                )
            if len(row) < least:
                raise DataError(
                    f"{place} has {len(row)} columns; MATPOWER's format needs at least {least}"
                )
        return np.array(matrix.rows)


class _Lines(Iterator[tuple[int, str]]):
    """Numbered lines of code, with a look at the current one and a way to put one back."""

    def __init__(self, lines: list[tuple[int, str]]):
        self._waiting = lines[::-1]
        self.current: tuple[int, str] = (0, "")

    def __next__(self) -> tuple[int, str]:
        if not self._waiting:
            raise StopIteration
        self.current = self._waiting.pop()
        return self.current

    def push(self, number: int, code: str) -> None:
        self._waiting.append((number, code))


def _statements(text: str) -> _Lines:
    """Lines without comments, continued ones joined; block comments and empty lines are dropped."""
    lines: list[tuple[int, str]] = []
    depth, continued = 0, False
    for number, raw in enumerate(text.splitlines(), start=1):
        bare = raw.strip()
        if bare in ("%{", "#{"):
            depth += 1
        elif bare in ("%}", "#}") and depth:
            depth -= 1
        elif not depth:
            code = _uncomment(raw).strip()
            if continued:
                number, before = lines.pop()
                code = f"{before} {code}"
            continued = code.endswith("...")
            if code or continued:
                lines.append((number, code.removesuffix("...").strip()))
    return _Lines(lines)


def _uncomment(line: str) -> str:
    """Cut the line at its first % or # outside quotes, and after a continuation `...`."""
    quote = ""
    for k, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "%#":
            return line[:k]
        elif line.startswith("...", k):
            return line[: k + 3]
    return line


def _find(code: str, closing: str) -> int | None:
    """Where the closing bracket stands outside quotes, or None."""
    quote = ""
    for k, letter in enumerate(code):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == closing:
            return k
    return None


def _number(text: str) -> float | None:
    """A number, or the quotient of two (cases with 3-phase loads have a base of 50/3 MVA)."""
    parts = text.split("/")
    if len(parts) > 2 or not all(_NUMBER.fullmatch(part.strip()) for part in parts):
        return None
    values = [float(part.lower().replace("d", "e")) for part in parts]
    if len(values) == 1:
        return values[0]
    return values[0] / values[1] if values[1] else None


def _is_plain(value: str) -> bool:
    """A lone number or string: harmless, whatever it is called."""
    value = value.rstrip(";, \t")
    return _number(value) is not None or bool(re.fullmatch(r"'[^']*'|\"[^\"]*\"", value))
