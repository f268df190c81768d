"""Reader of PSS/E power flow raw data, versions 32 and 33."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pnde.errors import DataError, GridError
from pnde.grids.case import COLUMNS, CaseTables, build
from pnde.grids.grid import Grid

log = logging.getLogger(__name__)

VERSIONS = (32, 33)

# The order of the sections is the format; each ends with a record that starts with 0.
_SECTIONS = (
    "bus", "load", "fixed shunt", "generator", "branch", "transformer", "area", "two-terminal DC",
    "VSC DC", "impedance correction", "multi-terminal DC", "multi-section line", "zone",
    "inter-area transfer", "owner", "FACTS", "switched shunt", "GNE", "induction machine",
)  # fmt: skip
_TRANSFORMER = _SECTIONS.index("transformer")
# What changes the flow of power in the file's own program but not here.
_MATTER = ("two-terminal DC", "VSC DC", "multi-terminal DC", "FACTS", "GNE", "induction machine")


@dataclass
class _Record:
    """One line of a section: its fields, and the line it stands in."""

    file: str
    line: int
    fields: list[str]

    @property
    def where(self) -> str:
        return f"{self.file}, line {self.line}"

    def text(self, at: int) -> str:
        return self.fields[at] if at < len(self.fields) else ""

    def number(self, at: int, default: float | None = None, what: str = "") -> float:
        text = self.text(at)
        if not text:
            if default is None:
                raise DataError(f"{self.where}: field {at + 1} ({what}) is empty; fill it in")
            return default
        try:
            return float(text.replace("D", "E").replace("d", "e"))
        except ValueError:
            raise DataError(
                f"{self.where}: field {at + 1}{f' ({what})' if what else ''} is {text!r}; it must "
                "be a number"
            ) from None

    def whole(self, at: int, default: int | None = None, what: str = "") -> int:
        value = self.number(at, default, what)
        if not value == round(value):
            raise DataError(
                f"{self.where}: field {at + 1} ({what}) is {value:g}; it must be a whole number"
            )
        return int(value)


def read_psse(path: str | Path) -> Grid:
    """A grid from a PSS/E ``.raw`` file, version 32 or 33.

    Read are buses, loads, fixed and switched shunts (at their initial susceptance), generators,
    branches, two-winding transformers with every CW, CZ and CM, and three-winding transformers,
    which become a star with a load bus of no power in the middle. The constant-admittance part of
    a load becomes a shunt; its constant-current part is refused. DC lines, FACTS devices and
    induction machines are ignored with a warning. For what becomes of the rest see
    [`pnde.grids.from_ppc`][].

    **Raises:** [`pnde.errors.DataError`][] naming the file and line, or
    [`pnde.errors.GridError`][] naming the bus or branch.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; check the path") from error
    return _Case(path, text).grid()


class _Case:
    def __init__(self, path: Path, text: str):
        self.file, self.name = path.name, path.stem
        lines = text.splitlines()
        self.base_mva = self._header(lines)
        self.sections = self._split(lines)
        self.bus: list[list[float]] = []
        self.bus_name: list[str] = []
        self.bus_where: list[str] = []
        self.base_kv: list[float] = []
        self.at: dict[int, int] = {}
        self.gen: list[list[float]] = []
        self.gen_where: list[str] = []
        self.branch: list[list[float]] = []
        self.branch_where: list[str] = []

    def grid(self) -> Grid:
        self._buses()
        self._loads()
        self._shunts()
        self._generators()
        self._lines()
        self._transformers()
        for section in _MATTER:
            if self.sections[section]:
                log.warning(
                    "%s: ignored its %s data (%d records), so its load flow differs from PSS/E's",
                    self.file,
                    section,
                    len(self.sections[section]),
                )
        return build(
            CaseTables(
                np.array(self.bus, float).reshape(-1, COLUMNS["bus"]),
                np.array(self.gen, float).reshape(-1, COLUMNS["gen"]),
                np.array(self.branch, float).reshape(-1, COLUMNS["branch"]),
                self.base_mva,
                self.name,
                self.bus_where,
                self.gen_where,
                self.branch_where,
                bus_name=self.bus_name,
            )
        )

    def _header(self, lines: list[str]) -> float:
        if len(lines) < 3 or lines[0].lstrip().startswith("@!"):
            raise DataError(
                f"{self.file} does not begin with the three title lines of PSS/E raw data, version "
                "32 or 33; save the case in one of these versions"
            )
        head = _Record(self.file, 1, _fields(lines[0]))
        version = head.number(2, math.nan, "REV")
        if math.isnan(version):
            log.warning("%s names no version (REV); it is read as version 33", self.file)
        elif version not in VERSIONS:
            raise DataError(
                f"{self.file} is PSS/E raw data of version {version:g}; pnde reads versions 32 and "
                "33, so save the case in one of these"
            )
        base = head.number(1, 100.0, "SBASE")
        if head.number(0, 0, "IC") != 0:
            raise DataError(
                f"{self.file}, line 1: IC is {head.text(0)}, so the file changes another case; "
                "save the whole case (IC = 0)"
            )
        return base

    def _split(self, lines: list[str]) -> dict[str, list[_Record]]:
        sections: dict[str, list[_Record]] = {name: [] for name in _SECTIONS}
        current = 0
        for number, line in enumerate(lines[3:], start=4):
            fields = _fields(line)
            if fields[:1] == ["Q"]:
                break
            # The end is a lone 0, by habit with a comment; more fields make it data.
            if fields[:1] == ["0"] and (len(fields) == 1 or fields[1].upper() == "END"):
                current += 1
                if current == len(_SECTIONS):
                    break
                continue
            if fields:
                sections[_SECTIONS[current]].append(_Record(self.file, number, fields))
        if current < _TRANSFORMER:
            raise DataError(
                f"{self.file} ends in its {_SECTIONS[current]} data; the file is cut short"
            )
        return sections

    def _position(self, record: _Record, number: int, what: str) -> int:
        if number not in self.at:
            raise GridError(
                f"the {what} of {record.where} is at bus {number}, which is not in the bus data; "
                "add the bus or remove the record"
            )
        return self.at[number]

    def _buses(self) -> None:
        for record in self.sections["bus"]:
            number = record.whole(0, what="bus number")
            if number in self.at:
                raise GridError(
                    f"bus number {number} appears twice ({self.bus_where[self.at[number]]} and "
                    f"{record.where}); number every bus differently"
                )
            if not record.text(3):
                raise GridError(
                    f"bus {number} ({record.where}) has no type; make IDE 1 (load), 2 (generator), "
                    "3 (slack) or 4 (isolated)"
                )
            self.at[number] = len(self.bus)
            kind, v, angle = record.whole(3, what="IDE"), record.number(7, 1.0), record.number(8, 0)
            self._append_bus(number, kind, v, angle, record.text(1), record.number(2, 0.0))
            self.bus_where.append(record.where)

    def _append_bus(
        self, number: int, kind: int, v: float, angle: float, name: str, kv: float
    ) -> None:
        self.bus.append([number, kind, 0.0, 0.0, 0.0, 0.0, 1, v, angle])
        self.bus_name.append(name)
        self.base_kv.append(kv)

    def _loads(self) -> None:
        for record in self.sections["load"]:
            number = record.whole(0, what="bus number")
            at = self._position(record, number, "load")
            if record.whole(2, 1, "STATUS") == 0:
                continue
            p, q, ip, iq, yp, yq = (record.number(k, 0.0) for k in range(5, 11))
            if ip or iq:
                raise GridError(
                    f"the load at bus {number} ({record.where}) has a constant-current part (IP = "
                    f"{ip:g}, IQ = {iq:g}), which pnde does not model; convert it to constant "
                    "power or constant admittance"
                )
            row = self.bus[at]
            row[2] += p
            row[3] += q
            row[4] += yp
            row[5] += yq  # PSS/E: Mvar at 1 p.u., negative for an inductive load, as a shunt's

    def _shunts(self) -> None:
        for record in self.sections["fixed shunt"]:
            at = self._position(record, record.whole(0, what="bus number"), "fixed shunt")
            if record.whole(2, 1, "STATUS") != 0:
                self.bus[at][4] += record.number(3, 0.0, "GL")
                self.bus[at][5] += record.number(4, 0.0, "BL")
        switched = 0
        for record in self.sections["switched shunt"]:
            at = self._position(record, record.whole(0, what="bus number"), "switched shunt")
            if record.whole(3, 1, "STAT") != 0:
                self.bus[at][5] += record.number(9, 0.0, "BINIT")
                switched += 1
        if switched:
            log.info(
                "%s: its %d switched shunts stay at their initial susceptance", self.file, switched
            )

    def _generators(self) -> None:
        for record in self.sections["generator"]:
            number = record.whole(0, what="bus number")
            at = self._position(record, number, "generator")
            status = record.whole(14, 1, "STAT")
            if status and self.bus[at][1] == 1:
                log.warning(
                    "%s: the generator at bus %d is ignored, because the bus is of type 1",
                    record.where,
                    number,
                )
                continue
            voltage, remote = record.number(6, 1.0, "VS"), record.whole(7, 0, "IREG")
            if status and remote not in (0, number):
                log.warning(
                    "%s: the generator at bus %d regulates bus %d; pnde keeps the voltage of its "
                    "own bus at %g p.u. instead",
                    record.where,
                    number,
                    remote,
                    self.bus[at][7],
                )
                voltage = self.bus[at][7]
            p, q = record.number(2, 0.0, "PG"), record.number(3, 0.0, "QG")
            highest, lowest = record.number(4, 9999.0, "QT"), record.number(5, -9999.0, "QB")
            rating = record.number(8, self.base_mva, "MBASE")
            self.gen.append([number, p, q, highest, lowest, voltage, rating, status])
            self.gen_where.append(record.where)

    def _lines(self) -> None:
        for record in self.sections["branch"]:
            # A minus sign marks the metered end.
            start, end = (abs(record.whole(k, what="bus number")) for k in (0, 1))
            r, x, b = record.number(3, 0.0, "R"), record.number(4, what="X"), record.number(5, 0.0)
            status = record.whole(13, 1, "ST")
            if status:
                for bus, g_at in ((start, 9), (end, 11)):
                    g, susceptance = record.number(g_at, 0.0), record.number(g_at + 1, 0.0)
                    if g or susceptance:
                        at = self._position(record, bus, "branch")
                        self._add_shunt(at, complex(g, susceptance))
            self._append_branch(record, start, end, complex(r, x), b, 1.0, 0.0, status)

    def _append_branch(
        self,
        record: _Record,
        start: int,
        end: int,
        z: complex,
        b: float,
        tap: float,
        shift: float,
        status: int,
    ) -> None:
        self.branch.append([start, end, z.real, z.imag, b, 0, 0, 0, tap, shift, status])
        self.branch_where.append(record.where)

    def _add_shunt(self, at: int, admittance: complex) -> None:
        """An admittance to ground in p.u., added to a bus in MW and Mvar."""
        self.bus[at][4] += admittance.real * self.base_mva
        self.bus[at][5] += admittance.imag * self.base_mva

    def _transformers(self) -> None:
        records, k = self.sections["transformer"], 0
        while k < len(records):
            length = 4 if records[k].text(2) in ("", "0") else 5
            group = records[k : k + length]
            if len(group) < length:
                raise DataError(
                    f"{records[k].where}: the transformer that begins here has {len(group)} of its "
                    f"{length} lines; complete it"
                )
            (self._two_windings if length == 4 else self._three_windings)(group)
            k += length

    def _two_windings(self, group: list[_Record]) -> None:
        head, impedance, first, second = group
        start, end = (abs(head.whole(k, what="bus number")) for k in (0, 1))
        label = f"transformer {start}–{end} ({head.where})"
        at = self._position(head, start, "transformer")
        other = self._position(head, end, "transformer")
        status = head.whole(11, 1, "STAT")
        z = self._impedance(head, impedance, 0, at, first, label)
        one, two = self._ratio(head, first, at, label), self._ratio(head, second, other, label)
        # Ideal transformers one and two at the ends: y12 = y/(one·two), y22 = y/two². Moving both
        # to the start leaves the ratio one/two there and the impedance two² z.
        shift = first.number(2, 0.0, "ANG1")
        self._append_branch(head, start, end, z * two**2, 0.0, one / two, shift, status)
        if status:
            self._add_shunt(at, self._magnetising(head, impedance, first, at, label))
        self._mention_table(first, label)

    def _three_windings(self, group: list[_Record]) -> None:
        head, impedance, *windings = group
        ends = [abs(head.whole(k, what="bus number")) for k in (0, 1, 2)]
        label = f"transformer {ends[0]}–{ends[1]}–{ends[2]} ({head.where})"
        positions = [self._position(head, end, "transformer") for end in ends]
        status = head.whole(11, 1, "STAT")
        if status == 0:
            return
        z = [
            self._impedance(head, impedance, 3 * k, positions[k], windings[k], label)
            for k in range(3)  # of the pairs 1–2, 2–3, 3–1
        ]
        star = [(z[0] + z[2] - z[1]) / 2, (z[0] + z[1] - z[2]) / 2, (z[1] + z[2] - z[0]) / 2]
        number = int(max(row[0] for row in self.bus)) + 1
        self.at[number] = len(self.bus)
        name = f"star {ends[0]}-{ends[1]}-{ends[2]}"
        self._append_bus(number, 1, 1.0, 0.0, name, 0.0)
        self.bus_where.append(head.where)
        out = {2: 1, 3: 2, 4: 0}.get(status)  # the winding that is out of service
        for k in range(3):
            if k == out:
                continue
            ratio = self._ratio(head, windings[k], positions[k], label)
            shift = windings[k].number(2, 0.0, "ANG")
            self._append_branch(head, ends[k], number, star[k], 0.0, ratio, shift, 1)
            self._mention_table(windings[k], label)
        if out != 0:
            shunt = self._magnetising(head, impedance, windings[0], positions[0], label)
            self._add_shunt(positions[0], shunt)

    def _impedance(
        self, head: _Record, record: _Record, column: int, at: int, winding: _Record, label: str
    ) -> complex:
        """R + jX of a pair of windings in p.u. of the system's base, for each CZ."""
        code = head.whole(5, 1, "CZ")
        r = record.number(column, 0.0, "R")
        x = record.number(column + 1, what="X")
        if code == 1:
            return complex(r, x)
        power = self._winding_base(record, column, label)
        if code == 3:  # R is the load loss in W, X the magnitude of the impedance
            r = r * 1e-6 / power
            if abs(x) < abs(r):
                raise GridError(
                    f"{label} has |Z| = {x:g} p.u., less than its resistance of {r:g} p.u. (CZ = "
                    "3); correct its load loss or impedance"
                )
            x = math.copysign(math.sqrt(x**2 - r**2), x)
        elif code != 2:
            raise GridError(f"{label} has CZ = {code}; it must be 1, 2 or 3")
        nominal = self._nominal(winding, at)
        return complex(r, x) * nominal**2 * self.base_mva / power

    def _winding_base(self, record: _Record, column: int, label: str) -> float:
        power = record.number(column + 2, self.base_mva, "SBASE")
        if power <= 0:
            raise GridError(f"{label} has a winding base of {power:g} MVA; it must be positive")
        return power

    def _nominal(self, winding: _Record, at: int) -> float:
        """The winding's nominal voltage over its bus's base voltage; 1 where none is given."""
        kv, base = winding.number(1, 0.0, "NOMV"), self.base_kv[at]
        return kv / base if kv and base else 1.0

    def _ratio(self, head: _Record, winding: _Record, at: int, label: str) -> float:
        """The off-nominal turns ratio in p.u. of the bus's base voltage, for each CW."""
        code = head.whole(4, 1, "CW")
        if code == 2:
            base = self.base_kv[at]
            if base <= 0:
                raise GridError(
                    f"{label} gives its winding voltage in kV (CW = 2), but bus "
                    f"{self.bus[at][0]:g} has no base voltage; fill in BASKV"
                )
            ratio = winding.number(0, base, "WINDV") / base
        elif code in (1, 3):
            ratio = winding.number(0, 1.0, "WINDV") * (
                self._nominal(winding, at) if code == 3 else 1
            )
        else:
            raise GridError(f"{label} has CW = {code}; it must be 1, 2 or 3")
        if ratio <= 0:
            raise GridError(f"{label} has a turns ratio of {ratio:g}; it must be positive")
        return ratio

    def _magnetising(
        self, head: _Record, impedance: _Record, winding: _Record, at: int, label: str
    ) -> complex:
        """The magnetising admittance at winding 1 in p.u. of the system's base, for each CM."""
        code = head.whole(6, 1, "CM")
        g, b = head.number(7, 0.0, "MAG1"), head.number(8, 0.0, "MAG2")
        if code == 1 or not (g or b):
            return complex(g, b)
        if code != 2:
            raise GridError(f"{label} has CM = {code}; it must be 1 or 2")
        # MAG1 is the no-load loss in W, MAG2 the exciting current in p.u. of the winding's base.
        power = self._winding_base(impedance, 0, label)
        g = g * 1e-6 / power
        if abs(b) < abs(g):
            raise GridError(
                f"{label} has an exciting current of {b:g} p.u., less than its no-load loss of "
                f"{g:g} p.u. (CM = 2); correct MAG1 or MAG2"
            )
        scale = power / self.base_mva / self._nominal(winding, at) ** 2
        return complex(g, -math.sqrt(b**2 - g**2)) * scale

    def _mention_table(self, winding: _Record, label: str) -> None:
        # Line 3: WINDV, NOMV, ANG, RATA, RATB, RATC, COD, CONT, RMA, RMI, VMA, VMI, NTP, TAB, …
        if winding.whole(13, 0, "TAB"):
            log.warning("%s: its impedance correction table is ignored", label)


def _fields(line: str) -> list[str]:
    """Fields of a free-format record: separated by commas or blanks, quoted with ', ended by /."""
    fields: list[str] = []
    text, quoted, used, after_comma = "", False, False, True
    for letter in line:
        if quoted:
            if letter == "'":
                quoted = False
            else:
                text += letter
        elif letter == "'":
            quoted = used = True
        elif letter == "/":
            break
        elif letter == "," or letter.isspace():
            if used:
                fields.append(text.strip())
                after_comma = letter == ","
            elif letter == ",":
                if after_comma:
                    fields.append("")  # two commas: the field keeps its default
                after_comma = True
            text, used = "", False
        else:
            text += letter
            used = True
    if used:
        fields.append(text.strip())
    return fields
