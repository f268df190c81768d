"""What mkdocs does with the pages beside rendering them: formulas, and the tables that the code itself gives.

* Formulas become MathML when the site is built: no script, no font, nothing to fetch when a page is read.
* `pnde.train` and the like, written as code, become links to their entry in the reference.
* `<!-- settings -->` is replaced by a table of every setting of `pnde.Config`, `<!-- commands -->` by the help of every
  command, `<!-- julia -->` by what the Julia package says of the names that it exports, so that none can go stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from types import FunctionType
from typing import Any, get_args

import click
from pydantic.fields import FieldInfo

import pnde
from pnde.cli.main import main
from pnde.config import Config, Section
from pnde.files import julia_package

# A name of the package, written as code, that is not a link already.
_NAME = re.compile(r'(?<!">)<code>(pnde(?:\.\w+)+)</code>')
_FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the tables."""
    if "<!-- settings -->" in markdown:
        markdown = markdown.replace("<!-- settings -->", settings())
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", commands())
    if "<!-- julia -->" in markdown:
        markdown = markdown.replace("<!-- julia -->", julia_names())
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Formulas as MathML, names as links."""
    return _NAME.sub(_link, _FORMULA.sub(_mathml, html))


def _link(match: re.Match[str]) -> str:
    """A reference that the plugin of the cross-references fills in, or drops where the name has no entry."""
    found: Any = pnde
    for part in match[1].split(".")[1:]:
        found = getattr(found, part, None)
    # Functions and classes have their entry where they are defined.
    own = isinstance(found, FunctionType | type)
    target = f"{found.__module__}.{found.__qualname__}" if own else match[1]
    return f'<autoref optional identifier="{target}">{match[0]}</autoref>'


def _mathml(match: re.Match[str]) -> str:
    from latex2mathml.converter import convert  # the tables above are read without it

    formula = unescape(match[2]).strip()[2:-2]
    math = convert(formula, display="block" if match[1] == "div" else "inline")
    # ⊤ is a relation for latex2mathml, which would get its spaces.
    math = math.replace("<mo>&#x022A4;</mo>", "<mi>&#x022A4;</mi>")
    return f'<{match[1]} class="formula">{math}</{match[1]}>'


def settings() -> str:
    """A table for each section of the configuration."""
    parts, own = [], {}
    for name, field in Config.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            text = (field.annotation.__doc__ or "").strip()
            heading = f"## `{name}`\n\n{text}\n\n"
            parts.append(heading + _table(f"{name}.", field.annotation, field.default))
        else:
            own[name] = field
    top = "## The run\n\n" + _table("", Config, Config(), only=own)
    return "\n\n".join(['<div class="settings" markdown>', top, *parts, "</div>"])


def _table(prefix: str, section: type[Section], values: Any, only: Any = None) -> str:
    rows = ["| setting | takes | default | |", "| --- | --- | --- | --- |"]
    for name, field in (only or section.model_fields).items():
        default = getattr(values, name)
        shown = "none" if default is None else f"`{_toml(default)}`"
        rows.append(f"| `{prefix}{name}` | {_kind(field)} | {shown} | {field.description or ''} |")
    return "\n".join(rows)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def _kind(field: Any) -> str:
    """What a setting takes, in words."""
    parts = list(_parts(field.annotation)) + list(field.metadata)
    choices = [part for part in parts if isinstance(part, str)]
    if choices:
        return ", ".join(f'`"{choice}"`' for choice in choices)
    kinds = {bool: "`true`, `false`", int: "whole number", float: "number"}
    word = next(kinds[part] for part in parts if isinstance(part, type) and part in kinds)
    signs = {"gt": (">", max), "ge": ("≥", max), "lt": ("<", min), "le": ("≤", min)}
    limits = []
    for name, (sign, tightest) in signs.items():
        given = [getattr(part, name, None) for part in parts if not isinstance(part, type)]
        bounds = [bound for bound in given if bound is not None]
        if bounds:
            limits.append(f"{sign} {tightest(bounds):g}")
    return f"{word} {', '.join(limits)}".strip()


def _parts(annotation: Any) -> Iterator[Any]:
    """Types, choices and limits that an annotation is made of."""
    inner = get_args(annotation)
    if isinstance(annotation, FieldInfo):  # limits written as Field(gt=0)
        yield from annotation.metadata
    elif not inner:
        yield annotation
    for part in inner:
        yield from _parts(part)


def commands() -> str:
    """The help of every command, as `pnde COMMAND --help` prints it."""
    return "\n\n".join(_help("pnde", main))


def _help(path: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=path, max_content_width=80, terminal_width=80)
    text = command.get_help(context)
    out = [f"## `{path}`\n\n```text\n{text}\n```"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            out += _help(f"{path} {name}", child)
    return out


# A docstring of Julia's, of one line or many, and the line that it is of.
_DOCSTRING = re.compile(
    r'^(?:"""\n((?:(?!""").)*?)\n"""|"([^"\n]+)")\n([^\n]+)', re.MULTILINE | re.DOTALL
)
_DEFINITION = re.compile(
    r"(?:Base\.@kwdef )?(?:function|mutable struct|struct|abstract type|const)? ?([\w!]+)"
)


def julia_names() -> str:
    """What the Julia package says of each name that it exports, in the order of its files."""
    told = julia_docstrings()
    exported, others = julia_exports()
    parts = [_julia_entry(name, told[name]) for name in told if name in exported]
    listed = ", ".join(f"`{name}`" for name in others)
    return "\n\n".join(
        [*parts, "## From other packages", f"For convenience PNDE exports {listed} too."]
    )


def julia_exports() -> tuple[list[str], list[str]]:
    """The names that the Julia package exports: its own, and those that it takes from other packages."""
    text = (julia_package() / "src" / "PNDE.jl").read_text(encoding="utf-8")

    def names(kind: str) -> list[str]:
        lines = re.findall(rf"^{kind}(.*)$", text, re.MULTILINE)
        return [name.strip() for line in lines for name in line.split(",")]

    taken = set(names(r"using \w+:"))
    exported = names("export ")
    return [n for n in exported if n not in taken], [n for n in exported if n in taken]


def julia_docstrings() -> dict[str, str]:
    """The docstrings of the Julia package by name, in the order of its files; of a name with several the first."""
    folder = julia_package() / "src"
    told: dict[str, str] = {}
    order = re.findall(
        r'^include\("(.*)"\)', (folder / "PNDE.jl").read_text(encoding="utf-8"), re.MULTILINE
    )
    for file in order:
        for long, short, line in _DOCSTRING.findall((folder / file).read_text(encoding="utf-8")):
            if match := _DEFINITION.match(line):
                told.setdefault(match[1], long or short)
    return told


def _julia_entry(name: str, text: str) -> str:
    """A docstring as Markdown of this site: the signature as code, headings as bold words, references as links."""
    signature, _, rest = text.partition("\n\n")
    head = f"## `{name}`\n\n"
    if signature.startswith("    "):
        head += "```julia\n" + re.sub("^    ", "", signature, flags=re.MULTILINE) + "\n```\n\n"
        text = rest
    text = re.sub(r"^# (.*)$", r"**\1**", text, flags=re.MULTILINE)
    text = re.sub(r"^  - ", "- ", text, flags=re.MULTILINE)
    own = set(julia_exports()[0])
    return head + re.sub(
        r"\[`([\w!]+)`\]\(@ref\)",
        lambda m: f"[`{m[1]}`](#{m[1].lower().rstrip('!')})" if m[1] in own else f"`{m[1]}`",
        text,
    )
