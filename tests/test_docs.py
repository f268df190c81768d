"""The documentation: its code runs, its commands, options, settings and names exist, its tables are complete."""

import importlib.util
import pkgutil
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

import pnde
from pnde.cli.main import main
from pnde.config import Config, Section
from pnde.engines import Status

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
SECTIONS = {
    name: field.annotation
    for name, field in Config.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
}
# A code block of a language, but for those that follow <!-- not run: why -->.
BLOCK = r"(<!-- not run[^\n]*-->\n)?```{language}\n(.*?)```"


def blocks(page, language):
    """Line number and text of each block."""
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(BLOCK.format(language=language), re.DOTALL)
    return [
        (text[: found.start(2)].count("\n") + 1, found[2])
        for found in pattern.finditer(text)
        if not found[1]
    ]


def commands():
    """Every line of a shell block that calls pnde, and where it stands."""
    for page in PAGES:
        for line, block in blocks(page, "bash"):
            for offset, text in enumerate(block.splitlines()):
                for part in text.split("&&"):
                    words = shlex.split(part, comments=True)
                    while words and "=" in words[0]:  # a variable before the command
                        words = words[1:]
                    if words[:1] == ["pnde"]:
                        yield pytest.param(words[1:], id=f"{page.name}:{line + offset}")


RUN = [page for page in PAGES if blocks(page, "python") and page.name != "index.md"]


def test_the_first_page_has_the_code_of_the_readme():
    (_, ours), (_, theirs) = blocks(DOCS / "index.md", "python") + blocks(PAGES[0], "python")
    assert ours == theirs


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_python_runs(page, tmp_path, monkeypatch):
    """The blocks of a page, one after the other as a reader would run them, in an empty folder, with short training."""
    monkeypatch.chdir(tmp_path)
    train = pnde.train

    def short(*arguments, **settings):
        return train(*arguments, **settings | {"epochs": 1, "width": 4}, progress=False)

    monkeypatch.setattr(pnde, "train", short)
    write_orbits(tmp_path / "orbits.csv")
    names = {}
    for line, block in blocks(page, "python"):
        # As many empty lines before it as there are in the page, so that an error tells the page's line.
        code = compile("\n" * (line - 1) + block, str(page), "exec")
        exec(code, names)


def write_orbits(path):
    """The file of the README's example: circles around a star."""
    import numpy as np

    times = np.linspace(0, 2, 21)
    angle = times + np.arange(5)[:, None]
    u = np.stack([np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)], axis=-1)
    pnde.data.save_data(pnde.data.make_dataset(u, times, ["x", "y", "vx", "vy"]), path)


@pytest.mark.parametrize("words", list(commands()))
def test_commands_exist(words):
    """The command, its options and the values that are choices; nothing is run."""
    command, context = main, click.Context(main)
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    assert command is not main
    context = command.make_context(command.name, list(words), parent=context)
    changes = context.params.get("changes") or ()
    Config.make(**{pair.partition("=")[0]: default_of(pair.partition("=")[0]) for pair in changes})


def default_of(name):
    """The default of a setting, however it is named; `KeyError` where there is none."""
    leaves = dict(Config().model_dump())
    for section in SECTIONS:
        inner = leaves.pop(section)
        leaves |= {f"{section}.{key}": value for key, value in inner.items()} | inner
    return leaves[name]


def test_settings_exist():
    """Every `section.name` in the text is a setting, and every one after -s in the tables."""
    dotted = re.compile(rf"`(?:-s )?({'|'.join(SECTIONS)})\.(\w+)")
    plain = re.compile(r"-s ([\w.]+)=")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page.name != "architecture.md":  # which speaks of modules of the same names
            for section, name in dotted.findall(text):
                assert name in SECTIONS[section].model_fields, f"{page.name}: {section}.{name}"
        for name in plain.findall(text):
            default_of(name)


def test_names_exist():
    """Every `pnde.something` in the text."""
    for page in PAGES:
        for name in re.findall(r"`(pnde(?:\.\w+)+)", page.read_text(encoding="utf-8")):
            assert exists(name), f"{page.name}: {name}"


def exists(name):
    """Whether a dotted name is a module, or something in one."""
    try:
        return pkgutil.resolve_name(name) is not None
    except (ImportError, AttributeError):
        module, _, last = name.rpartition(".")  # a class of the same name may hide the module
        return hasattr(sys.modules.get(module), last)


def test_every_error_and_status_is_told():
    errors = (DOCS / "errors.md").read_text(encoding="utf-8")
    for kind in pnde.PndeError.__subclasses__():
        if kind.__module__ == "pnde.errors":
            assert f"| `{kind.__name__}` |" in errors
    concepts = (DOCS / "concepts.md").read_text(encoding="utf-8")
    for status in Status:
        assert f"| {status.value} | `{status.name}` |" in concepts


def hooks_of_the_site():
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return hooks


def test_every_name_that_the_julia_package_exports_is_documented():
    hooks = hooks_of_the_site()
    own, others = hooks.julia_exports()
    assert len(own) > 40 and "Tsit5" in others
    assert set(own) <= hooks.julia_docstrings().keys()
    page = hooks.on_page_markdown((DOCS / "api" / "julia.md").read_text(encoding="utf-8"))
    assert all(f"\n## `{name}`\n\n" in page for name in own)
    assert "```julia\nproject([algorithm], G, v, [offset, W])\n```" in page
    assert "(@ref)" not in page


def test_tables_of_settings_and_commands():
    """What the site fills in: every setting with its default, every command with its options."""
    hooks = hooks_of_the_site()
    table = hooks.on_page_markdown("<!-- settings -->")
    for section, kind in SECTIONS.items():
        for name in kind.model_fields:
            assert f"| `{section}.{name}` |" in table
    assert "| `solver.rtol` | number > 0 | `0.0001` |" in table
    assert "| `optimiser.clip` | number > 0 | none |" in table
    assert '| `engine` | `"auto"`, `"jax"`, `"julia"` | `"auto"` |' in table
    helps = hooks.on_page_markdown("<!-- commands -->")
    for name in main.commands:
        assert f"## `pnde {name}`" in helps
    assert "--law FILE.py:NAME" in helps


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in [*DOCS.glob("*.md"), *DOCS.glob("api/*.md")]:
        assert f" {page.relative_to(DOCS).as_posix()}\n" in navigation


def test_every_element_of_a_grid_file_is_in_the_tables():
    """What becomes of each section of PSS/E, each table of MATPOWER and each one of a pandapower net."""
    from pnde.grids.fields import POWER
    from pnde.grids.matpower_columns import NAMES
    from pnde.grids.psse.layout import sections

    text = (DOCS / "grid-files.md").read_text(encoding="utf-8")
    matpower, rest = text.split("\n## MATPOWER\n")[1].split("\n## PSS/E\n")
    psse, pandapower = rest.split("\n## pandapower\n")
    for name in (*NAMES, *POWER):
        assert f"`{name}`" in matpower, name
    for version in (30, 33, 35):
        for name in sections(version):
            assert {"switching device": "system switching device"}.get(name, name) in psse, name
    package = pytest.importorskip("pandapower", reason="pandapower is not installed")
    for name, table in package.create_empty_network().items():
        if "in_service" in getattr(table, "columns", ()) and not name.startswith("_"):
            assert f"`{name}`" in pandapower, name
