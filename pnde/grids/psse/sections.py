"""A PSS/E raw file cut into its sections."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from pnde.errors import DataError, shown
from pnde.grids.psse.layout import VERSIONS, columns, named_section, sections
from pnde.grids.psse.record import Record, fields, is_number

log = logging.getLogger(__name__)

#: PSS/E's threshold of zero impedance (THRSHZ) where the file names none, p.u.
THRESHOLD = 1e-4

_NAMED_VERSION = re.compile(r"PSS\s*(?:/|\(\w+\)|®)?\s*E?\s*-?\s*(\d\d)\b", re.IGNORECASE)
_SYSTEM_WIDE = ("GENERAL", "GAUSS", "NEWTON", "ADJUST", "TYSL", "SOLVER", "RATING")


@dataclass(frozen=True)
class RawFile:
    """The lines of a raw file.

    **Attributes:**

    - `file`: its name.
    - `version`: 29 to 35.
    - `base_mva`: SBASE, MVA.
    - `threshold`: reactance up to which a branch joins its buses, p.u. (THRSHZ).
    - `sections`: the lines of each, their fields named.
    """

    file: str
    version: int
    base_mva: float
    threshold: float
    sections: dict[str, list[Record]]


def cut(text: str, file: str) -> RawFile:
    """The sections of a raw file.

    The version stands in the header (REV), or in its comment, or it follows from the sections and
    the number of a bus's fields. A section ends at a line that begins with 0; what begins then is
    said by the line, or follows from the order. Lines that begin with ``@!`` are comments.

    **Raises:** [`pnde.errors.DataError`][] where it is no raw file of these versions, changes
    another case, or is cut short.
    """
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if not line.lstrip().startswith("@!")
    ]
    while lines and not lines[0][1].strip():
        del lines[0]
    number, header = lines[0] if lines else (1, "")
    head = Record(file, number, fields(header), ("IC", "SBASE", "REV"))
    if len(head.fields) < 2 or not all(is_number(x) for x in head.fields[:2]):
        raise DataError(
            f"{head.where}: this is not the header of PSS/E raw data (IC, SBASE, REV, …); save the "
            "case in PSS/E as raw data"
        )
    if head.number("IC", 0) != 0:
        raise DataError(
            f"{head.where}: IC is {shown(head.text('IC'))}, so the file changes another case; save "
            "the whole case (IC = 0)"
        )
    titles = 0
    while titles < 2 and titles + 1 < len(lines) and not _is_data(lines[titles + 1][1]):
        titles += 1
    if titles < 2:
        log.info("%s has %d of the two title lines", file, titles)
    lines = [(number, line) for number, line in lines[titles + 1 :] if line.strip()]
    version = _version(head, header, lines)
    threshold, lines = _system_wide(lines)
    base = head.number("SBASE", 100.0)
    if base <= 0:
        raise DataError(f"{head.where}: SBASE is {base:g} MVA; it must be positive")
    found = _sections(lines, file, version)
    return RawFile(file, version, base, threshold, found)


def _is_data(line: str) -> bool:
    """Whether a line after the header is no title: the end of a section, a setting, or a bus."""
    found = fields(line)
    if _is_end(found) or (len(found) > 1 and found[0].upper() in _SYSTEM_WIDE):
        return True
    return (
        len(found) >= 4
        and re.match(r"\s*\d", line) is not None
        and found[0].isdecimal()
        and is_number(found[2])
        and found[3] in ("1", "2", "3", "4")
        and ("'" in line or '"' in line or len(found) >= 8)
    )


def _is_end(found: list[str]) -> bool:
    """Whether these are the fields of a line that ends a section: a lone 0, by habit with a comment;
    more fields make it data."""
    return found[:1] == ["0"] and (len(found) == 1 or found[1].upper() == "END")


def _version(head: Record, line: str, lines: list[tuple[int, str]]) -> int:
    said = head.text("REV")
    if not said and (named := _NAMED_VERSION.search(line.partition("/")[2])):
        said = named.group(1)
    if not said:
        guess = _guessed(lines)
        if guess is None:
            raise DataError(
                f"{head.where}: the header names no version (REV), and none follows from the data; "
                "write it as the third field, such as 0, 100.0, 33"
            )
        log.warning("%s names no version (REV); it reads as version %d", head.file, guess)
        return guess
    if not is_number(said) or int(float(said)) not in VERSIONS:
        raise DataError(
            f"{head.file} is PSS/E raw data of version {shown(said)}; pnde reads versions "
            f"{VERSIONS[0]} to {VERSIONS[-1]}, so save the case in one of these"
        )
    return int(float(said))


def _guessed(lines: list[tuple[int, str]]) -> int | None:
    """The version that the sections and the first bus speak for."""
    text = "\n".join(line for _, line in lines).upper()
    if "SYSTEM SWITCHING DEVICE DATA" in text or "SYSTEM-WIDE DATA" in text:
        return 35 if "BEGIN SUBSTATION DATA" in text else 34
    first = next((fields(line) for _, line in lines if len(fields(line)) >= 4), [])
    shunts = "FIXED SHUNT DATA" in text
    if len(first) in (10, 11) and not shunts:
        return 30
    if len(first) >= 13 or "INDUCTION MACHINE DATA" in text:
        return 33
    return 32 if shunts else None


def _system_wide(lines: list[tuple[int, str]]) -> tuple[float, list[tuple[int, str]]]:
    """The threshold of zero impedance, and the lines after the settings of versions 34 and 35."""
    threshold, at = THRESHOLD, 0
    for _, line in lines:
        found = fields(line)
        ends = _is_end(found) and re.search(r"SYSTEM-?\s*WIDE", line, re.IGNORECASE)
        if not ends and found[:1] and found[0].upper() not in _SYSTEM_WIDE:
            break
        at += 1
        said = re.search(r"THRSHZ\s*=\s*([0-9.eEdD+-]+)", line, re.IGNORECASE)
        if said and is_number(said.group(1)):
            threshold = float(re.sub("[dD]", "e", said.group(1)))
        if ends:
            break
    return threshold, lines[at:]


def _sections(lines: list[tuple[int, str]], file: str, version: int) -> dict[str, list[Record]]:
    order = sections(version)
    found: dict[str, list[Record]] = {name: [] for name in sections(35)}
    current, names = "bus", _names("bus", version)
    for number, line in lines:
        parts = fields(line)
        if parts[:1] == ["Q"]:
            break
        if _is_end(parts):
            following = named_section(line)
            if following is None:
                at = order.index(current) + 1 if current in order else len(order)
                if at >= len(order):
                    break
                following = order[at]
            current, names = following, _names(following, version)
        elif parts:
            found[current].append(Record(file, number, parts, names))
    if current in order[: order.index("transformer")]:
        raise DataError(f"{file} ends in its {current} data; the file is cut short")
    return found


def _names(section: str, version: int) -> tuple[str, ...]:
    try:
        return columns(section, version)
    except KeyError:  # of a section that has no bearing
        return ()
