"""MATLAB's expressions: from tokens to trees, the loosest operator first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from pnde.errors import DataError, shown
from pnde.grids.matlab.tokens import Token

#: Deepest nesting of brackets and blocks that is read.
DEEPEST = 40
LOOPS = ("for", "parfor", "while", "switch", "try", "do", "until", "spmd", "classdef", "global")
KEYWORDS = ("end", "if", "else", "elseif", "function", "return", "endif", "endfunction", *LOOPS)

_STRENGTH = {
    "||": 1, "&&": 2, "|": 3, "&": 4,
    "<": 5, "<=": 5, ">": 5, ">=": 5, "==": 5, "~=": 5,
    ":": 6, "+": 7, "-": 7,
    "*": 8, "/": 8, "\\": 8, ".*": 8, "./": 8, ".\\": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Node:
    """An expression: what it is, its parts, and the line it stands in.

    | kind | value | parts |
    | --- | --- | --- |
    | number, string, rows | the value itself | |
    | handle | | |
    | matrix, cells | lines of the rows | rows, each a tuple of expressions |
    | name, field | the name | for a field: what holds it |
    | index, contents | | what is indexed, then the indices |
    | unary, postfix, binary | the operator | the operands |
    | range | | begin, step or None, end |
    | colon, last | | |
    """

    kind: str
    line: int
    value: Any = None
    parts: tuple[Any, ...] = ()


class Expressions:
    """A walk along the tokens that takes an expression at a time."""

    def __init__(self, tokens: list[Token], file: str):
        self.tokens, self.file, self.at, self.depth = tokens, file, 0, 0
        # Whether white space separates: between [] and {}, but not between the () inside them.
        self.separating = [False]

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def is_next(self, *values: str) -> bool:
        token = self.token
        return token.kind in ("operator", "newline") and token.value in values

    def is_word(self, *words: str) -> bool:
        return self.token.kind == "name" and self.token.value in words

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, value: str) -> None:
        if not self.is_next(value):
            self.fail(f"{value!r} is missing")
        self.take()

    def fail(self, what: str, token: Token | None = None) -> NoReturn:
        token = token or self.token
        found = {"newline": "the end of the line", "end": "the end of the file"}.get(token.kind)
        where = found or f"{shown(token.value if token.kind != 'matrix' else '[')}"
        raise DataError(f"{self.file}, line {token.line}: {what} before {where}; correct the line")

    def expression(self) -> Node:
        self.deeper()
        node = self.operation(1)
        self.depth -= 1
        return node

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("brackets or conditions are nested too deep")

    def operation(self, least: int) -> Node:
        """Operands joined by operators at least this strong."""
        node = self.unary()
        while True:
            token = self.token
            strength = _STRENGTH.get(token.value, 0) if token.kind == "operator" else 0
            if strength < least or strength == 0 or self.begins_element():
                return node
            if token.value == ":":
                node = self.range_from(node)
            else:
                self.take()
                right = self.operation(strength + 1)
                node = Node("binary", token.line, token.value, (node, right))

    def range_from(self, begin: Node) -> Node:
        parts = [begin]
        while self.is_next(":") and len(parts) < 3:
            self.take()
            parts.append(self.operation(_STRENGTH[":"] + 1))
        step = parts[1] if len(parts) == 3 else None
        return Node("range", begin.line, parts=(begin, step, parts[-1]))

    def begins_element(self) -> bool:
        """Between brackets ``[a -b]`` has two elements, ``[a - b]`` and ``[a-b]`` have one."""
        after = self.tokens[self.at + 1]
        return (
            self.separating[-1]
            and self.token.value in ("+", "-")
            and self.token.spaced
            and not after.spaced
        )

    def unary(self) -> Node:
        signs = []
        while self.is_next("-", "+", "~", "!"):
            signs.append(self.take())
        if len(signs) > DEEPEST:
            self.fail("there are too many signs")
        node = self.power()
        for sign in signs[::-1]:
            node = Node("unary", sign.line, "~" if sign.value == "!" else sign.value, (node,))
        return node

    def power(self) -> Node:
        node = self.postfix()
        while self.is_next("^", ".^"):
            operator = self.take()
            signs = []
            while self.is_next("-", "+", "~"):
                signs.append(self.take())
            exponent = self.postfix()
            for sign in signs[::-1]:
                exponent = Node("unary", sign.line, sign.value, (exponent,))
            node = Node("binary", operator.line, operator.value, (node, exponent))
            while self.is_next("'", ".'"):
                node = Node("postfix", self.token.line, self.take().value, (node,))
        return node

    def postfix(self) -> Node:
        node = self.primary()
        while True:
            token = self.token
            if self.separating[-1] and token.spaced:
                return node
            if self.is_next("(", "{"):
                opening = self.take().value
                kind, closing = ("index", ")") if opening == "(" else ("contents", "}")
                node = Node(kind, token.line, parts=(node, *self.arguments(closing)))
            elif self.is_next(".") and self.tokens[self.at + 1].kind == "name":
                self.take()
                node = Node("field", token.line, self.take().value, (node,))
            elif self.is_next("'", ".'"):
                node = Node("postfix", token.line, self.take().value, (node,))
            else:
                return node

    def arguments(self, closing: str) -> list[Node]:
        self.separating.append(False)
        found: list[Node] = []
        self.skip_lines()
        while not self.is_next(closing):
            if self.is_next(":") and self.tokens[self.at + 1].value in (",", closing):
                found.append(Node("colon", self.take().line))
            else:
                found.append(self.expression())
            self.skip_lines()
            if self.is_next(","):
                self.take()
                self.skip_lines()
            elif not self.is_next(closing):
                self.fail(f"',' or {closing!r} is missing")
        self.take()
        self.separating.pop()
        return found

    def skip_lines(self) -> None:
        while self.is_next("\n"):
            self.take()

    def primary(self) -> Node:
        token = self.token
        if token.kind == "matrix":
            return Node("rows", token.line, self.take().value)
        if token.kind in ("number", "string"):
            return Node(token.kind, token.line, self.take().value)
        if self.is_word("end"):
            self.take()
            return Node("last", token.line)
        if token.kind == "name" and not self.is_word(*KEYWORDS):
            return Node("name", token.line, self.take().value)
        if self.is_next("("):
            self.take()
            self.separating.append(False)
            node = self.expression()
            self.separating.pop()
            self.expect(")")
            return node
        if self.is_next("[", "{"):
            opening = self.take().value
            return self.brackets(
                token.line, *(("matrix", "]") if opening == "[" else ("cells", "}"))
            )
        if self.is_next("@"):
            return self.handle()
        self.fail("a value is missing")

    def handle(self) -> Node:
        """``@name`` or ``@(x) expression``: a value that nothing here can call."""
        line = self.take().line
        if self.token.kind == "name":
            self.take()
        elif self.is_next("("):
            self.take()
            self.arguments(")")
            self.expression()
        else:
            self.fail("the name of a function is missing")
        return Node("handle", line)

    def brackets(self, line: int, kind: str, closing: str) -> Node:
        self.separating.append(True)
        rows: list[tuple[Node, ...]] = []
        lines: list[int] = []
        row: list[Node] = []
        while True:
            if self.is_next(closing, ";", "\n"):
                if row:
                    rows.append(tuple(row))
                    lines.append(row[0].line)
                    row = []
                if self.take().value == closing:
                    break
            elif self.is_next(","):
                if not row or self.tokens[self.at + 1].value == ",":
                    self.fail("an element is missing")
                self.take()
            elif self.token.kind == "end":
                self.fail(f"{closing!r} is missing")
            else:
                row.append(self.expression())
        self.separating.pop()
        return Node(kind, line, lines, tuple(rows))
