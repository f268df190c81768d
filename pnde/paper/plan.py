"""What a reproduction of the paper is asked to be: which studies, how large, by the text or by the code."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pnde.config import Config
from pnde.errors import ConfigError, RunError
from pnde.experiment import Experiment
from pnde.files import damaged, make_folder, read_json, write_json
from pnde.paper.studies import STUDIES, Study, study

FILE = "paper.json"
PRESETS = {"quick": "quick", "medium": "medium", "full": "paper"}
#: The authors' code tests the grid with these tolerances, where the paper's text says 1e-6.
CODE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Plan:
    """What to reproduce.

    - `preset`: `"quick"`, small networks and few trajectories; `"medium"`, which two cores train in an hour a seed; or
        `"full"`, Table IV as it is.
    - `studies`: names in `pnde.paper.studies.STUDIES`; `seeds`: how many, 1, 2, …
    - `variant`: `"text"` or `"code"`, where the paper's text and its authors' code differ: initial states, friction of
        the pendulum, set-points of bus 8, tolerances of the grid's test.
    - `horizon`: test rollouts as long as in the paper's `"figures"` (and the code), or T of its `"table"` IV.
    - `settings`: settings of all studies that differ from the preset, as `pnde.Config.make` takes them.

    **Raises:** `pnde.errors.ConfigError` for a value that is not known.
    """

    preset: str = "quick"
    studies: tuple[str, ...] = tuple(STUDIES)
    seeds: int = 1
    variant: str = "text"
    horizon: str = "figures"
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, known in (
            ("preset", tuple(PRESETS)),
            ("variant", ("text", "code")),
            ("horizon", ("figures", "table")),
        ):
            if getattr(self, name) not in known:
                *others, last = map(repr, known)
                raise ConfigError(
                    f"{name} is {', '.join(others)} or {last}, not {getattr(self, name)!r}"
                )
        if self.seeds < 1:
            raise ConfigError(f"seeds is how many, 1 or more, not {self.seeds}")
        for name in self.studies:
            self.experiment(study(name), 1)

    def experiment(self, study: Study, seed: int) -> Experiment:
        """The experiment of a study, to be run in `folder`."""
        source, parameters = study.source, dict(study.parameters)
        changed: dict[str, Any] = {"seed": seed}
        if self.variant == "code":
            source = study.code.get("source", source)
            parameters = dict(study.code.get("parameters", parameters))
            changed |= {"data.initial_conditions": "code"}
            if study.long:
                changed |= {"rollout.rtol": CODE_TOLERANCE, "rollout.atol": CODE_TOLERANCE}
        changed |= self.settings
        plain, mechanical = (
            Config.make(Config.preset(study.preset, PRESETS[self.preset], form), **changed)
            for form in ("mlp", "mechanical")
        )
        return Experiment(source, study.models, plain, parameters, mechanical=mechanical)

    def t_end(self, study: Study) -> float:
        """The end of a study's test rollouts."""
        return study.t_end if self.horizon == "figures" else study.table_t_end

    def write(self, folder: Path) -> Plan:
        """Note the plan in the folder; with the studies and seeds that are there, if it goes on with one.

        **Raises:** `pnde.errors.ConfigError` if the folder holds a reproduction with other settings, or something else.
        """
        plan = self
        if (folder / FILE).exists():
            there = Plan.read(folder)
            for name in ("preset", "variant", "horizon", "settings"):
                old, new = getattr(there, name), getattr(self, name)
                if old != new:
                    raise ConfigError(
                        f"{folder} was made with {name} {old!r}, not {new!r}; name another folder with -o"
                    )
            both = {*there.studies, *self.studies}
            names = tuple(name for name in STUDIES if name in both)
            plan = replace(self, studies=names, seeds=max(self.seeds, there.seeds))
        elif folder.exists() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} is not empty and holds no reproduction of the paper; name another folder with -o"
            )
        make_folder(folder)
        write_json(folder / FILE, asdict(plan))
        return plan

    @classmethod
    def read(cls, folder: Path) -> Plan:
        """The plan in a folder.

        **Raises:** `pnde.errors.RunError` if there is none.
        """
        if not (folder / FILE).exists():
            raise RunError(
                f"{folder} holds no reproduction of the paper; pnde paper -o {folder} makes one"
            )
        facts = read_json(folder / FILE)
        try:
            return cls(**{**facts, "studies": tuple(facts["studies"])})
        except (KeyError, TypeError) as error:
            raise damaged(folder / FILE, error) from None
