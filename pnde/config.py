"""Every setting of a training run, in one validated object that reads and writes TOML."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pnde.errors import ConfigError, RunError, brief, nearest, shown
from pnde.files import read_bytes, write_bytes

Precision = Literal["float32", "float64"]
Count = Annotated[int, Field(gt=0, le=10**9)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

# No configuration is as large.
_LARGEST = 2**20


class Section(BaseModel):
    """A part of the configuration: no unknown keys, no other types, frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NetworkConfig(Section):
    """The multilayer perceptron (paper, Table IV), and what it gives."""

    form: Literal["mlp", "skew-gradient", "mechanical"] = Field(
        "mlp",
        description="what the network gives: the velocity, or of a second-order system the acceleration; "
        "skew-gradient: the matrix A = -Aᵀ of the velocity A ∇h, for a law of one row h; mechanical: the potential of "
        "a second-order system, whose masses and dissipation are learned beside it",
    )
    masses: Literal["diagonal", "matrix", "state"] = Field(
        "diagonal",
        description="of the mechanical form: a mass for each position, a constant matrix, or a matrix that depends on "
        "the positions",
    )
    dissipation: Literal["none", "constant", "state"] = Field(
        "constant",
        description="of the mechanical form: none, by a constant matrix, or by one that depends on the positions",
    )

    layers: Count = Field(2, le=1000, description="hidden layers")
    width: Count = Field(64, le=100_000, description="units in each hidden layer")
    activation: Literal["gelu", "tanh", "relu", "softplus"] = Field(
        "gelu", description="what a hidden unit does"
    )
    skip: bool = Field(False, description="residual connections between the hidden layers")
    output: Literal["speed", "raw"] = Field(
        "speed",
        description="what an output is a multiple of: the data's own speed, or 1 (the paper)",
    )
    matmul_precision: Literal["default", "high", "highest"] = Field(
        "highest",
        description="of the network's float32 products, as jax.lax.Precision; default is TF32 on a GPU",
    )


class ProjectionConfig(Section):
    """How the velocity is projected."""

    method: Literal["cholesky", "qr", "truncated"] = Field(
        "cholesky",
        description="factorisation of G W Gᵀ; qr for ill-conditioned, truncated for dependent rows",
    )
    metric: Literal["euclidean", "spread"] | None = Field(
        None,
        description="what is nearest, where no metric= is given: by the numbers of the states (the paper), or each in "
        "units of its spread in the data; if absent, euclidean for a built-in system's own law and spread for yours",
    )
    rate: Positive | None = Field(
        None,
        description="α of all bounds, in 1/time: h comes closer to its bound at α times the distance at most; twice "
        "the fastest of each row in the data if absent",
    )


class SolverConfig(Section):
    """How an ODE is solved."""

    solver: Literal["tsit5", "dopri5", "dopri8", "kvaerno5"] = Field(
        "tsit5", description="Runge-Kutta method; kvaerno5 is implicit, for stiff equations"
    )
    rtol: Positive = Field(1e-6, description="relative tolerance of a step")
    atol: Positive = Field(
        1e-6,
        description="absolute tolerance of a step, in units of each state's spread in the data",
    )
    max_steps: Count = Field(
        100_000, description="steps, rejected ones included, after which a trajectory has failed"
    )
    step: Positive | None = Field(None, description="fixed step size; adaptive if absent")
    retract: Literal["step", "save", "never"] = Field(
        "step", description="when the state is put back on the manifold; never is the paper"
    )
    precision: Precision = Field("float64", description="of states, weights and times")


class TrainingSolverConfig(SolverConfig):
    """The solver inside a training step (paper, Appendix G)."""

    rtol: Positive = Field(1e-4, description="relative tolerance of a step")
    atol: Positive = Field(
        1e-4,
        description="absolute tolerance of a step, in units of each state's spread in the data",
    )
    max_steps: Count = Field(256, description="steps of a segment, rejected ones included")
    retract: Literal["step", "save", "never"] = Field(
        "never", description="when the state is put back on the manifold"
    )
    precision: Precision = Field("float32", description="of states, weights and times")
    adjoint: Literal["discretise", "backsolve"] = Field(
        "discretise",
        description="gradient of the solve: of its steps, or the paper's backward solve",
    )


class OptimiserConfig(Section):
    """AdamW, with a cosine from `learning_rate` to `final_learning_rate` over `decay_epochs`, then constant."""

    epochs: Count | None = Field(
        None,
        description="passes over the training segments; 100, or as many as make 2000 steps, if absent",
    )
    batch_size: Count = Field(1024, description="segments in a step of the optimiser")
    learning_rate: Positive = Field(1e-3, description="at the start")
    final_learning_rate: Positive = Field(1e-6, description="at the end of the decay")
    decay_epochs: Count | None = Field(None, description="half of the epochs if absent")
    weight_decay: float = Field(
        1e-4, ge=0, allow_inf_nan=False, description="AdamW's pull of the weights to 0"
    )
    clip: Positive | None = Field(None, description="largest size of a gradient component")
    segment: Count = Field(4, description="time steps predicted from each initial state")
    checkpoint_every: Count = Field(1, description="epochs between checkpoints")


class DataConfig(Section):
    """Which trajectories go where, and for built-in systems how many are made, and how."""

    train: Positive = Field(0.6, description="a share of the trajectories, or how many")
    valid: Positive = Field(0.2, description="likewise")
    test: Positive = Field(0.2, description="likewise")
    t_end: Positive | None = Field(
        None, description="length of a trajectory; the system's if absent"
    )
    dt: Positive | None = Field(None, description="time between samples; the system's if absent")
    initial_conditions: Literal["paper", "code"] = Field(
        "paper", description="the paper's text, or its authors' code, where the two differ"
    )


class Config(Section):
    """The whole configuration of one training run."""

    method: Literal["nde", "snde", "pnde"] = Field(
        "pnde", description="no law, a stabilised or a projected one"
    )
    gamma: Positive = Field(1.0, description="SNDE stabilisation γ")
    seed: int = Field(
        1, ge=0, lt=2**63, description="of first weights, order of batches, simulated data"
    )
    members: int = Field(
        1,
        ge=1,
        le=1000,
        description="models that are trained together, with seeds one after another; several are an ensemble",
    )
    engine: Literal["auto", "jax", "julia"] = Field(
        "auto", description="auto: $PNDE_ENGINE, else julia if it is set up, else jax"
    )
    device: Literal["auto", "cpu", "gpu"] = Field(
        "auto", description="what computes; auto: a GPU if the engine finds one, else the CPU"
    )
    devices: Literal[1, "all"] = Field(
        1,
        description="how many compute together; all: a batch of training is spread over all that there are, and so are "
        "the trajectories of a forecast",
    )
    tolerance: Positive = Field(
        1e-6,
        description="how far an initial state may be off the manifold, relative to the law's size",
    )
    on_failure: Literal["raise", "mask"] = Field(
        "mask", description="what a rollout does with a trajectory that could not be integrated"
    )
    network: NetworkConfig = NetworkConfig()
    projection: ProjectionConfig = ProjectionConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    solver: TrainingSolverConfig = TrainingSolverConfig()
    rollout: SolverConfig = SolverConfig()
    data: DataConfig = DataConfig()

    @model_validator(mode="after")
    def _implicit_steps_may_shrink(self) -> Config:
        for name in ("solver", "rollout"):
            section = getattr(self, name)
            if section.solver == "kvaerno5" and section.step is not None:
                raise ValueError(
                    f'{name}.solver = "kvaerno5" has to shorten a step whose equations it cannot solve: leave '
                    f"{name}.step out"
                )
        return self

    @model_validator(mode="after")
    def _backsolve_does_not_retract(self) -> Config:
        if self.solver.adjoint == "backsolve" and self.solver.retract == "step":
            raise ValueError(
                'solver.adjoint = "backsolve" integrates the state backwards and cannot retract each step: '
                'set solver.retract to "save" or "never"'
            )
        return self

    @classmethod
    def make(cls, base: Config | None = None, **settings: Any) -> Config:
        """A configuration from `base` (the defaults if absent) and settings.

        **Arguments:**

        - `settings`: sections (`network={"width": 128}`), or single settings by their own name (`width=128`) where
            only one section has that name, or by their full name (`{"solver.rtol": 1e-5}`).

        **Raises:** `pnde.errors.ConfigError` naming the setting, with the nearest known name.
        """
        values = (base or cls()).model_dump()
        for key, value in settings.items():
            _assign(values, key, value)
        return cls._validated(values, "the settings")

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """The configuration in a TOML file.

        **Raises:** `pnde.errors.ConfigError` naming the file and the setting.
        """
        if not Path(path).exists():
            raise ConfigError(f"cannot read the configuration {path}: No such file")
        try:
            text = read_bytes(Path(path), _LARGEST).decode()
        except (RunError, ValueError) as error:
            raise ConfigError(f"cannot read the configuration: {error}") from None
        return cls.parse(text, str(path))

    @classmethod
    def preset(cls, system: str, preset: str, form: str = "mlp") -> Config:
        """The settings of a built-in system: preset `"quick"`, `"paper"` (Table IV), or for the paper's `"medium"`.

        Models of the form `"mechanical"` have settings of their own for some systems.
        """
        folder = resources.files("pnde") / "presets"
        name = f"{system}-{preset}.toml"
        known = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
        if name not in known:
            presets = [k[len(system) + 1 : -5] for k in known if k.startswith(f"{system}-")]
            raise ConfigError(
                f"there is no preset {preset!r} for {system!r}{nearest(preset, presets)}; "
                f"there are: {', '.join(presets) or 'none'}"
            )
        own = f"{form}-{name}"
        name = own if own in known else name
        return cls.parse((folder / name).read_text(encoding="utf-8"), name)

    def toml(self) -> str:
        """The whole configuration, defaults included, as TOML."""
        import tomli_w

        return tomli_w.dumps(self.model_dump(exclude_none=True))

    def write(self, path: str | Path) -> None:
        """Write the whole configuration, defaults included, as TOML."""
        write_bytes(Path(path), self.toml().encode())

    @classmethod
    def parse(cls, text: str, source: str) -> Config:
        """The configuration in TOML text; `source` is what messages call it.

        **Raises:** `pnde.errors.ConfigError` naming the source and the setting.
        """
        try:
            values = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(f"{source} is not valid TOML: {str(error)[:120]}") from None
        return cls._validated(values, source)

    @classmethod
    def _validated(cls, values: dict[str, Any], source: str) -> Config:
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(f"{brief(source, 100)}: {_first_problem(error)}") from None
        except RecursionError:
            raise ConfigError(
                f"{brief(source, 100)}: settings nested in settings without end"
            ) from None


def _sections() -> dict[str, type[Section]]:
    return {
        name: field.annotation
        for name, field in Config.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    }


def _assign(values: dict[str, Any], key: str, value: Any) -> None:
    """Put one setting where it belongs in the nested `values`."""
    sections = _sections()
    if isinstance(value, np.generic):
        value = value.item()
    if key in sections:
        if not isinstance(value, dict):
            value = value.model_dump() if isinstance(value, Section) else value
        if not isinstance(value, dict):
            raise ConfigError(
                f"{key!r} is a section: give it a dict of settings, not {_text(value)}"
            )
        values[key] = values[key] | value
    elif key in Config.model_fields:
        values[key] = value
    elif "." in key and key.split(".", 1)[0] in sections:
        section, leaf = key.split(".", 1)
        values[section] = values[section] | {leaf: value}
    else:
        homes = [name for name, kind in sections.items() if key in kind.model_fields]
        if len(homes) > 1:
            options = " or ".join(f"{home}.{key}" for home in homes)
            raise ConfigError(f"the setting {key!r} is in several sections: say {options}")
        if not homes:
            known = {leaf for kind in sections.values() for leaf in kind.model_fields}
            known |= set(Config.model_fields)
            raise ConfigError(f"unknown setting {shown(key)}{nearest(key, known)}")
        values[homes[0]] = values[homes[0]] | {key: value}


def _first_problem(error: ValidationError) -> str:
    """One sentence about the first problem that pydantic found."""
    problem = error.errors()[0]
    where = brief(".".join(str(part) for part in problem["loc"]), 80)
    if problem["type"] == "extra_forbidden":
        *parents, leaf = problem["loc"]
        kind: type[Section] = _sections()[str(parents[0])] if parents else Config
        return f"unknown setting {where!r}{nearest(leaf, kind.model_fields)}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where} = {_text(problem['input'])}: {message}" if where else message


def _text(value: Any) -> str:
    """A value as a message can show it."""
    try:
        return brief(repr(value))
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"
