"""The file of a sweep: which runs it has, all of them checked before one is begun.

What stands above all tables is common to all runs. `[grid]` has lists, of which every combination is a run; each
`[[run]]` has what differs in it, and is combined with the grid, if there is one:

    source = "lotka-volterra"
    epochs = 50

    [grid]
    model = ["nde", "pnde"]
    seed = [1, 2, 3]
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pnde.config import Config
from pnde.data import open_data
from pnde.engines import Engine, get
from pnde.errors import ConfigError, PndeError, RunError, nearest
from pnde.experiment import preset_for, system_for
from pnde.files import read_bytes
from pnde.models import ModelKind
from pnde.systems import law_for, names

_LARGEST_FILE, _MOST = 2**20, 10_000
_OWN = ("source", "model", "preset")
_PARAMETER = "p."  # of the system, as `pnde train -p` has it


@dataclass(frozen=True)
class Planned:
    """A run of a sweep.

    - `name`: of its folder, made of what differs between the runs.
    - `values`: what it is made of, by the names that the file has; `varied`: those that differ between the runs.
    """

    name: str
    values: Mapping[str, Any]
    varied: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return str(self.values["source"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Of its system."""
        return {k.removeprefix(_PARAMETER): v for k, v in self.values.items() if _is_parameter(k)}

    @property
    def kind(self) -> ModelKind | None:
        """The kind of its model; `None` where its settings say it."""
        return ModelKind.parse(self.values["model"]) if "model" in self.values else None

    def config(self) -> Config:
        """Its settings.

        **Raises:** `pnde.errors.ConfigError` naming what is wrong.
        """
        settings = {k: v for k, v in self.values.items() if k not in _OWN and not _is_parameter(k)}
        kind, system = self.kind, system_for(self.source, self.parameters)
        preset = str(self.values.get("preset", "quick"))
        form = "mlp" if kind is None else kind.form
        base = Config.preset(preset_for(self.source, system), preset, form)
        return Config.make(base, **settings, **({} if kind is None else kind.settings))


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep."""

    runs: tuple[Planned, ...]

    @classmethod
    def read(cls, path: str | Path, law: Any = None) -> Sweep:
        """The sweep in a file, all of whose runs have a law, or those of their data.

        **Raises:** `pnde.errors.ConfigError` if it cannot be read; an `ExceptionGroup` of one for each line that is
        wrong, else.
        """
        path = Path(path)
        if not path.is_file():
            raise ConfigError(f"there is no file {path} with the settings of a sweep")
        try:
            text = read_bytes(path, _LARGEST_FILE).decode()
            content = tomllib.loads(text)
        except (RunError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the sweep {path}: {error}") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(f"{path} is not valid TOML: {str(error)[:120]}") from None
        lines = text.splitlines()
        try:
            runs = tuple(_runs(content, path))
        except _Wrong as error:
            raise ConfigError(f"{_place(path, lines, error.key)}: {error}") from None
        problems = list(_problems(runs, law, path, lines))
        if problems:
            raise ExceptionGroup(f"{path} has settings that are none", problems)
        return cls(runs)


class _Wrong(ConfigError):
    """A key of the file is."""

    def __init__(self, key: str, message: str):
        super().__init__(message)
        self.key = key


def _runs(content: dict[str, Any], path: Path) -> Iterator[Planned]:
    grid, listed = content.pop("grid", {}), content.pop("run", [{}])
    if not isinstance(grid, dict):
        raise _Wrong("grid", "write the grid as a table [grid] with a list for each setting")
    if not isinstance(listed, list) or not all(isinstance(run, dict) for run in listed):
        raise _Wrong("run", "write each run of a list as a table [[run]]")
    common, grid = _flat(content), _flat(grid)
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise _Wrong(key, f"{key} of the grid has to be a list of values, such as [1, 2]")
    count = len(listed)
    for values in grid.values():
        count *= len(values)
    if count > _MOST:
        raise _Wrong("grid", f"it has {count} runs, more than {_MOST}: make several of it")
    rows = []
    for run in listed:
        for chosen in itertools.product(*grid.values()):
            rows.append(common | _flat(run) | dict(zip(grid, chosen, strict=True)))
    keys = [*dict.fromkeys(k for row in rows for k in row if k not in grid), *grid]
    varied = [k for k in keys if any(row.get(k) != rows[0].get(k) for row in rows)]
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        own = {key: row[key] for key in varied if key in row}
        name = _name(own) or "run"
        if name in seen:
            raise _Wrong("run", f"runs {seen[name]} and {number} are the same ({name})")
        seen[name] = number
        yield Planned(name, _with_paths(row, path.parent), own)


def _name(own: Mapping[str, Any]) -> str:
    """What differs, as a name of a folder."""
    parts = [f"{key.rpartition('.')[2]}={_plain(value)}" for key, value in own.items()]
    return ",".join(parts)[:200]


def _plain(value: Any) -> str:
    text = Path(value).stem if isinstance(value, str) and "/" in value else str(value)
    return re.sub(r"[^A-Za-z0-9_.+:-]+", "-", text).strip("-.") or "-"


def _with_paths(row: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A data file is named from where the sweep's file is."""
    source = row.get("source")
    if isinstance(source, str) and source not in names() and (folder / source).is_file():
        return row | {"source": str((folder / source).resolve())}
    return row


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A table with the names of its tables in front of theirs."""
    out: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            out |= _flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out


def _problems(
    runs: tuple[Planned, ...], law: Any, path: Path, lines: list[str]
) -> Iterator[ConfigError]:
    """What is wrong: each value by itself first, then values that do not go together; each told once."""
    wrong, told = set(), set()
    engines: dict[str, Engine] = {}
    values = {(k, repr(v)): (k, v) for run in runs for k, v in run.values.items()}
    for pair, (key, value) in values.items():
        try:
            _check(key, value)
        except PndeError as error:
            wrong.add(pair)
            yield ConfigError(f"{_place(path, lines, key, value)}: {_sentence(error)}")
    for run in runs:
        if wrong.intersection((k, repr(v)) for k, v in run.values.items()):
            continue
        try:
            if "source" not in run.values:
                raise ConfigError("a run names no source of its data")
            config = run.config()
            if config.method != "nde" and not _has_law(run, law):
                raise ConfigError(
                    "the model needs a law: name one with --law FILE.py:NAME, or train the model nde"
                )
            if config.engine not in engines:
                engines[config.engine] = get(config.engine)
            engines[config.engine].check(config)
        except PndeError as error:
            sentence = _sentence(error)
            if sentence in told:
                continue
            told.add(sentence)
            named = re.match(r"[\w.]+(?= = )", sentence)
            place = f"{path}, {run.name}" if named is None else _place(path, lines, named[0])
            yield ConfigError(f"{place}: {sentence}")


def _sentence(error: PndeError) -> str:
    return str(error).removeprefix("the settings: ")


def _has_law(run: Planned, law: Any) -> bool:
    system = system_for(run.source, run.parameters)
    return system is not None or law_for(open_data(run.source), law) is not None


def _check(key: str, value: Any) -> None:
    if key == "source":
        if not isinstance(value, str) or (value not in names() and not Path(value).is_file()):
            raise ConfigError(
                f"{value!r} is neither a file nor a built-in system{nearest(value, names())}"
            )
    elif key == "model":
        ModelKind.parse(str(value))
    elif key == "preset" or _is_parameter(key):
        pass  # that they fit is seen with the system
    else:
        Config.make(**{key: value})


def _is_parameter(key: str) -> bool:
    return key.startswith(_PARAMETER)


def _place(path: Path, lines: list[str], key: str, value: Any = None) -> str:
    """`sweep.toml, line 3`, of a key, if it can be told; of one that is there several times, where the value is."""
    leaf = re.escape(key.rpartition(".")[2])
    found = [
        number
        for number, line in enumerate(lines, 1)
        if re.match(rf"\s*(?:\[+\s*)?(?:[\w.-]+\.)?[\"']?{leaf}[\"']?\s*(?:=|\])", line)
    ]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    those = [number for number in found if value is not None and text in lines[number - 1]]
    number = next(iter(those or found), None)
    return str(path) if number is None else f"{path}, line {number}"
