"""The benchmarks are not run here, but what they import from the package is there."""

import ast
import importlib
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.name)
def test_what_they_import_exists(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pnde":
            module = importlib.import_module(node.module)
            for name in node.names:
                if not hasattr(module, name.name):  # a module that is not loaded yet
                    importlib.import_module(f"{node.module}.{name.name}")
