"""The index of equations: it has every number of the paper, and what it names is there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "equations.md"
#: The last number of each section of the paper; (4) is split into 4a and 4b.
LAST = {"": 31, "A": 8, "B": 18, "C": 5, "E": 6, "I": 10}
JULIA = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "julia/PNDE/src").rglob("*.jl"))
)


def rows():
    """The rows of all tables: numbers, Python, Julia, tests."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 5 and re.match(r"[A-Z]?\d", cells[0]):
            yield cells[0], *cells[2:]


ROWS = list(rows())


def expand(numbers):
    """`B2-B3, 4a` as B2, B3, 4a."""
    for part in numbers.split(", "):
        first, dash, last = part.partition("-")
        if not dash:
            yield part
            continue
        letter = first[0]
        assert letter == last[0]
        yield from (f"{letter}{k}" for k in range(int(first[1:]), int(last[1:]) + 1))


def named(column):
    """Every name in code of a column."""
    return sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[column])})


def test_every_numbered_equation_is_there_once():
    found = [number for row in ROWS for number in expand(row[0])]
    expected = {f"{letter}{k}" for letter, last in LAST.items() for k in range(1, last + 1)}
    assert sorted(found) == sorted(expected - {"4"} | {"4a", "4b"})


def test_what_is_missing_says_why():
    for numbers, *cells in ROWS:
        for cell in cells:
            assert "`" in cell or re.match(r"none: .{10,}", cell), (numbers, cell)


@pytest.mark.parametrize("name", named(1))
def test_python_has_it(name):
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            target = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            target = getattr(target, part)
        assert callable(target)
        return
    pytest.fail(name)


@pytest.mark.parametrize("name", named(2))
def test_julia_has_it(name):
    function, _, of = name.partition("(")
    start = rf"^(?:function )?(?:[A-Za-z]+\.)*{re.escape(function)}\("
    kind = of.removesuffix(")")
    # The function itself, or the method whose first argument is of that type, or is that function.
    argument = rf"(?:\w*::(?:Type\{{)?{kind}\b|::typeof\({kind}\))" if of else ""
    assert re.search(start + argument, JULIA, re.MULTILINE), name


@pytest.mark.parametrize("node", named(3))
def test_the_test_exists(node):
    path, *names = node.split("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    for name in names:
        assert re.search(rf"^\s*(?:def|class) {name}\b", text, re.MULTILINE), node
