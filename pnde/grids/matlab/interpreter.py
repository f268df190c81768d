"""Assignments and arithmetic of a MATLAB file, worked out on NumPy arrays; nothing else is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from pnde.errors import DataError, brief, shown
from pnde.grids.matlab.expressions import Node
from pnde.grids.matlab.functions import CONSTANTS, FUNCTIONS, MatlabError
from pnde.grids.matlab.syntax import Script, Statement
from pnde.grids.matlab.values import (
    Cells,
    Handle,
    assigned_at,
    indexed,
    joined,
    kind_of,
    matrix,
    operated,
    range_of,
    ruled,
    without,
)

# They change what MATLAB shows, not what it computes.
_SILENT = ("clc", "close", "format", "more", "warning", "disp", "fprintf", "printf", "display")


class Interpreter:
    """The variables of a file after its statements.

    **Arguments:**

    - `text`, `file`: its content and name, for messages.
    - `constants`: functions that return named numbers: the numbers by name, by the function's name.
        ``[A, B] = f`` takes them in their order, ``f;`` by their names.

    **Attributes:**

    - `variables`: real matrices ``(rows, columns)``, strings, `Cells`, and dicts for structures.
    - `lines`: the line of each row of a matrix that was written row by row, by "mpc.bus".
    """

    def __init__(self, text: str, file: str, constants: Mapping[str, Mapping[str, float]]):
        self.source, self.file, self.constants, self.line = text.split("\n"), file, constants, 1
        self.variables: dict[str, Any] = {}
        self.lines: dict[str, list[int]] = {}
        self.sizes: list[tuple[Any, int, int]] = []  # what `end` stands for: of, position, count

    def run(self, script: Script) -> None:
        """Work out all statements.

        **Raises:** [`pnde.errors.DataError`][] naming the line of the first that is more than
        assignments and arithmetic, or whose result is no real number.
        """
        self._all(tuple(script.statements))

    def _all(self, statements: tuple[Statement, ...]) -> None:
        for statement in statements:
            self.line = statement.line
            try:
                with np.errstate(all="ignore"):
                    self._statement(statement)
            except MatlabError as error:
                line = error.line or self.line
                raise DataError(
                    f"{self.file}, line {line}: {self._code_at(line)}: {error}"
                ) from None
            except RecursionError:
                raise DataError(
                    f"{self.file}, line {statement.line}: the expression is nested too deep; save "
                    "the case in MATPOWER with savecase"
                ) from None
            except (MemoryError, ValueError, TypeError, OverflowError, IndexError) as error:
                raise DataError(
                    f"{self.file}, line {self.line}: {self._code_at(self.line)} cannot be worked "
                    f"out ({brief(error, 80)}); save the case in MATPOWER with savecase"
                ) from None

    def _code_at(self, line: int) -> str:
        return shown(
            " ".join(self.source[line - 1].split()) if line <= len(self.source) else "", 60
        )

    def _statement(self, statement: Statement) -> None:
        if statement.kind == "assign":
            (target,) = statement.targets
            self._assign(target, self._stored(statement.value), statement.value)
        elif statement.kind == "assign several":
            self._assign_several(statement)
        elif statement.kind == "if":
            for test, body in statement.branches:
                if test is None or self._holds(self.value(test)):
                    self._all(body)
                    return
        elif statement.kind == "command":
            self._command(statement.value)
        else:
            self._bare(statement.value)

    def _holds(self, value: Any) -> bool:
        array = matrix(value)
        return bool(array.size) and bool(array.all())

    def _command(self, words: tuple[str, ...]) -> None:
        if words[0] == "clear":
            for name in words[1:]:
                self.variables.pop(name, None)
            if "all" in words[1:]:
                self.variables.clear()
        elif words[0] not in _SILENT:
            self._code()

    def _bare(self, node: Node) -> None:
        """A statement that is one expression: a call for its names, or a value that is only shown."""
        called = node
        while called.kind in ("index", "contents", "field"):
            called = called.parts[0]
        name = called.value if called.kind == "name" else ""
        if name in self.variables:
            return
        if name in self.constants and node.kind == "name":
            self.variables.update({k: matrix(v) for k, v in self.constants[name].items()})
        elif name == "clear":
            self.variables.clear()
        elif name not in _SILENT:
            self.value(node)

    def _code(self) -> NoReturn:
        raise MatlabError(
            "is code that pnde does not run; load the case in MATPOWER and save the result with "
            "savecase"
        )

    def _assign_several(self, statement: Statement) -> None:
        node = statement.value
        name = node.value if node.kind == "name" else ""
        if name not in self.constants or name in self.variables:
            self._code()
        numbers = list(self.constants[name].values())
        if len(statement.targets) > len(numbers):
            raise MatlabError(f"{name} returns {len(numbers)} numbers")
        for target, number in zip(statement.targets, numbers, strict=False):
            self._assign(target, matrix(number), node)

    # Assignments

    def _stored(self, node: Node) -> Any:
        """The value of a right-hand side; its own copy, for assignments to a part change in place."""
        value = self.value(node)
        return value.copy() if isinstance(value, np.ndarray | Cells | dict) else value

    def _assign(self, target: Node, value: Any, source: Node) -> None:
        chain: list[Node] = []
        node = target
        while node.kind != "name":
            chain.append(node)
            node = node.parts[0]
        chain.reverse()
        path = ".".join([node.value, *(x.value for x in chain if x.kind == "field")])
        last = chain[-1] if chain else node
        if last.kind in ("name", "field"):
            self.lines.pop(path, None)
            if source.kind == "rows":
                self.lines[path] = list(source.value.lines)
            elif source.kind == "matrix":
                self.lines[path] = list(source.value)
        name = node.value
        self.variables[name] = self._changed(self.variables.get(name), chain, value, path)

    def _changed(self, current: Any, chain: list[Node], value: Any, path: str) -> Any:
        """`current` with the part that the chain of fields and indices names set to `value`."""
        if not chain:
            return value
        step, rest = chain[0], chain[1:]
        if step.kind == "field":
            if current is None or (isinstance(current, np.ndarray) and current.size == 0):
                current = {}
            if not isinstance(current, dict):
                raise MatlabError(f"{kind_of(current)} has no field {step.value!r}")
            held = self._changed(current.get(step.value), rest, value, path)
            return {**current, step.value: held}
        if rest:
            raise MatlabError("an array of structures is more than pnde reads")
        if current is None:
            current = Cells.empty() if step.kind == "contents" else np.zeros((0, 0))
        indices = self._indices(current, step.parts[1:])
        if step.kind == "contents":
            if not isinstance(current, Cells):
                raise MatlabError(f"{kind_of(current)} is no cell array")
            return Cells(assigned_at(current.values, indices, value))
        if isinstance(current, Cells | dict | str | Handle):
            raise MatlabError(f"{kind_of(current)} cannot be changed element by element")
        if isinstance(value, np.ndarray) and value.size == 0 and value.shape == (0, 0):
            changed = without(current, indices)
            self._keep_lines(path, indices, len(current), len(changed))
            return changed
        before = len(current)
        changed = assigned_at(current, indices, matrix(value))
        if len(changed) != before and path in self.lines:
            self.lines[path] += [step.line] * (len(changed) - before)
        return changed

    def _keep_lines(self, path: str, indices: list[Any], before: int, after: int) -> None:
        if path in self.lines and after != before and len(self.lines[path]) == before:
            left = ruled(indices[0], before)
            self.lines[path] = [x for k, x in enumerate(self.lines[path]) if k not in set(left)]

    # Values

    def value(self, node: Node) -> Any:
        """The value of an expression."""
        self.line = node.line
        return getattr(self, f"_of_{node.kind}")(node)

    def _of_number(self, node: Node) -> Any:
        return matrix(node.value)

    def _of_string(self, node: Node) -> Any:
        return node.value

    def _of_rows(self, node: Node) -> Any:
        return node.value.values

    def _of_matrix(self, node: Node) -> Any:
        return joined([[self.value(part) for part in row] for row in node.parts], node.value)

    def _of_cells(self, node: Node) -> Any:
        return Cells.of_rows([[self.value(part) for part in row] for row in node.parts])

    def _of_name(self, node: Node) -> Any:
        name = node.value
        if name in self.variables:
            return self.variables[name]
        if name in CONSTANTS:
            return matrix(CONSTANTS[name])
        if name in FUNCTIONS:
            return FUNCTIONS[name]([])
        if name in self.constants:  # a single output is the first one, or all as a structure
            numbers = self.constants[name]
            return {k: matrix(v) for k, v in numbers.items()}
        raise MatlabError(
            f"{name} is not defined; if it is another file or a function, load the case in MATPOWER "
            "and save the result with savecase"
        )

    def _of_field(self, node: Node) -> Any:
        held = self.value(node.parts[0])
        if not isinstance(held, dict) or node.value not in held:
            raise MatlabError(f"there is no field {node.value!r}")
        return held[node.value]

    def _of_index(self, node: Node) -> Any:
        base = node.parts[0]
        if base.kind == "name" and base.value not in self.variables:
            if base.value in FUNCTIONS:
                return FUNCTIONS[base.value]([self.value(part) for part in node.parts[1:]])
            if base.value not in CONSTANTS:
                self._of_name(base)
        held = self.value(base)
        if isinstance(held, Cells):
            return Cells(indexed(held.values, self._indices(held.values, node.parts[1:])))
        if isinstance(held, dict):
            if all(np.array_equal(matrix(self.value(x)), [[1]]) for x in node.parts[1:]):
                return held
            raise MatlabError("an array of structures is more than pnde reads")
        return indexed(matrix(held), self._indices(matrix(held), node.parts[1:]))

    def _of_contents(self, node: Node) -> Any:
        held = self.value(node.parts[0])
        if not isinstance(held, Cells):
            raise MatlabError(f"{kind_of(held)} is no cell array")
        found = indexed(held.values, self._indices(held.values, node.parts[1:]))
        if found.size != 1:
            raise MatlabError("several cells at once are more than pnde reads")
        return found.item()

    def _indices(self, held: Any, nodes: tuple[Node, ...]) -> list[np.ndarray | None]:
        """Index arrays counted from 1, or None for a colon."""
        if not nodes:
            raise MatlabError("an index is missing")
        array = held.values if isinstance(held, Cells) else held
        out: list[np.ndarray | None] = []
        for k, node in enumerate(nodes):
            if node.kind == "colon":
                out.append(None)
                continue
            self.sizes.append((array, k, len(nodes)))
            out.append(matrix(self.value(node)))
            self.sizes.pop()
        return out

    def _of_last(self, node: Node) -> Any:
        if not self.sizes:
            raise MatlabError("end stands outside of an index")
        array, k, count = self.sizes[-1]
        return matrix(float(array.size if count == 1 else array.shape[k] if k < 2 else 1))

    def _of_handle(self, node: Node) -> Any:
        return Handle()

    def _of_colon(self, node: Node) -> Any:
        raise MatlabError("':' stands outside of an index")

    def _of_range(self, node: Node) -> Any:
        begin, step, end = node.parts
        return range_of(
            self.value(begin), 1.0 if step is None else self.value(step), self.value(end)
        )

    def _of_unary(self, node: Node) -> Any:
        value = matrix(self.value(node.parts[0]))
        if node.value == "~":
            return value == 0
        return -value.astype(float) if node.value == "-" else value.astype(float)

    def _of_postfix(self, node: Node) -> Any:
        value = self.value(node.parts[0])
        if isinstance(value, Cells):
            return Cells(value.values.T.copy())
        return value if isinstance(value, str) else matrix(value).T.copy()

    def _of_binary(self, node: Node) -> Any:
        left = self.value(node.parts[0])
        if node.value in ("&&", "||"):  # the right one is not looked at where the left one decides
            if self._holds(left) == (node.value == "||"):
                return matrix(node.value == "||")
            return matrix(self._holds(self.value(node.parts[1])))
        return operated(node.value, left, self.value(node.parts[1]))
