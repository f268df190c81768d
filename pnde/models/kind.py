"""What kind of model learns: its method, γ and coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from pnde.errors import ConfigError, nearest

Method = Literal["nde", "snde", "pnde"]
Coordinates = Literal["given", "angular"]

_ANGULAR = "angular-"


@dataclass(frozen=True)
class ModelKind:
    """Method, γ and coordinates of a model, under one name: `nde`, `snde:10`, `pnde`, `angular-nde`.

    - `method`: `"nde"`, `"snde"` or `"pnde"` (paper, Eq. 1, 8 and 16).
    - `gamma`: γ of an SNDE; `None` for the others.
    - `coordinates`: `"angular"` for a pendulum that is learned in angles; else `"given"`.
    """

    method: Method
    gamma: float | None = None
    coordinates: Coordinates = "given"

    @classmethod
    def parse(cls, name: str) -> ModelKind:
        """The kind of that name.

        **Raises:** `pnde.errors.ConfigError` if the name is not a method, or γ is missing or not a positive number.
        """
        method, colon, gamma = name.removeprefix(_ANGULAR).partition(":")
        coordinates: Coordinates = "angular" if name.startswith(_ANGULAR) else "given"
        known: tuple[Method, ...] = get_args(Method)
        chosen = next((kind for kind in known if kind == method), None)
        if chosen is None:
            raise ConfigError(f"there is no model {name[:60]!r}{nearest(name[:60], known)}")
        if chosen != "snde":
            if colon:
                raise ConfigError(f"only snde has a γ: write {method!r}, not {name[:60]!r}")
            return cls(chosen, None, coordinates)
        if not gamma:
            raise ConfigError("snde needs its γ, such as snde:10")
        try:
            value = float(gamma)
        except ValueError:
            value = float("nan")
        if not 0 < value < float("inf"):
            raise ConfigError(f"the γ of {name[:60]!r} is not a positive number")
        return cls(chosen, value, coordinates)

    def __str__(self) -> str:
        """The name that `parse` reads."""
        gamma = "" if self.gamma is None else f":{self.gamma:g}"
        return f"{self._prefix}{self.method}{gamma}"

    @property
    def label(self) -> str:
        """What tables and figures call it: `SNDE γ=10`, `angular NDE`."""
        gamma = "" if self.gamma is None else f" γ={self.gamma:g}"
        return f"{self._prefix.replace('-', ' ')}{self.method.upper()}{gamma}"

    @property
    def slug(self) -> str:
        """The name as a part of a file's name: `snde-10`."""
        return str(self).replace(":", "-")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `pnde.config.Config` that make a model of this kind."""
        return {"method": self.method} | ({} if self.gamma is None else {"gamma": self.gamma})

    @property
    def _prefix(self) -> str:
        return _ANGULAR if self.coordinates == "angular" else ""
