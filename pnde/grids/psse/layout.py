"""What stands where in PSS/E raw data of the versions 29 to 35.

Sections and fields as in the Program Operation Manual of PSS/E, chapter "Power Flow Raw Data File
Contents", and as MATPOWER's ``psse2mpc`` (versions up to 33) and the headings of files of the
versions 34 and 35 have them.
"""

from __future__ import annotations

import re

VERSIONS = range(29, 36)

_FIRST = ("bus", "load", "generator", "branch", "transformer", "area", "two-terminal DC", "VSC DC")
_REST = ("multi-terminal DC", "multi-section line", "zone", "inter-area transfer", "owner", "FACTS")

# Other names of sections in the lines that end them; the longest that fits is meant.
_SYNONYMS = {
    "BUS": "bus", "LOAD": "load", "FIXED SHUNT": "fixed shunt", "FIXED BUS SHUNT": "fixed shunt",
    "BUS FIXED SHUNT": "fixed shunt", "GENERATOR": "generator", "BRANCH": "branch",
    "NON TRANSFORMER BRANCH": "branch", "NONTRANSFORMER BRANCH": "branch", "AC LINE": "branch",
    "SYSTEM SWITCHING DEVICE": "switching device", "SWITCHING DEVICE": "switching device",
    "TRANSFORMER": "transformer", "AREA": "area", "AREA INTERCHANGE": "area",
    "TWO TERMINAL DC": "two-terminal DC", "TWO TERMINAL DC LINE": "two-terminal DC",
    "TWO TERMINAL DC TRANSMISSION LINE": "two-terminal DC", "VSC DC LINE": "VSC DC",
    "VSC DC": "VSC DC", "VOLTAGE SOURCE CONVERTER": "VSC DC",
    "VOLTAGE SOURCE CONVERTER DC LINE": "VSC DC", "SWITCHED SHUNT": "switched shunt",
    "IMPEDANCE CORRECTION": "impedance correction", "IMPEDANCE CORRECTION TABLE":
    "impedance correction", "TRANSFORMER IMPEDANCE CORRECTION": "impedance correction",
    "TRANSFORMER IMPEDANCE CORRECTION TABLE": "impedance correction",
    "MULTI TERMINAL DC": "multi-terminal DC", "MULTI TERMINAL DC LINE": "multi-terminal DC",
    "MULTI SECTION LINE": "multi-section line", "MULTI SECTION LINE GROUP": "multi-section line",
    "MULTI SECTION LINE GROUPING": "multi-section line", "ZONE": "zone",
    "INTER AREA TRANSFER": "inter-area transfer", "INTERAREA TRANSFER": "inter-area transfer",
    "OWNER": "owner", "FACTS": "FACTS", "FACTS DEVICE": "FACTS", "FACTS CONTROL DEVICE": "FACTS",
    "GNE": "GNE", "GNE DEVICE": "GNE", "GENERIC NETWORK ELEMENT": "GNE",
    "INDUCTION MACHINE": "induction machine", "SUBSTATION": "substation",
}  # fmt: skip
_BEGIN = re.compile(r"\bBEGIN\s+(.*?)\s*(?:DATA\b|$)", re.IGNORECASE)


def sections(version: int) -> tuple[str, ...]:
    """The order of the sections, each of which ends with a line that begins with 0."""
    if version <= 30:
        return (*_FIRST, "switched shunt", "impedance correction", *_REST)
    last = ("switched shunt", "GNE", "induction machine", "substation")
    order = ["bus", "load", "fixed shunt", *_FIRST[2:], "impedance correction", *_REST, *last]
    if version >= 34:
        order.insert(order.index("transformer"), "switching device")
    return tuple(order)


def named_section(line: str) -> str | None:
    """The section that a line says to begin: ``0 / END OF BUS DATA, BEGIN LOAD DATA``."""
    found = _BEGIN.search(line)
    if found is None:
        return None
    return _SYNONYMS.get(" ".join(re.split(r"[\s\-_]+", found.group(1).upper())).strip())


_RATES = tuple(f"RATE{k}" for k in range(1, 13))
_OWNERS = ("O1", "F1", "O2", "F2", "O3", "F3", "O4", "F4")


def columns(section: str, version: int) -> tuple[str, ...]:
    """Names of the fields of a section's lines."""
    return tuple(_COLUMNS[section](version).split())


def _bus(version: int) -> str:
    if version <= 30:
        return "I NAME BASKV IDE GL BL AREA ZONE VM VA OWNER"
    return "I NAME BASKV IDE AREA ZONE OWNER VM VA NVHI NVLO EVHI EVLO"


def _generator(version: int) -> str:
    new = version >= 35
    return (
        f"I ID PG QG QT QB VS IREG {'NREG' if new else ''} MBASE ZR ZX RT XT GTAP STAT RMPCT PT PB "
        f"{'BASLOD' if new else ''} {' '.join(_OWNERS)} WMOD WPF"
    )


def _branch(version: int) -> str:
    if version >= 34:
        return f"I J CKT R X B NAME {' '.join(_RATES)} GI BI GJ BJ ST MET LEN"
    met = "" if version <= 30 else "MET"
    return f"I J CKT R X B RATEA RATEB RATEC GI BI GJ BJ ST {met} LEN"


def _winding(version: int) -> str:
    rates = " ".join(_RATES) if version >= 34 else "RATA RATB RATC"
    node = "NODE" if version >= 35 else ""
    return f"WINDV NOMV ANG {rates} COD CONT {node} RMA RMI VMA VMI NTP TAB CR CX CNXA"


def _switched_shunt(version: int) -> str:
    if version <= 31:
        return "I MODSW VSWHI VSWLO SWREM RMPCT RMIDNT BINIT"
    if version <= 34:
        return "I MODSW ADJM STAT VSWHI VSWLO SWREM RMPCT RMIDNT BINIT"
    return "I ID MODSW ADJM STAT VSWHI VSWLO SWREM NREG RMPCT RMIDNT BINIT"


_COLUMNS = {
    "bus": _bus,
    "load": lambda _: (
        "I ID STATUS AREA ZONE PL QL IP IQ YP YQ OWNER SCALE INTRPT DGENP DGENQ DGENM"
    ),
    "fixed shunt": lambda _: "I ID STATUS GL BL",
    "generator": _generator,
    "branch": _branch,
    "switching device": lambda _: f"I J CKT X {' '.join(_RATES)} STAT NSTAT MET STYPE NAME",
    "transformer": lambda _: "I J K CKT CW CZ CM MAG1 MAG2 NMETR NAME STAT",
    "impedances": lambda _: "R1 X1 SBASE1 R2 X2 SBASE2 R3 X3 SBASE3 VMSTAR ANSTAR",
    "winding": _winding,
    "switched shunt": _switched_shunt,
    "two-terminal DC": lambda _: "NAME MDC RDC SETVL VSCHD VCMOD RCOMP",
    "converter": lambda version: (
        "IP NB ANMX ANMN RC XC EBAS TR TAP TMX TMN STP IC "
        f"{'ND' if version >= 35 else ''} IF IT ID XCAP"
    ),
    "VSC DC": lambda _: "NAME MDC RDC",
    "VSC": lambda _: "IBUS TYPE MODE DCSET ACSET ALOSS BLOSS MINLOSS SMAX IMAX PWF MAXQ MINQ REMOT",
    "FACTS": lambda _: (
        "NAME I J MODE PDES QDES VSET SHMX TRMX VTMN VTMX VSMX IMX LINX RMPCT OWNER SET1 SET2 VSREF "
        "REMOT"
    ),
    "multi-terminal DC": lambda _: "NAME NCONV NDCBS NDCLN MDC",
    "induction machine": lambda _: "I ID STAT",
}
