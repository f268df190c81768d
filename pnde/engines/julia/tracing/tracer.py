"""Equations of a jaxpr as steps: those that are known by now are computed, calls are opened, loops unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from jax.extend.core import Literal

from pnde.engines.julia.tracing import control, elementwise, linear_algebra, moving
from pnde.engines.julia.tracing.rules import Rule, evaluated, opened
from pnde.engines.julia.tracing.steps import Missing, Steps, Value
from pnde.errors import EngineError

_RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **moving.RULES,
    **linear_algebra.RULES,
    **control.RULES,
}

# Frames of these are passed over when the user's line is told.
_NOT_THE_USER = (Path(jax.__file__).parent, Path(__file__).parent)


class Tracer(Steps):
    """The steps so far, and how equations become more of them."""

    def inline(self, jaxpr: Any, constants: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a jaxpr."""
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
        known |= dict(zip(jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            self.where = _line(equation) or self.where
            outputs = self._outputs(equation, [read(atom) for atom in equation.invars])
            known |= dict(zip(equation.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def missing(self, name: str, where: str | None = None) -> EngineError:
        """What is said of an operation without a counterpart."""
        return EngineError(
            f"{self.what} uses {name!r}{self.where if where is None else where}, for which the julia engine has no "
            'counterpart: write it in another way, give a twin (julia="u -> ..."), or use engine="jax"'
        )

    def _outputs(self, equation: Any, operands: list[Any]) -> list[Any]:
        name, params = equation.primitive.name, equation.params
        if name in control.RULES:
            return control.RULES[name](self, equation, operands)
        inner = next((params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in params), None)
        if inner is not None and name not in linear_algebra.RULES:
            return self.inline(*opened(inner), operands)
        for x in operands:
            if isinstance(x, Missing) and name not in linear_algebra.RULES:
                raise self.missing(x.name, x.where)
        if not any(isinstance(x, Value) for x in operands):
            return evaluated(equation, operands)
        if name not in _RULES:
            raise self.missing(name)
        return _RULES[name](self, equation, operands)


def _line(equation: Any) -> str:
    """Where in the user's file an equation comes from: the innermost frame that is not JAX's or ours."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        path = Path(frame.file_name)
        if not any(folder in path.parents for folder in _NOT_THE_USER):
            return f" ({path.name}, line {frame.line_num})"
    return ""
