"""The record of a run: what it is made of, and what has to be passed again to use it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

import pnde
from pnde.engines import Engine
from pnde.errors import RunError
from pnde.files import checksum, damaged, read_json, write_json
from pnde.laws import Bounds, split_laws
from pnde.models import Model

NAME = "run.json"
FORMAT = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class EngineRecord(_Part):
    """The engine that trains the run."""

    name: Literal["jax", "julia"]
    versions: dict[str, str]


class LawRecord(_Part):
    """The law: what it is called, its rows, and where it is from.

    - `source`: `"system"`, `"given"` for one that has to be passed again, or the text that stands for it: `"rods"`.
    """

    label: str
    rows: list[str]
    source: str


class BoundsRecord(_Part):
    """The inequalities: what they are called, their rows with the rate of each, and where they are from: `"system"`, or
    `"given"` for those that have to be passed again."""

    label: str
    rows: list[str]
    rates: list[FiniteFloat]
    scale: list[FiniteFloat]
    source: Literal["system", "given"]


class Sources(NamedTuple):
    """Where a law and the inequalities beside it are from; see `LawRecord` and `BoundsRecord`."""

    law: str
    bounds: Literal["system", "given"] = "given"

    @classmethod
    def of(cls, constraint: Any) -> Sources:
        """Of what was passed as `constraint`."""
        law, _ = split_laws(constraint)
        if law is None or isinstance(law, str):
            law = law or "system"
        else:
            law = "given"
        return cls(law, "system" if constraint is None else "given")


class FunctionRecord(_Part):
    """A metric, or physics. A function, which has no `values`, has to be passed again."""

    label: str
    values: list[FiniteFloat] | list[list[FiniteFloat]] | None = None


class DataRecord(_Part):
    """The file of the data, by its path from the run folder."""

    path: str
    sha256: str


class Record(_Part):
    """A run, but for its numbers: those are in the files whose checksums it has.

    `run.json` is written when training begins, and once more as the last file when it is complete, with the checksums
    of all others: until then, the checkpoint is what counts.
    """

    format: Literal[1] = 1
    version: str = Field(description="of pnde")
    engine: EngineRecord
    states: list[str]
    order: Literal[1, 2]
    features: Literal["state", "angles"]
    mean: list[FiniteFloat]
    std: list[FiniteFloat]
    speed: list[FiniteFloat] | None
    inputs: list[str] = []
    parameters: list[str] = []
    condition_mean: list[FiniteFloat] | None = None
    condition_std: list[FiniteFloat] | None = None
    law: LawRecord | None
    bounds: BoundsRecord | None = None
    metric: FunctionRecord | None
    physics: FunctionRecord | None
    data: DataRecord
    files: dict[str, str] = Field(description="checksums by name")
    complete: bool

    @classmethod
    def of(
        cls,
        model: Model,
        engine: Engine,
        rows: tuple[str, ...],
        sources: Sources,
        data: DataRecord,
        files: Mapping[str, str],
        complete: bool,
    ) -> Record:
        """The record of a model; `rows` are the names of its law's."""
        law, metric = model.constraint, model.metric
        if metric is not None:
            label, values = (name_of(metric), None) if callable(metric) else ("M", metric.tolist())
            metric = FunctionRecord(label=label, values=values)
        return cls(
            version=pnde.__version__,
            engine=EngineRecord(name=engine.name, versions=engine.status()),  # type: ignore[arg-type]
            states=list(model.states),
            order=model.order,
            features=model.features,
            mean=model.mean.tolist(),
            std=model.std.tolist(),
            speed=_numbers(model.speed),
            inputs=list(model.inputs),
            parameters=list(model.parameters),
            condition_mean=_numbers(model.condition_mean),
            condition_std=_numbers(model.condition_std),
            law=None
            if law is None
            else LawRecord(label=law.label, rows=list(rows), source=sources.law),
            bounds=_bounds_record(model.bounds, sources),
            metric=metric,
            physics=None if model.physics is None else FunctionRecord(label=name_of(model.physics)),
            data=data,
            files=dict(files),
            complete=complete,
        )

    def write(self, folder: Path) -> None:
        """Write `run.json`.

        **Raises:** `pnde.errors.RunError` if the disk does not take it.
        """
        content = self.model_dump()
        write_json(folder / NAME, content | {"sha256": _checksum_of(content)})

    @classmethod
    def read(cls, folder: Path) -> Record:
        """The record in a run folder.

        **Raises:** `pnde.errors.RunError` if there is none, or it is damaged, or of another format.
        """
        path = folder / NAME
        if not folder.is_dir():
            raise RunError(f"there is no run folder {folder}")
        if not path.exists():
            if (folder / "model.json").exists():
                raise RunError(
                    f"{folder} was written by pnde 0.1, whose runs this version does not read; train again, or load "
                    "it with that version"
                )
            raise RunError(
                f"{folder} is not a run folder: it has no {NAME}; name a folder that pnde train wrote"
            )
        content = read_json(path)
        found = content.get("format")
        if isinstance(found, int) and found > FORMAT:
            raise RunError(
                f"{path} has the format {found}, but this version of pnde knows {FORMAT} at most; use a newer pnde"
            )
        given = content.pop("sha256", None)
        if given != _checksum_of(content):
            raise damaged(path, ValueError("its checksum is another"))
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(str(part) for part in problem["loc"])
            raise damaged(path, ValueError(f"{where}: {problem['msg']}")) from None

    @property
    def sources(self) -> Sources:
        """Where its law and its inequalities are from."""
        return Sources(
            "given" if self.law is None else self.law.source,
            "given" if self.bounds is None else self.bounds.source,
        )

    def check_file(self, folder: Path, name: str) -> None:
        """Whether a file of the folder is the one that the record was written with.

        **Raises:** `pnde.errors.RunError` if it is missing or another.
        """
        path = folder / name
        if name not in self.files:
            raise damaged(folder / NAME, ValueError(f"it has no checksum of {name}"))
        if checksum(path) != self.files[name]:
            raise RunError(
                f"{path} is not the file that the run was written with (it was changed, or is damaged); restore it "
                "from a backup, or train again"
            )


def data_record(folder: Path, source: Path) -> DataRecord:
    """The record of a data file, which is found again if file and folder move together."""
    path = os.path.relpath(source.resolve(), folder.resolve())
    return DataRecord(path=Path(path).as_posix(), sha256=checksum(source))


def find_data(folder: Path, record: DataRecord) -> Path:
    """The data file of a run.

    **Raises:** `pnde.errors.RunError` if it is not there, or is another file now.
    """
    path = folder / record.path
    if Path(record.path).is_absolute() or not path.exists():
        raise RunError(
            f"the data of the run are not at {os.path.normpath(path)}; put them back there"
        )
    if checksum(path) != record.sha256:
        raise RunError(
            f"{os.path.normpath(path)} is not the file that the run in {folder} was trained on; put that one back, or "
            "train again"
        )
    return path


def name_of(function: Any) -> str:
    """What a function of the user's is called in the record and in messages."""
    return str(getattr(function, "__name__", type(function).__name__)).strip("<>")


def _bounds_record(bounds: Bounds | None, sources: Sources) -> BoundsRecord | None:
    if bounds is None:
        return None
    return BoundsRecord(
        label=" & ".join(part.label for part in bounds.parts),
        rows=list(bounds.names),
        rates=bounds.rates.tolist(),
        scale=bounds.scale.tolist(),
        source=sources.bounds,
    )


def _numbers(array: np.ndarray | None) -> list[float] | None:
    return None if array is None else array.tolist()


def array(values: list[Any] | None) -> np.ndarray | None:
    """Numbers of a record as an array."""
    return None if values is None else np.array(values, dtype=float)


def _checksum_of(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def is_run(folder: Path) -> bool:
    """Whether a folder is one that a training has begun, of this version or an older one."""
    return any((folder / name).exists() for name in (NAME, "model.json"))
