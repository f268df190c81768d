"""The house: which room may import which, how long a file may be, and that its plan shows what is there."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]

#: The rooms from the ground up: each may import those above it in this list, and itself; rooms in one row do not know
#: each other. Imports inside functions count; imports for the type checker alone do not.
LAYERS = (
    ("errors",),
    ("files",),
    ("config",),
    ("data",),
    ("metrics",),
    ("grids",),
    ("laws",),
    ("models",),
    ("engines",),
    ("systems",),
    ("checking", "training", "driven", "forecast"),
    ("runs",),
    ("plot",),
    ("experiment",),
    ("sweep",),
    ("published",),
    ("paper",),
    ("doctor",),
    ("cli",),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
LINES = 400
CODE = ("pnde", "julia", "tests", "benchmarks", "examples")


#: Who may import an engine's own modules: the paper times the projection itself (Tables I and II).
TIMES_THE_ENGINE = ("paper",)


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("pnde", exclude_type_checking_imports=True, cache_dir=None)


def imports(graph):
    """Every import inside the package, as (importer, imported)."""
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            yield importer, imported


def room(module):
    """`pnde.data._reading` is in the room `data`; the package itself is the ground that all stand on."""
    return [*module.split("."), ""][1]


def test_no_module_imports_itself_round_a_corner(graph):
    edges = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(error.args[1]))


def test_every_room_has_a_layer(graph):
    assert {room(module) for module in graph.modules} - {""} == set(LEVEL)


def test_imports_run_down(graph):
    upward = [
        f"{importer} imports {imported}"
        for importer, imported in imports(graph)
        if (low := room(importer)) != (high := room(imported))
        and high
        and (not low or LEVEL[high] >= LEVEL[low])
    ]
    assert upward == []


def test_the_package_is_asked_for_its_rooms_at_the_top_alone():
    """`import pnde; pnde.train` is an import that the graph does not see."""
    found = []
    for path in sorted((ROOT / "pnde").rglob("*.py")):
        if path.relative_to(ROOT / "pnde").parts[0].removesuffix(".py") in (
            "cli",
            "doctor",
            "__init__",
        ):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "pnde"
                and not node.attr.startswith("__")
            ):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: pnde.{node.attr}")
    assert found == []


def test_the_front_reaches_an_engine_by_its_name_alone(graph):
    """`engines.get` imports an engine by name, so the graph has no edge from the front into one."""
    engines = ("pnde.engines.jax", "pnde.engines.julia")

    def inside(module, package):
        return module == package or module.startswith(f"{package}.")

    direct = [
        f"{importer} imports {imported}"
        for importer, imported in imports(graph)
        for engine in engines
        if inside(imported, engine)
        and not inside(importer, engine)
        and room(importer) not in TIMES_THE_ENGINE
    ]
    assert direct == []


def test_the_paper_is_a_leaf(graph):
    users = {
        importer
        for importer, imported in imports(graph)
        if room(imported) == "paper" and room(importer) != "paper"
    }
    assert {room(module) for module in users} <= {"cli"}
    for folder in ("benchmarks", "examples"):
        for path in (ROOT / folder).glob("*.py"):
            assert "pnde.paper" not in path.read_text(encoding="utf-8"), path.name


def test_no_file_is_longer_than_a_reader_takes_in():
    files = [
        path
        for folder in CODE
        for suffix in ("py", "jl")
        for path in (ROOT / folder).rglob(f"*.{suffix}")
    ]
    assert len(files) > 100
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in files}
    long = {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > LINES}
    assert long == {}


def layout():
    """What docs/architecture.md lists: for each folder of which anything is listed, the names in it."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed: dict[str, set[str]] = {}
    folders = [""]
    for line in re.findall(r"^    ( *\S.*)$", page[: page.index("### Layers")], re.MULTILINE):
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        folder = "/".join(folders[: depth + 1]).lstrip("/")
        listed.setdefault(folder, set()).add(name)
        folders[depth + 1 :] = [name.rstrip("/")]
    return listed


def test_the_plan_shows_what_is_there():
    listed = layout()
    roots = listed.pop("")
    assert {"pnde/", "julia/PNDE/"} == roots
    for folder, names in listed.items():
        there = {
            path.name + "/" * path.is_dir()
            for path in (ROOT / folder).iterdir()
            if path.name not in ("__pycache__", "py.typed", "Manifest.toml")
            and (path.name != "__init__.py" or "__init__.py" in names)
        }
        assert names == there, folder


def test_the_plan_names_every_layer():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    stack = page[page.index("Imports run down:") : page.index("A room may import")]
    named = re.findall(r"[a-z]+", stack.partition(":")[2])
    assert named == [
        room for rooms in LAYERS for room in rooms if room not in ("published", "__main__")
    ]
