"""What kind of model learns: its method, γ, form and coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from pnde.errors import ConfigError, nearest

Method = Literal["nde", "snde", "pnde"]
Coordinates = Literal["given", "angular"]
Form = Literal["mlp", "skew-gradient", "mechanical"]

_ANGULAR = "angular-"


@dataclass(frozen=True)
class ModelKind:
    """Method, γ, coordinates and form of a model, under one name: `snde:10`, `angular-nde`, `skew-gradient-pnde`.

    - `method`: `"nde"`, `"snde"` or `"pnde"` (paper, Eq. 1, 8 and 16).
    - `gamma`: γ of an SNDE; `None` for the others.
    - `coordinates`: `"angular"` for a pendulum that is learned in angles; else `"given"`.
    - `form`: what the network gives; see `network.form` of `pnde.Config`.
    """

    method: Method
    gamma: float | None = None
    coordinates: Coordinates = "given"
    form: Form = "mlp"

    @classmethod
    def parse(cls, name: str) -> ModelKind:
        """The kind of that name.

        **Raises:** `pnde.errors.ConfigError` if the name is not a method, or γ is missing or not a positive number.
        """
        forms: tuple[Form, ...] = get_args(Form)
        form: Form = next((form for form in forms if name.startswith(f"{form}-")), "mlp")
        rest = name.removeprefix(f"{form}-")
        coordinates: Coordinates = "angular" if rest.startswith(_ANGULAR) else "given"
        method, colon, gamma = rest.removeprefix(_ANGULAR).partition(":")
        known: tuple[Method, ...] = get_args(Method)
        chosen = next((kind for kind in known if kind == method), None)
        if chosen is None:
            raise ConfigError(f"there is no model {name[:60]!r}{nearest(name[:60], known)}")
        if chosen != "snde":
            if colon:
                raise ConfigError(f"only snde has a γ: write {method!r}, not {name[:60]!r}")
            return cls(chosen, None, coordinates, form)
        if not gamma:
            raise ConfigError("snde needs its γ, such as snde:10")
        try:
            value = float(gamma)
        except ValueError:
            value = float("nan")
        if not 0 < value < float("inf"):
            raise ConfigError(f"the γ of {name[:60]!r} is not a positive number")
        return cls(chosen, value, coordinates, form)

    def __str__(self) -> str:
        """The name that `parse` reads."""
        gamma = "" if self.gamma is None else f":{self.gamma:g}"
        return "-".join((*self._adjectives, f"{self.method}{gamma}"))

    @property
    def label(self) -> str:
        """What tables and figures call it: `SNDE γ=10`, `mechanical PNDE`."""
        gamma = "" if self.gamma is None else f" γ={self.gamma:g}"
        return " ".join((*self._adjectives, f"{self.method.upper()}{gamma}"))

    @property
    def slug(self) -> str:
        """The name as a part of a file's name: `snde-10`."""
        return str(self).replace(":", "-")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `pnde.config.Config` that make a model of this kind."""
        out: dict[str, Any] = {"method": self.method}
        out |= {} if self.gamma is None else {"gamma": self.gamma}
        return out | ({} if self.form == "mlp" else {"network.form": self.form})

    @property
    def _adjectives(self) -> tuple[str, ...]:
        form = () if self.form == "mlp" else (self.form,)
        return (*form, "angular") if self.coordinates == "angular" else form
