"""The systems that the paper studies, each with its models and the horizons of its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pnde.errors import ConfigError, nearest
from pnde.models import ModelKind

ANGULAR_NDE = "angular-nde"


@dataclass(frozen=True)
class Study:
    """Models of one system beside each other.

    - `name`, `title`: in folders and options, and in figures and tables.
    - `source`, `parameters`: the system, as `pnde.experiment.Experiment` takes it.
    - `code`: what changes where the authors' code differs from the paper's text: `source` and `parameters`.
    - `models`: as in `pnde.experiment.Experiment`.
    - `preset`: the system's name in the presets.
    - `t_end`, `dt`: test horizon and sampling of the figures, which are those of the authors' code but for a coarser
        dt of the slow systems; `table_t_end`: T of the paper's Table IV, the text's test horizon.
    - `long`: end and sampling of the long rollout, and from how many initial states; `None` if there is none.
    """

    name: str
    title: str
    source: str
    models: tuple[str, ...]
    preset: str
    t_end: float
    dt: float
    table_t_end: float
    parameters: Mapping[str, Any] = field(default_factory=dict)
    code: Mapping[str, Any] = field(default_factory=dict)
    long: tuple[float, float, int] | None = None

    @property
    def baseline(self) -> str:
        """The model without a law."""
        return next(name for name in self.models if unconstrained(name))

    @property
    def of_paper(self) -> tuple[str, ...]:
        """The models that the paper has; those with a learned energy are not among them."""
        return tuple(name for name in self.models if ModelKind.parse(name).form == "mlp")

    @property
    def stabilised(self) -> tuple[str, ...]:
        """The SNDE, by rising γ."""
        names = [name for name in self.models if name.startswith("snde:")]
        return tuple(sorted(names, key=gamma))


def unconstrained(name: str) -> bool:
    """Whether a model has no law."""
    return ModelKind.parse(name).method == "nde"


def gamma(name: str) -> float:
    """The γ of `snde:10`."""
    return ModelKind.parse(name).gamma or 0.0


def label(name: str) -> str:
    """What figures and tables call a model."""
    return ModelKind.parse(name).label


def slug(name: str) -> str:
    """A model's name as a part of a file's."""
    return ModelKind.parse(name).slug


def _pendulum(n: int) -> Study:
    return Study(
        name=f"pendulum-{n}",
        title=f"{n}-pendulum",
        source="pendulum",
        parameters={"n": n},
        code={"parameters": {"n": n, "friction_form": "code"}},
        models=(ANGULAR_NDE, "snde:20", "snde:200", "pnde", "mechanical-pnde"),
        preset="pendulum",
        t_end=5.0,
        dt=0.01,
        table_t_end=10.0,
    )


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            name="quartic",
            title="Quartic potential",
            source="quartic",
            models=("nde", "snde:1", "snde:10", "pnde"),
            preset="quartic",
            t_end=100.0,
            dt=0.05,
            table_t_end=25.0,
        ),
        Study(
            name="lotka-volterra",
            title="Lotka–Volterra",
            source="lotka-volterra",
            # The paper could not train SNDE here and names no γ: those of the quartic potential and a smaller one.
            models=("nde", "snde:0.1", "snde:1", "snde:10", "pnde"),
            preset="lotka-volterra",
            t_end=100.0,
            dt=0.05,
            table_t_end=25.0,
        ),
        _pendulum(4),
        _pendulum(8),
        Study(
            name="ieee14",
            title="IEEE 14-bus",
            source="ieee14",
            code={"source": "ieee14-published"},
            models=("nde", "snde:0.1", "snde:1", "snde:10", "pnde"),
            preset="grid",
            t_end=10.0,
            dt=0.1,
            table_t_end=10.0,
            long=(500.0, 1.0, 50),
        ),
    )
}


def study(name: str) -> Study:
    """The study of that name.

    **Raises:** `pnde.errors.ConfigError` if there is none.
    """
    if name not in STUDIES:
        raise ConfigError(
            f"the paper has no study {name!r}{nearest(name, STUDIES)}; there are: {', '.join(STUDIES)}"
        )
    return STUDIES[name]


def chosen(names: list[str] | None) -> tuple[str, ...]:
    """Studies in the order of the paper; all if absent. `pendulum` stands for both.

    **Raises:** `pnde.errors.ConfigError` if one of them is not known.
    """
    if names is None:
        return tuple(STUDIES)
    picked: set[str] = set()
    for name in names:
        several = (
            [known for known in STUDIES if known.startswith(f"{name}-")]
            if name == "pendulum"
            else []
        )
        picked.update(several or [study(name).name])
    return tuple(name for name in STUDIES if name in picked)
