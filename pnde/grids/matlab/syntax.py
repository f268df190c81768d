"""From tokens to statements: the grammar of MATLAB as far as case files use it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pnde.errors import DataError
from pnde.grids.matlab.expressions import KEYWORDS, LOOPS, Expressions, Node
from pnde.grids.matlab.tokens import Token


@dataclass(frozen=True)
class Statement:
    """A statement.

    **Attributes:**

    - `kind`: "assign", "assign several", "expression", "command" or "if".
    - `line`: where it begins.
    - `targets`: what is assigned to.
    - `value`: the expression; for a command its words.
    - `branches`: of an "if": condition (None for else) and statements.
    """

    kind: str
    line: int
    targets: tuple[Node, ...] = ()
    value: Any = None
    branches: tuple[tuple[Node | None, tuple[Statement, ...]], ...] = ()


@dataclass
class Script:
    """What a file holds: its statements, and the names of what its function returns, if it is one."""

    statements: list[Statement] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def parse(tokens: list[Token], file: str) -> Script:
    """The statements of a file; functions after the first are left out, since nothing calls them.

    **Raises:** [`pnde.errors.DataError`][] naming the line, for what is no MATLAB, and for loops.
    """
    return _Parser(tokens, file).script()


class _Parser(Expressions):
    def script(self) -> Script:
        script = Script()
        self.skip_separators()
        in_function = self.is_word("function")
        if in_function:
            script.outputs = self.header()
        while self.token.kind != "end":
            if self.is_word("function"):
                break
            if in_function and self.is_word("end", "endfunction"):
                self.take()
                break
            if self.is_word("return"):
                break
            script.statements.append(self.statement())
            self.skip_separators()
        return script

    def header(self) -> list[str]:
        """``function y = f(x)``, ``function [y, z] = f``, ``function f``; returns the outputs."""
        self.take()
        names: list[str] = []
        if self.token.kind == "matrix":  # function [] = f
            self.take()
            self.expect("=")
        elif self.is_next("["):
            self.take()
            while not self.is_next("]"):
                if self.token.kind == "name":
                    names.append(self.take().value)
                elif self.is_next(","):
                    self.take()
                else:
                    self.fail("the name of an output is missing")
            self.take()
            self.expect("=")
        elif self.token.kind == "name" and self.tokens[self.at + 1].value == "=":
            names.append(self.take().value)
            self.take()
        while self.token.kind not in ("newline", "end") and not self.is_next(";"):
            self.take()  # the function's own name and its arguments, which nobody gives
        self.skip_separators()
        return names

    def skip_separators(self) -> None:
        while self.is_next(";", ",", "\n"):
            self.take()

    def statement(self) -> Statement:
        first = self.token
        if self.is_word(*LOOPS):
            raise DataError(
                f"{self.file}, line {first.line}: {first.value!r} is code that pnde does not run; "
                "load the case in MATPOWER and save the result with savecase"
            )
        if self.is_word("if"):
            return self.condition()
        if self.is_word(*KEYWORDS):
            self.fail("a statement is missing")
        if self.is_command():
            words = []
            while self.token.kind != "end" and not self.is_next(";", ",", "\n"):
                token = self.take()
                words.append("[" if token.kind == "matrix" else str(token.value))
            return Statement("command", first.line, value=tuple(words))
        several = self.several()
        if several is not None:
            value = self.expression()
            self.finish()
            return Statement("assign several", first.line, several, value)
        value = self.expression()
        if self.is_next("="):
            self.take()
            target, value = value, self.expression()
            if self.target_of(target) is None:
                self.fail("what stands left of '=' cannot be assigned to", first)
            self.finish()
            return Statement("assign", first.line, (target,), value)
        self.finish()
        return Statement("expression", first.line, value=value)

    def finish(self) -> None:
        if self.token.kind != "end" and not self.is_next(";", ",", "\n"):
            self.fail("an operator or the end of the statement is missing")

    def is_command(self) -> bool:
        """``clear all``: a word, a space, and what is neither an operator nor an assignment."""
        if self.token.kind != "name":
            return False
        after = self.tokens[self.at + 1]
        return after.spaced and after.kind in ("name", "number")

    def several(self) -> tuple[Node, ...] | None:
        """The targets of ``[a, b] = …``, or None where the statement does not begin so."""
        if not self.is_next("["):
            return None
        depth = 0
        for k in range(self.at, len(self.tokens)):
            token = self.tokens[k]
            if token.kind == "operator":
                depth += (token.value == "[") - (token.value == "]")
                if depth == 0:
                    follows = self.tokens[k + 1]
                    if not (follows.kind == "operator" and follows.value == "="):
                        return None
                    break
        targets: list[Node] = []
        self.take()
        while not self.is_next("]"):
            if self.is_next(",") or self.is_next("~"):
                self.take()
                continue
            self.separating.append(True)
            target = self.postfix()
            self.separating.pop()
            if self.target_of(target) is None:
                self.fail("the name of a variable is missing")
            targets.append(target)
        self.take()
        self.expect("=")
        return tuple(targets)

    def target_of(self, node: Node) -> str | None:
        """The variable that an assignment to this expression changes; None where it is no target."""
        while node.kind in ("field", "index", "contents"):
            node = node.parts[0]
        return node.value if node.kind == "name" else None

    def condition(self) -> Statement:
        line = self.take().line
        self.deeper()
        branches: list[tuple[Node | None, tuple[Statement, ...]]] = []
        test: Node | None = self.expression()
        while True:
            body = []
            self.skip_separators()
            while not self.is_word("end", "endif", "else", "elseif"):
                if self.token.kind == "end":
                    raise DataError(
                        f"{self.file}, line {line}: the if that begins here has no end; the file "
                        "may be cut short"
                    )
                body.append(self.statement())
                self.skip_separators()
            branches.append((test, tuple(body)))
            word = self.take().value
            if word in ("end", "endif"):
                self.depth -= 1
                return Statement("if", line, branches=tuple(branches))
            test = self.expression() if word == "elseif" else None
