"""A line of PSS/E raw data: its fields, by the names that the format gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pnde.errors import DataError, GridError, shown

# Largest number that is taken for the number of a bus.
_LARGEST = 10**9
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?", re.ASCII)


@dataclass
class Record:
    """One line of a section.

    **Arguments:**

    - `file`, `line`: where it stands.
    - `fields`: as text, without quotes.
    - `columns`: their names; see [`pnde.grids.psse.layout`][].
    """

    file: str
    line: int
    fields: list[str]
    columns: Sequence[str] = field(default=())

    @property
    def where(self) -> str:
        """``case.raw, line 42``"""
        return f"{self.file}, line {self.line}"

    def named(self, columns: Sequence[str]) -> Record:
        """The same line with names for its fields."""
        return Record(self.file, self.line, self.fields, columns)

    def text(self, name: str) -> str:
        """A field as text; empty where the line ends before it or the format has none."""
        at = self.columns.index(name) if name in self.columns else len(self.fields)
        return self.fields[at] if at < len(self.fields) else ""

    def number(self, name: str, default: float | None = None) -> float:
        """A field as a finite number; an empty one has its default value.

        **Raises:** [`pnde.errors.DataError`][] naming line and field.
        """
        text = self.text(name)
        at = self.columns.index(name) + 1 if name in self.columns else 0
        if not text:
            if default is None:
                raise DataError(f"{self.where}: field {at} ({name}) is empty; fill it in")
            return default
        value = float(re.sub("[dD]", "E", text)) if _NUMBER.fullmatch(text) else float("nan")
        if not abs(value) < 1e300:
            raise DataError(f"{self.where}: field {at} ({name}) is {shown(text)}; write a number")
        return value

    def whole(self, name: str, default: int | None = None) -> int:
        """A field as a whole number."""
        value = self.number(name, default)
        if value != round(value) or abs(value) > _LARGEST:
            at = self.columns.index(name) + 1
            raise DataError(
                f"{self.where}: field {at} ({name}) is {value:g}; it must be a whole number"
            )
        return int(value)

    def bus(self, name: str) -> int:
        """The number of a bus; a minus sign marks the metered end and is left out."""
        number = abs(self.whole(name))
        if number == 0:
            raise GridError(f"{self.where}: the bus {name} has the number 0; number buses from 1")
        return number


@contextmanager
def within_reason(what: str) -> Iterator[None]:
    """Turn arithmetic that leaves the numbers (1e300 squared) into a sentence about the element."""
    try:
        yield
    except (ArithmeticError, ValueError):
        raise GridError(
            f"{what} has a value that is too large or too small for any grid; correct it"
        ) from None


def fields(line: str) -> list[str]:
    """Fields of a free-format line: separated by commas or blanks, quoted with ' or ", ended by /."""
    found: list[str] = []
    text, quote, used, after_comma = "", "", False, True
    for letter in line:
        if quote:
            if letter == quote:
                quote = ""
            else:
                text += letter
        elif letter in "'\"":
            quote, used = letter, True
        elif letter == "/":
            break
        elif letter == "," or letter.isspace():
            if used:
                found.append(text.strip())
                after_comma = letter == ","
            elif letter == ",":
                if after_comma:
                    found.append("")  # two commas: the field keeps its default
                after_comma = True
            text, used = "", False
        else:
            text += letter
            used = True
    if used:
        found.append(text.strip())
    return found


def is_number(text: str) -> bool:
    """Whether a field reads as a number."""
    return _NUMBER.fullmatch(text) is not None
