"""Buses, loads, shunts and machines of PSS/E raw data."""

from __future__ import annotations

import math

from pnde.errors import GridError
from pnde.grids.psse.record import Record, is_number
from pnde.grids.psse.tables import Tables


def add_buses(tables: Tables) -> None:
    """The bus data; up to version 30 they hold the fixed shunts too."""
    for record in tables.raw.sections["bus"]:
        number = record.bus("I")
        if number in tables.at:
            raise GridError(
                f"bus number {number} appears twice ({tables.bus_where[tables.at[number]]} and "
                f"{record.where}); number every bus differently"
            )
        if not record.text("IDE"):
            raise GridError(
                f"bus {number} ({record.where}) has no type; make IDE 1 (load), 2 (generator), 3 "
                "(slack) or 4 (isolated)"
            )
        kind, name = record.whole("IDE"), record.text("NAME")
        v, angle = record.number("VM", 1.0), record.number("VA", 0.0)
        tables.add_bus(number, kind, v, angle, name, record.number("BASKV", 0.0), record.where)
        shunt = _power(record, "GL", "BL")
        tables.add_shunt(tables.at[number], shunt)


def add_loads(tables: Tables) -> None:
    """Parts of constant power, current and admittance, less the generation behind the load."""
    for record in tables.raw.sections["load"]:
        at = tables.position(record, record.bus("I"), "load")
        if record.whole("STATUS", 1) == 0:
            continue
        tables.add_demand(at, _power(record, "PL", "QL"))
        if record.whole("DGENM", 0):
            tables.add_demand(at, -_power(record, "DGENP", "DGENQ"))
        tables.current[at] += _power(record, "IP", "IQ")
        # PSS/E: Mvar at 1 p.u., negative for an inductive load, as a shunt's.
        tables.add_shunt(at, _power(record, "YP", "YQ"))


def _power(record: Record, active: str, reactive: str) -> complex:
    return complex(record.number(active, 0.0), record.number(reactive, 0.0))


def add_shunts(tables: Tables) -> None:
    """Fixed shunts, and switched ones at their initial susceptance."""
    for record in tables.raw.sections["fixed shunt"]:
        at = tables.position(record, record.bus("I"), "fixed shunt")
        if record.whole("STATUS", 1):
            tables.add_shunt(at, _power(record, "GL", "BL"))
    for record in tables.raw.sections["switched shunt"]:
        at = tables.position(record, record.bus("I"), "switched shunt")
        columns = list(record.columns)
        # Versions 29 to 31 have the share RMPCT in some releases only; the next field is a name.
        if tables.raw.version <= 31 and len(record.fields) > 5 and not is_number(record.fields[5]):
            columns.remove("RMPCT")
            record = record.named(columns)
        if record.whole("STAT", 1) == 0:
            continue
        tables.add_shunt(at, complex(0.0, record.number("BINIT", 0.0)))
        if record.whole("MODSW", 1):
            tables.note("switched shunts stay at their initial susceptance")


def add_machines(tables: Tables) -> None:
    """Generators; one that regulates another bus keeps the voltage that the file holds for its own."""
    for record in tables.raw.sections["generator"]:
        number = record.bus("I")
        at = tables.position(record, number, "generator")
        status = record.whole("STAT", 1)
        if status and tables.bus[at][1] == 1:
            tables.note("machines at buses of type 1 are ignored, as in PSS/E")
            continue
        voltage, remote = record.number("VS", 1.0), abs(record.whole("IREG", 0))
        if status and remote not in (0, number):
            tables.note(
                "machines regulate another bus; pnde keeps the stored voltage of their own bus"
            )
            voltage = tables.bus[at][7]
        power = _power(record, "PG", "QG")
        limits = record.number("QB", -9999.0), record.number("QT", 9999.0)
        control, factor = record.whole("WMOD", 0), record.number("WPF", 1.0)
        if control in (2, 3):
            if not 0 < abs(factor) <= 1:
                raise GridError(
                    f"the machine of {record.where} has the power factor WPF = {factor:g}; it must "
                    "be between -1 and 1, and not 0"
                )
            bound = power.real * math.tan(math.acos(abs(factor)))
            limits = -abs(bound), abs(bound)
            if control == 3 and status:  # a fixed power factor: it keeps no voltage
                tables.add_demand(at, -complex(power.real, math.copysign(bound, factor * bound)))
                continue
        rating = record.number("MBASE", tables.base_mva)
        tables.add_generator(record, number, power, voltage, limits, rating, status)
