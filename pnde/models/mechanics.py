"""What is known of a mechanical system, beside what is learned of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pnde.errors import ConfigError

if TYPE_CHECKING:
    from pnde.models.model import Model


# Positions whose spreads differ by less are taken for ones of one kind: their masses start equal.
_ALIKE = 30.0


@dataclass(frozen=True, eq=False)
class Mechanics:
    """Known parts of M q̈ = -∇V - A q̇ + F: the `physics=` of a model with `network.form = "mechanical"`.

    Masses that are given are the masses. Everything else is added to what is learned: the network finds the rest of
    the potential. A function of the positions `q` `(n/2,)` may take the parameters `p` of the trajectory too.

    **Arguments:**

    - `masses`: a mass for each position `(n/2,)`, a symmetric positive definite matrix `(n/2, n/2)`, or a function of
        `q` giving either.
    - `potential`: a function of `q` giving the potential energy, a number.
    - `dissipation`: A as a friction for each velocity `(n/2,)`, a matrix `(n/2, n/2)` whose symmetric part is positive
        semidefinite, or a function of `q` giving either. With `network.dissipation = "none"` it is all of A.
    - `forces`: a function of the state `u` `(n,)`, and of any of `t`, `w` and `p`, giving forces `(n/2,)`.

    **Raises:** `pnde.errors.ConfigError` for masses that are not positive, or a dissipation that drives.
    """

    masses: Any = None
    potential: Callable[..., Any] | None = None
    dissipation: Any = None
    forces: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise ConfigError(
                "pnde.Mechanics needs what is known: masses, potential, dissipation or forces"
            )
        for name in ("potential", "forces"):
            part = getattr(self, name)
            if part is not None and not callable(part):
                raise ConfigError(f"the {name} of pnde.Mechanics is a function, not {part!r:.40}")
        for name, words in (("masses", "positive"), ("dissipation", "positive or 0")):
            part = getattr(self, name)
            if part is not None and not callable(part):
                object.__setattr__(self, name, _checked(name, part, words))

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what is known."""
        names = ("masses", "potential", "dissipation", "forces")
        return tuple(name for name in names if getattr(self, name) is not None)

    @property
    def __name__(self) -> str:
        """What records and messages call it."""
        return f"known {', '.join(self.parts)}"


def _checked(name: str, given: Any, words: str) -> np.ndarray:
    wanted = f"the {name} of pnde.Mechanics: numbers ({words}), one for each position, a matrix, or a function of q"
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"{wanted}; not {type(given).__name__}") from None
    if (
        array.ndim not in (1, 2)
        or array.shape[0] != array.shape[-1]
        or not np.isfinite(array).all()
    ):
        raise ConfigError(f"{wanted}; not finite numbers of shape {array.shape}")
    full = np.diag(array) if array.ndim == 1 else array
    lowest = float(np.linalg.eigvalsh((full + full.T) / 2)[0])
    size = float(np.abs(full).max())
    if name == "masses" and not (lowest > 0 and np.allclose(full, full.T)):
        raise ConfigError(f"{wanted}; these are not symmetric and positive")
    if name == "dissipation" and lowest < -1e-9 * size:
        raise ConfigError(
            f"{wanted}; this one drives: its symmetric part has the eigenvalue {lowest:.3g}"
        )
    return array


def check_mechanics(model: Model) -> None:
    """Whether the form of the network, the order of the system and what is known go together.

    **Raises:** `pnde.errors.ConfigError` naming the setting and the remedy.
    """
    physics, half = model.physics, len(model.states) // 2
    if not model.mechanical:
        if isinstance(physics, Mechanics):
            raise ConfigError(
                'physics=pnde.Mechanics(...) is for network.form = "mechanical": set that, or pass a function that '
                "gives the known velocity"
            )
        return
    if model.order != 2:
        raise ConfigError(
            'network.form = "mechanical" is for states (q, q̇), positions and their velocities: pass order=2 (on the '
            'command line --order 2), or set network.form = "mlp"'
        )
    if physics is None:
        return
    if not isinstance(physics, Mechanics):
        raise ConfigError(
            'with network.form = "mechanical", what is known is given as '
            "physics=pnde.Mechanics(masses=..., potential=...), not as a function"
        )
    for name in ("masses", "dissipation"):
        part = getattr(physics, name)
        if isinstance(part, np.ndarray) and len(part) != half:
            raise ConfigError(
                f"the {name} of pnde.Mechanics are those of {len(part)} positions, but the data have {half}"
            )


def scales(model: Model) -> tuple[np.ndarray, float, float]:
    """Units in which what the networks of a mechanical model give is of the size 1: s `(n/2,)`, κ and Ω.

    With the spreads s of the positions (one for all, where they are alike), their accelerations a and
    κ = (∏ s²)^(1/k), these are

        M_ij ~ κ/(s_i s_j),    V ~ κ Ω²,    A_ij ~ κ Ω/(k s_i s_j),    Ω² = mean(a/s).
    """
    spread = model.std[: len(model.std) // 2]
    if spread.max() < _ALIKE * spread.min():
        spread = np.full_like(spread, np.exp(np.mean(np.log(spread))))
    kappa = float(np.exp(np.mean(np.log(spread**2))))
    omega = 1.0 if model.speed is None else float(np.sqrt(np.mean(model.speed / spread)))
    return spread, kappa, omega
