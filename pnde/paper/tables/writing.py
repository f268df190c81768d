"""A table as numbers, as text for a terminal, as Markdown and as LaTeX."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

_LATEX = {
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "γ": r"$\gamma$",
    "×": r"$\times$",
    "²": r"$^2$",
    "³": r"$^3$",
    "−": r"$-$",
    "–": "--",
    "μ": r"$\mu$",
    "‖": r"$\|$",
}


@dataclass(frozen=True)
class Table:
    """A table of the paper.

    - `caption`: one sentence.
    - `frame`: the numbers, for CSV.
    - `shown`: the cells as a reader sees them, text.
    """

    caption: str
    frame: pd.DataFrame
    shown: pd.DataFrame

    def text(self) -> str:
        """The caption, and columns that are aligned."""
        return f"{self.caption}\n\n{self.shown.to_string(index=False)}\n"

    def latex(self) -> str:
        """A `table` environment that needs no package."""
        head = " & ".join(map(_escaped, self.shown.columns))
        rows = [" & ".join(map(_escaped, row)) for row in self.shown.itertuples(index=False)]
        columns = "l" * 2 + "r" * (self.shown.shape[1] - 2)
        return "\n".join(
            [
                r"\begin{table}",
                rf"  \caption{{{_escaped(self.caption)}}}",
                rf"  \begin{{tabular}}{{{columns[: self.shown.shape[1]]}}}",
                r"    \hline",
                rf"    {head} \\",
                r"    \hline",
                *(rf"    {row} \\" for row in rows),
                r"    \hline",
                r"  \end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def number(value: object, digits: int = 3) -> str:
    """A number in a few digits, a dash for none, and text as it is."""
    if isinstance(value, str | int):
        return str(value)
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return "–"
    return f"{value:.{digits}g}"


def banded(middle: object, low: object, high: object, digits: int = 3) -> str:
    """A number with its band, where that is one."""
    text, *ends = (number(x, digits) for x in (middle, low, high))
    return text if ends == [text, text] else f"{text} ({ends[0]} to {ends[1]})"


def markdown(frame: pd.DataFrame, digits: int = 3) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(map(str, frame.columns))} |", "|" + "---|" * frame.shape[1]]
    for row in frame.itertuples(index=False):
        cells = (number(x, digits).replace("|", "\\|") for x in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _escaped(text: object) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in str(text))
