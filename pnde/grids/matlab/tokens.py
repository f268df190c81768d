"""From MATLAB text to tokens: numbers, strings, names, operators, and whole matrices of numbers."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from pnde.errors import DataError, shown


class Token(NamedTuple):
    """One token.

    **Attributes:**

    - `kind`: "number", "string", "name", "operator", "newline", "matrix" or "end" (of the file).
    - `value`: the number, the text, or for "matrix" its `Rows`.
    - `line`: where it stands, from 1 on.
    - `spaced`: whether white space stands before it; between brackets that separates elements.
    """

    kind: str
    value: Any
    line: int
    spaced: bool


class Rows(NamedTuple):
    """A matrix written as plain numbers, and the line of each of its rows."""

    values: np.ndarray
    lines: list[int]


# A digit's point is not that of an operator such as .* or of a continuation.
_NUMBER = re.compile(r"(?:\d+(?:\.(?![*/\\^'.])\d*)?|\.\d+)(?:[eEdD][+-]?\d+)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_OPERATOR = re.compile(
    r"\.\*|\./|\.\\|\.\^|\.'|==|~=|!=|<=|>=|&&|\|\||[-+*/\\^=<>&|~!:;,.()\[\]{}@]"
)
_SINGLE = re.compile(r"'((?:[^'\r\n]|'')*)'")
_DOUBLE = re.compile(r'"((?:[^"\r\n]|"")*)"')
_COMMENT = re.compile(r"[%#][^\n]*")
_CONTINUED = re.compile(r"\.\.\.[^\n]*(?:\n|\Z)")
_BLOCK = re.compile(r"[ \t]*[%#]\{[ \t\r]*(?:\n|\Z)")
_BLOCK_EDGE = re.compile(r"^[ \t]*[%#]([{}])[ \t\r]*$", re.MULTILINE)
# The inside of a matrix of plain numbers with comments; possessive, or it would take forever to
# find out that a long one is not plain.
_PLAIN = re.compile(r"\[((?:[\d \t\n.,;eE+-]++|Inf\b|NaN\b|inf\b|nan\b|%[^\n]*+)*+)\]", re.ASCII)
# A sign between spaces would be an operation, a continuation or a doubled comma asks for a look.
_NOT_PLAIN = re.compile(r"\.\.\.|[+-][ \t]|,[ \t]*,|[^ \t\n,;eE\[+-][+-]|[+-]{2}")


def tokenize(text: str, file: str) -> list[Token]:
    """The tokens of a MATLAB file, without comments; the last one is of the kind "end".

    Its lines end with "\\n" alone.

    **Raises:** [`pnde.errors.DataError`][] naming the line of a character that MATLAB does not know,
    a string without an end, or a bracket that is never closed.
    """
    return _Tokens(text, file).read()


class _Tokens:
    def __init__(self, text: str, file: str):
        self.text, self.file = text, file
        self.at, self.line = 0, 1
        self.found: list[Token] = []
        self.open: list[tuple[str, int]] = []

    def read(self) -> list[Token]:
        text, size = self.text, len(self.text)
        spaced, new_line = False, True
        while self.at < size:
            letter = text[self.at]
            if new_line and (block := _BLOCK.match(text, self.at)):
                self._skip_block(block.end())
                continue
            new_line = False
            if letter in " \t\f\v":
                self.at += 1
                spaced = True
                continue
            if letter == "\n":
                self._add("newline", "\n", 1, spaced)
                self.line += 1
                spaced, new_line = False, True
                continue
            if letter in "%#":
                self.at = _COMMENT.match(text, self.at).end()  # type: ignore[union-attr]
                continue
            if letter == "." and (found := _CONTINUED.match(text, self.at)):
                self.at = found.end()
                self.line += 1
                spaced = new_line = True
                continue
            self._token(letter, spaced)
            spaced = False
        if self.open:
            bracket, line = self.open[-1]
            closing = {"[": "]", "{": "}", "(": ")"}[bracket]
            raise DataError(
                f"{self.file}, line {line}: the bracket {bracket!r} opened here is never closed; "
                f"the file may be cut short, or add {closing!r}"
            )
        self._add("newline", "\n", 0, False)
        self._add("end", "", 0, False)
        return self.found

    def _add(self, kind: str, value: Any, length: int, spaced: bool) -> None:
        self.found.append(Token(kind, value, self.line, spaced))
        self.at += length

    def _token(self, letter: str, spaced: bool) -> None:
        text, at = self.text, self.at
        if letter.isdigit() or (letter == "." and text[at + 1 : at + 2].isdigit()):
            self._number(spaced)
        elif found := _NAME.match(text, at):
            self._add("name", found.group(), len(found.group()), spaced)
        elif letter == "'" and self._transposes(spaced):
            self._add("operator", "'", 1, spaced)
        elif letter in "'\"":
            self._string(letter, spaced)
        elif letter == "[" and not self.open and (found := _PLAIN.match(text, at)):
            self._matrix(found, spaced)
        elif found := _OPERATOR.match(text, at):
            self._operator(found.group(), spaced)
        else:
            raise DataError(
                f"{self.file}, line {self.line}: {shown(letter)} is no part of MATLAB's language; "
                "save the case anew"
            )

    def _number(self, spaced: bool) -> None:
        found = _NUMBER.match(self.text, self.at)
        after = self.text[found.end() : found.end() + 1] if found else "?"
        if found is None or after.isalnum() or after == "_":
            word = re.compile(r"[\w.]*").match(self.text, self.at)
            raise DataError(
                f"{self.file}, line {self.line}: {shown(word.group() if word else after)} is not a "
                "number; write its value"
            )
        value = float(found.group().replace("d", "e").replace("D", "e"))
        self._add("number", value, len(found.group()), spaced)

    def _transposes(self, spaced: bool) -> bool:
        """Whether a quote follows a value; between brackets a space makes it begin a string."""
        if not self.found or (spaced and self.open and self.open[-1][0] in "[{"):
            return False
        before = self.found[-1]
        return before.kind in ("number", "name", "matrix", "string") or (
            before.kind == "operator" and before.value in (")", "]", "}", "'", ".'")
        )

    def _string(self, quote: str, spaced: bool) -> None:
        found = (_SINGLE if quote == "'" else _DOUBLE).match(self.text, self.at)
        if found is None:
            raise DataError(
                f"{self.file}, line {self.line}: the string that begins here has no end; add "
                f"{quote}"
            )
        value = found.group(1).replace(2 * quote, quote)
        self._add("string", value, len(found.group()), spaced)

    def _operator(self, operator: str, spaced: bool) -> None:
        if operator in "([{":
            self.open.append((operator, self.line))
        elif operator in ")]}":
            if not self.open or self.open[-1][0] != {")": "(", "]": "[", "}": "{"}[operator]:
                raise DataError(
                    f"{self.file}, line {self.line}: {operator!r} closes no bracket; remove it"
                )
            self.open.pop()
        self._add("operator", "~=" if operator == "!=" else operator, len(operator), spaced)

    def _matrix(self, found: re.Match[str], spaced: bool) -> None:
        """All of a matrix of plain numbers at once; anything else is left to the parser."""
        body = found.group(1)
        code = _COMMENT.sub("", body) if "%" in body else body
        rows: list[list[float]] = []
        lines: list[int] = []
        plain = not _NOT_PLAIN.search(code)
        for offset, line in enumerate(code.split("\n") if plain else ()):
            for part in line.split(";"):
                words = part.replace(",", " ").split()
                try:
                    row = [float(word) for word in words]
                except ValueError:
                    plain = False
                    break
                if row:
                    rows.append(row)
                    lines.append(self.line + offset)
        if not plain or len({len(row) for row in rows}) > 1:
            self._operator("[", spaced)
            return
        values = np.array(rows, float).reshape(len(rows), -1) if rows else np.zeros((0, 0))
        self._add("matrix", Rows(values, lines), len(found.group()), spaced)
        self.line += body.count("\n")

    def _skip_block(self, at: int) -> None:
        """Leave out a block comment, others inside it included."""
        begin, depth = self.line, 1
        for edge in _BLOCK_EDGE.finditer(self.text, at):
            depth += 1 if edge.group(1) == "{" else -1
            if depth == 0:
                self.line += self.text.count("\n", self.at, edge.end())
                self.at = edge.end()
                return
        raise DataError(
            f"{self.file}, line {begin}: the block comment that begins here has no end; close it "
            "with %}"
        )
