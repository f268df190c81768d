"""Lines, switches and transformers of PSS/E raw data."""

from __future__ import annotations

import math

import numpy as np

from pnde.errors import DataError, GridError
from pnde.grids.psse.layout import columns
from pnde.grids.psse.record import Record, within_reason
from pnde.grids.psse.tables import Tables

#: The winding that each status of a three-winding transformer takes out of service.
_OUT = {1: None, 2: 1, 3: 2, 4: 0}


def add_lines(tables: Tables) -> None:
    """Branches; those without resistance and at most PSS/E's threshold of reactance join their buses."""
    threshold = tables.raw.threshold
    for record in tables.raw.sections["branch"]:
        start, end = record.bus("I"), record.bus("J")
        r, x, b = record.number("R", 0.0), record.number("X"), record.number("B", 0.0)
        status = record.whole("ST", 1)
        if status:
            for bus, g, susceptance in ((start, "GI", "BI"), (end, "GJ", "BJ")):
                at = tables.position(record, bus, "branch")
                shunt = complex(record.number(g, 0.0), record.number(susceptance, 0.0))
                tables.add_shunt(at, shunt * tables.base_mva)
            if r == 0 and abs(x) <= threshold and start != end:
                _join(tables, start, end, b)
                continue
        tables.add_branch(record, start, end, complex(r, x), b, 1.0, 0.0, status)
    for record in tables.raw.sections["switching device"]:
        start, end = record.bus("I"), record.bus("J")
        if record.whole("STAT", 1) != 1:
            continue
        for bus in (start, end):
            tables.position(record, bus, "switching device")
        x = record.number("X", threshold)
        if abs(x) <= threshold:
            _join(tables, start, end, 0.0)
        else:
            tables.add_branch(record, start, end, complex(0, x), 0.0, 1.0, 0.0, 1)


def _join(tables: Tables, start: int, end: int, charging: float) -> None:
    for bus in (start, end):
        tables.add_shunt(tables.at[bus], complex(0, charging / 2) * tables.base_mva)
    tables.joined.append((start, end))


def add_transformers(tables: Tables) -> None:
    """Two-winding transformers with every CW, CZ and CM, and three-winding ones as a star."""
    raw = tables.raw
    corrections = _corrections(tables)
    impedances, winding = columns("impedances", raw.version), columns("winding", raw.version)
    records, k = raw.sections["transformer"], 0
    while k < len(records):
        length = 4 if records[k].text("K") in ("", "0") else 5
        group = records[k : k + length]
        if len(group) < length:
            raise DataError(
                f"{records[k].where}: the transformer that begins here has {len(group)} of its "
                f"{length} lines; complete it"
            )
        head, pairs = group[0], group[1].named(impedances)
        windings = [record.named(winding) for record in group[2:]]
        transformer = _Transformer(tables, head, pairs, windings, corrections)
        with within_reason(transformer.label):
            transformer.add_two() if length == 4 else transformer.add_three()
        k += length


def _corrections(tables: Tables) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Factors of the impedance (complex) over turns ratio or angle, by the number of their table."""
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    pieces: dict[int, list[float]] = {}
    width, current = 3 if tables.raw.version >= 34 else 2, 0
    for record in tables.raw.sections["impedance correction"]:
        values = [
            Record(record.file, record.line, [text], ("a factor",)).number("a factor", 0.0)
            for text in record.fields
        ]
        # Lines of the versions 34 and 35 go on until a point of zeros.
        if current == 0 or width == 2:
            current = int(values[0])
            pieces[current] = values[1:]
        else:
            pieces[current] += values
        piece = pieces[current]
        if len(piece) % width == 0 and (len(piece) < 6 * width or not any(piece[-width:])):
            current = 0
    for number, values in pieces.items():
        count = len(values) // width
        points = np.array(values[: count * width]).reshape(count, width)
        points = points[np.any(points != 0, axis=1)]
        factor = points[:, 1] + 1j * (points[:, 2] if width == 3 else 0)
        found[number] = points[:, 0], factor
    return found


class _Transformer:
    def __init__(
        self,
        tables: Tables,
        head: Record,
        pairs: Record,
        windings: list[Record],
        corrections: dict[int, tuple[np.ndarray, np.ndarray]],
    ):
        self.tables, self.head, self.pairs, self.windings = tables, head, pairs, windings
        self.corrections = corrections
        names = ("I", "J", "K")[: 2 if len(windings) == 2 else 3]
        self.ends = [head.bus(name) for name in names]
        self.label = f"transformer {'–'.join(map(str, self.ends))} ({head.where})"
        self.at = [tables.position(head, end, "transformer") for end in self.ends]
        self.status = head.whole("STAT", 1)

    def add_two(self) -> None:
        first = self.windings[0]
        z = self.impedance(0) * self.correction(first)
        one, two = self.ratio(0), self.ratio(1)
        # Ideal transformers one and two at the ends: y12 = y/(one·two), y22 = y/two². Moving both
        # to the start leaves the ratio one/two there and the impedance two² z.
        shift = first.number("ANG", 0.0)
        start, end = self.ends
        self.tables.add_branch(
            self.head, start, end, z * two**2, 0.0, one / two, shift, self.status
        )
        if self.status:
            self.add_magnetising()
            self.note_control(first)

    def add_three(self) -> None:
        """A star: its middle is a new bus, unless fewer than two windings are in service."""
        if self.status not in (0, *_OUT):
            raise GridError(f"{self.label} has STAT = {self.status}; it must be 0 to 4")
        if self.status == 0:
            return
        out = _OUT[self.status]
        used = [k for k in range(3) if k != out and not self.tables.is_isolated(self.at[k])]
        z = [self.impedance(k) for k in range(3)]  # of the pairs 1–2, 2–3, 3–1
        star = [(z[0] + z[2] - z[1]) / 2, (z[0] + z[1] - z[2]) / 2, (z[1] + z[2] - z[0]) / 2]
        if out != 0:
            self.add_magnetising()
        if len(used) < 2:
            return
        number = int(max(row[0] for row in self.tables.bus)) + 1
        name = f"star {'-'.join(map(str, self.ends))}"
        v, angle = self.pairs.number("VMSTAR", 1.0), self.pairs.number("ANSTAR", 0.0)
        self.tables.add_bus(number, 1, v, angle, name, 0.0, self.head.where)
        for k in used:
            winding = self.windings[k]
            leg = star[k] * self.correction(winding)
            if abs(leg) < self.tables.raw.threshold:  # PSS/E keeps no leg below its threshold
                leg = complex(0, math.copysign(self.tables.raw.threshold, leg.imag))
                self.tables.note(
                    "windings of three-winding transformers have no impedance in the star; they get "
                    f"PSS/E's threshold of {self.tables.raw.threshold:g} p.u."
                )
            shift = winding.number("ANG", 0.0)
            self.tables.add_branch(
                self.head, self.ends[k], number, leg, 0.0, self.ratio(k), shift, 1
            )
            self.note_control(winding)

    def impedance(self, pair: int) -> complex:
        """R + jX of a pair of windings in p.u. of the system's base, for each CZ."""
        code = self.head.whole("CZ", 1)
        r, x = self.pairs.number(f"R{pair + 1}", 0.0), self.pairs.number(f"X{pair + 1}")
        if code == 1:
            return complex(r, x)
        power = self.winding_base(pair)
        if code == 3:  # R is the load loss in W, X the magnitude of the impedance
            r = r * 1e-6 / power
            if abs(x) < abs(r):
                raise GridError(
                    f"{self.label} has |Z| = {x:g} p.u., less than its resistance of {r:g} p.u. "
                    "(CZ = 3); correct its load loss or impedance"
                )
            x = math.copysign(math.sqrt(x**2 - r**2), x)
        elif code != 2:
            raise GridError(f"{self.label} has CZ = {code}; it must be 1, 2 or 3")
        return complex(r, x) * self.nominal(pair) ** 2 * self.tables.base_mva / power

    def winding_base(self, pair: int) -> float:
        power = self.pairs.number(f"SBASE{pair + 1}", self.tables.base_mva)
        if power <= 0:
            raise GridError(
                f"{self.label} has a winding base of {power:g} MVA; it must be positive"
            )
        return power

    def nominal(self, k: int) -> float:
        """A winding's nominal voltage over its bus's base voltage; 1 where none is given."""
        kv, base = self.windings[k].number("NOMV", 0.0), self.tables.base_kv[self.at[k]]
        return kv / base if kv and base else 1.0

    def ratio(self, k: int) -> float:
        """The off-nominal turns ratio in p.u. of the bus's base voltage, for each CW."""
        code, winding = self.head.whole("CW", 1), self.windings[k]
        if code == 2:
            base = self.tables.base_kv[self.at[k]]
            if base <= 0:
                raise GridError(
                    f"{self.label} gives its winding voltage in kV (CW = 2), but bus "
                    f"{self.ends[k]} has no base voltage; fill in BASKV"
                )
            ratio = winding.number("WINDV", base) / base
        elif code in (1, 3):
            ratio = winding.number("WINDV", 1.0) * (self.nominal(k) if code == 3 else 1)
        else:
            raise GridError(f"{self.label} has CW = {code}; it must be 1, 2 or 3")
        if ratio == 0:  # so MATPOWER writes a ratio that it has as 0, for nominal
            self.tables.note("windings have a turns ratio of 0, which is taken as 1")
            return 1.0
        if ratio < 0:
            raise GridError(f"{self.label} has a turns ratio of {ratio:g}; it must be positive")
        return ratio

    def correction(self, winding: Record) -> complex:
        """The factor of the impedance at the winding's ratio or angle, from its table."""
        number = winding.whole("TAB", 0)
        if number == 0:
            return 1.0
        if number not in self.corrections or not len(self.corrections[number][0]):
            self.tables.note(
                "windings name an impedance correction table that the file lacks; their impedance "
                "stays as it is"
            )
            return 1.0
        at, factor = self.corrections[number]
        by_angle = at.min() <= 0 or at.max() > 2
        k = self.windings.index(winding)
        value = winding.number("ANG", 0.0) if by_angle else self.ratio(k)
        return complex(np.interp(value, at, factor.real), np.interp(value, at, factor.imag))

    def add_magnetising(self) -> None:
        """The magnetising admittance at winding 1, for each CM."""
        code = self.head.whole("CM", 1)
        g, b = self.head.number("MAG1", 0.0), self.head.number("MAG2", 0.0)
        if code not in (1, 2):
            raise GridError(f"{self.label} has CM = {code}; it must be 1 or 2")
        if code == 2 and (g or b):
            # MAG1 is the no-load loss in W, MAG2 the exciting current in p.u. of the winding's base.
            power = self.winding_base(0)
            g = g * 1e-6 / power
            if abs(b) < abs(g):
                raise GridError(
                    f"{self.label} has an exciting current of {b:g} p.u., less than its no-load "
                    f"loss of {g:g} p.u. (CM = 2); correct MAG1 or MAG2"
                )
            scale = power / self.tables.base_mva / self.nominal(0) ** 2
            g, b = g * scale, -math.sqrt(b**2 - g**2) * scale
        self.tables.add_shunt(self.at[0], complex(g, b) * self.tables.base_mva)

    def note_control(self, winding: Record) -> None:
        if winding.whole("COD", 0) > 0:
            self.tables.note(
                "windings of transformers that regulate stay at their ratios and angles"
            )
