"""What a MATLAB case file assigns, without running it.

A case file is a program, but one of tables, assignments and arithmetic. These are parsed by a small
grammar and worked out on NumPy arrays: there is no way from a file to a function that is not listed
in [`pnde.grids.matlab.functions`][], and loops, other files and handles are refused by their line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pnde.grids.matlab.interpreter import Interpreter
from pnde.grids.matlab.syntax import parse
from pnde.grids.matlab.tokens import tokenize
from pnde.grids.matlab.values import Cells

__all__ = ["Cells", "Workspace", "read_matlab"]


@dataclass(frozen=True)
class Workspace:
    """What a file leaves behind.

    **Attributes:**

    - `variables`: by name: real matrices ``(rows, columns)``, strings, `Cells`, and dicts for
        structures.
    - `outputs`: names of what its function returns; empty for a script.
    - `lines`: where each row of a matrix stands, by "mpc.bus"; only for those written row by row.
    """

    variables: dict[str, Any]
    outputs: list[str]
    lines: dict[str, list[int]]


def read_matlab(
    text: str, file: str, constants: Mapping[str, Mapping[str, float]] | None = None
) -> Workspace:
    """The variables that a MATLAB file assigns.

    **Arguments:**

    - `text`: its content.
    - `file`: its name, for messages.
    - `constants`: numbers that functions of other files return, by the function's name.

    **Raises:** [`pnde.errors.DataError`][], naming the line, for what is no MATLAB and for what is
    more than assignments and arithmetic.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    script = parse(tokenize(text, file), file)
    interpreter = Interpreter(text, file, constants or {})
    interpreter.run(script)
    return Workspace(interpreter.variables, script.outputs, interpreter.lines)
