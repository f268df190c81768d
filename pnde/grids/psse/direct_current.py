"""DC lines, FACTS devices and what else of PSS/E raw data takes power: as injections, or refused.

The converters of a two-terminal line follow the equations of the line-commutated bridge (Kundur,
Power System Stability and Control, 1994, section 10.2; PSS/E's Program Application Guide, chapter
"Direct Current Transmission"): with the no-load voltage U₀ = 3√2/π · N E of N bridges at the
converter's bus voltage E, firing or extinction angle α and overlap μ,

    U = U₀ cos α − N (3 X_c/π + 2 R_c) I,   cos(α + μ) = cos α − √2 X_c I / E,
    tan φ = (2 μ + sin 2α − sin 2(α + μ)) / (cos 2α − cos 2(α + μ)).
"""

from __future__ import annotations

import math

from pnde.errors import DataError, GridError
from pnde.grids.psse.layout import columns
from pnde.grids.psse.record import Record, within_reason
from pnde.grids.psse.tables import Tables

_INJECT = "take it out of service, or replace it by loads and generators at its buses"


def add_dc_lines(tables: Tables) -> None:
    """Two-terminal lines: the power that their control sets, at the stored voltages and taps."""
    for line, rectifier, inverter in _groups(tables, "two-terminal DC", "converter"):
        if line.whole("MDC", 0):
            with within_reason(f"the DC line of {line.where}"):
                _add_dc_line(tables, line, rectifier, inverter)


def _add_dc_line(tables: Tables, line: Record, rectifier: Record, inverter: Record) -> None:
    mode = line.whole("MDC")
    if mode not in (1, 2):
        raise GridError(f"the DC line of {line.where} has MDC = {mode}; it must be 0, 1 or 2")
    scheduled, setting = line.number("VSCHD"), line.number("SETVL")
    r, compounding = line.number("RDC"), line.number("RCOMP", 0.0)
    if scheduled <= 0:
        raise GridError(
            f"the DC line of {line.where} has the voltage VSCHD = {scheduled:g} kV; it must be "
            "positive"
        )
    if mode == 2:
        current = setting / 1000  # A to kA
    else:  # power at the rectifier, or at the inverter where it is negative
        slope = (r if setting > 0 else 0.0) - compounding
        current = _current(abs(setting), scheduled, slope, line)
    at_inverter = scheduled - compounding * current
    for record, name, kv, sign in (
        (rectifier, "rectifier", at_inverter + r * current, 1),
        (inverter, "inverter", at_inverter, -1),
    ):
        at = tables.position(record, record.bus("IP"), name)
        reactive = _reactive(tables, record, at, kv, current)
        tables.add_demand(at, complex(sign * kv * current, reactive))
        if record.number("XCAP", 0.0):
            tables.note("converters have a commutation capacitor (XCAP), which is left out")
    tables.note(
        "two-terminal DC lines are injections of the power that their control sets; their reactive "
        "power is that at the stored voltages and taps"
    )


def _current(power: float, kv: float, slope: float, line: Record) -> float:
    """The smaller root I of (kv + slope I) I = power, kA."""
    if slope == 0:
        return power / kv
    root = kv**2 + 4 * slope * power
    if root < 0:
        raise GridError(
            f"the DC line of {line.where} cannot carry {power:g} MW at {kv:g} kV over its "
            "resistance; correct SETVL, VSCHD or RDC"
        )
    return 2 * power / (kv + math.sqrt(root))


def _reactive(tables: Tables, record: Record, at: int, kv: float, current: float) -> float:
    """What a converter draws, Mvar, at its bus's stored voltage and its stored tap."""
    bridges, tap = record.number("NB", 1.0), record.number("TAP", 1.0)
    if bridges <= 0 or tap <= 0 or record.number("EBAS") <= 0:
        raise GridError(
            f"the converter of {record.where} has NB = {bridges:g}, TAP = {tap:g} and EBAS = "
            f"{record.number('EBAS'):g}; they must be positive"
        )
    e = tables.bus[at][7] * record.number("EBAS") * record.number("TR", 1.0) / tap
    x, resistance = record.number("XC", 0.0), record.number("RC", 0.0)
    no_load = 3 * math.sqrt(2) / math.pi * bridges * e
    drop = bridges * (3 / math.pi * x + 2 * resistance) * current
    cosine = (kv + drop) / no_load if no_load > 0 else math.inf
    # With a stored tap that does not fit, the angle would be below its least value.
    cosine = min(cosine, math.cos(math.radians(record.number("ANMN", 0.0))))
    angle = math.acos(max(-1.0, cosine))
    end = math.acos(max(-1.0, min(1.0, cosine - math.sqrt(2) * x * current / e)))
    overlap = end - angle
    if overlap < 1e-9:
        tangent = math.tan(angle)
    else:
        tangent = (2 * overlap + math.sin(2 * angle) - math.sin(2 * end)) / (
            math.cos(2 * angle) - math.cos(2 * end)
        )
    return kv * current * abs(tangent)


def add_vsc_lines(tables: Tables) -> None:
    """Lines between voltage-source converters: one sets its power, the other the DC voltage."""
    for line, *pair in _groups(tables, "VSC DC", "VSC"):
        if line.whole("MDC", 1) == 0:
            continue
        kinds = [record.whole("TYPE", 0) for record in pair]
        if 0 in kinds:
            continue
        if sorted(kinds) != [1, 2]:
            raise GridError(
                f"the VSC DC line of {line.where} has converters of type {kinds[0]} and {kinds[1]}; "
                "one must set the DC voltage (1), the other the power (2)"
            )
        by_voltage, by_power = (pair[kinds.index(kind)] for kind in (1, 2))
        power, kv = by_power.number("DCSET"), by_voltage.number("DCSET")
        if kv <= 0:
            raise GridError(
                f"the converter of {by_voltage.where} has the DC voltage {kv:g} kV; it must be "
                "positive"
            )
        with within_reason(f"the VSC DC line of {line.where}"):
            other = _other_end(line, by_power, by_voltage, power, kv)
            for record, injected in ((by_power, power), (by_voltage, other)):
                _add_converter(tables, record, injected)
        tables.note("VSC DC lines are injections at their converters")


def _other_end(
    line: Record, by_power: Record, by_voltage: Record, power: float, kv: float
) -> float:
    """What the converter that keeps the DC voltage injects, MW: the balance of the line."""
    r, current = line.number("RDC", 0.0), 0.0
    for _ in range(50):  # the losses depend on the current, by little
        taken = power + _loss(by_power, current)  # from the DC side, at the power's end
        before, current = current, _current(taken, kv, -r, line) if taken else 0.0
        if abs(current - before) < 1e-12:
            break
    return -(kv * current) - _loss(by_voltage, current)


def _loss(record: Record, current: float) -> float:
    """Losses of a converter, MW; ALOSS and MINLOSS in kW, BLOSS in kW/A."""
    linear = record.number("ALOSS", 0.0) + record.number("BLOSS", 0.0) * abs(current) * 1000
    return max(linear, record.number("MINLOSS", 0.0)) / 1000


def _add_converter(tables: Tables, record: Record, power: float) -> None:
    number = record.bus("IBUS")
    at = tables.position(record, number, "converter")
    setting = record.number("ACSET", 1.0)
    if record.whole("MODE", 1) == 1:
        limits = record.number("MINQ", -9999.0), record.number("MAXQ", 9999.0)
        if abs(record.whole("REMOT", 0)) not in (0, number):
            tables.note(
                "converters regulate another bus; pnde keeps the stored voltage of their own bus"
            )
            setting = tables.bus[at][7]
        tables.keep_voltage(record, number, complex(power, 0.0), setting, limits)
        return
    if not 0 < abs(setting) <= 1:
        raise GridError(
            f"the converter of {record.where} has the power factor ACSET = {setting:g}; it must be "
            "between -1 and 1, and not 0"
        )
    reactive = power * math.copysign(math.tan(math.acos(abs(setting))), setting)
    tables.add_demand(at, -complex(power, reactive))


def add_facts(tables: Tables) -> None:
    """FACTS devices without a series element: sources of reactive power that keep a voltage."""
    for record in tables.raw.sections["FACTS"]:
        if record.whole("MODE", 1) == 0:
            continue
        number = record.bus("I")
        if record.whole("J", 0):
            raise GridError(
                f"the FACTS device of {record.where} has a series element (J), which pnde does not "
                f"model; {_INJECT}"
            )
        at = tables.position(record, number, "FACTS device")
        if tables.is_isolated(at):
            continue
        voltage, most = record.number("VSET", 1.0), record.number("SHMX", 9999.0)
        if abs(record.whole("REMOT", 0)) not in (0, number):
            tables.note(
                "FACTS devices regulate another bus; pnde keeps the stored voltage of their own bus"
            )
            voltage = tables.bus[at][7]
        tables.keep_voltage(record, number, 0j, voltage, (-most, most))
        tables.note(
            "FACTS devices are sources of reactive power that keep the voltage of their bus"
        )


def refuse_others(tables: Tables) -> None:
    """Refuse, by name, what takes power in service and is not modelled."""
    sections = tables.raw.sections
    records = sections["multi-terminal DC"]
    k = 0
    while k < len(records):
        head = records[k]
        if head.whole("MDC", 0):
            raise GridError(
                f"the multi-terminal DC line of {head.where} is in service, which pnde does not "
                f"model; {_INJECT}"
            )
        k += 1 + sum(abs(head.whole(name, 0)) for name in ("NCONV", "NDCBS", "NDCLN"))
    for record in sections["induction machine"]:
        at = tables.position(record, record.bus("I"), "induction machine")
        if record.whole("STAT", 1) and not tables.is_isolated(at):
            raise GridError(
                f"the induction machine of {record.where} is in service, which pnde does not "
                f"model; {_INJECT}"
            )
    if sections["GNE"]:
        raise GridError(
            f"the generic network element (GNE) of {sections['GNE'][0].where} is a model of its "
            f"own, which pnde does not know; {_INJECT}"
        )


def _groups(tables: Tables, section: str, converter: str) -> list[tuple[Record, Record, Record]]:
    """The lines of a section in threes: the DC line and its two converters."""
    records = tables.raw.sections[section]
    names = columns(converter, tables.raw.version)
    if len(records) % 3:
        raise DataError(
            f"{records[len(records) // 3 * 3].where}: the DC line that begins here has "
            f"{len(records) % 3} of its 3 lines; complete it"
        )
    return [
        (records[k], records[k + 1].named(names), records[k + 2].named(names))
        for k in range(0, len(records), 3)
    ]
