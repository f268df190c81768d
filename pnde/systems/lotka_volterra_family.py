"""Lotka-Volterra models that differ in how prey and predators meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.errors import ConfigError
from pnde.laws import Conserved, Instant
from pnde.systems.base import Driving, System, Variant
from pnde.systems.lotka_volterra import invariant, invariant_gradient, positive, velocity


class LotkaVolterraFamily(System):
    """ẋ = αx - βxy, ẏ = δxy - γy with β and δ of each trajectory's own; V = δx - γ ln x + βy - α ln y is conserved.

    The setting of Yin et al. 2021 ("LEADS: Learning dynamical systems that generalize across environments", Sec. 4.2)
    and Kirchmeyer et al. 2022 ("Generalizing to new physical systems via context-informed dynamics model"):
    α = γ = 0.5, each of β and δ from `values`, as many trajectories of every pair; initial states uniform in [1, 3]².

    **Arguments:**

    - `alpha`, `gamma`: α and γ.
    - `values`: of β, and of δ.
    """

    name = "lotka-volterra-family"
    states = ("x", "y")
    units = ("", "")
    family = ("beta", "delta")
    t_end, dt, test_t_end = 10.0, 0.5, 10.0

    def __init__(self, alpha: float = 0.5, gamma: float = 0.5, values: Any = (0.5, 0.75, 1.0)):
        self.alpha, self.gamma = alpha, gamma
        self.values = tuple(float(value) for value in np.atleast_1d(values))
        if not self.values or min(self.values) <= 0:
            raise ConfigError(f"{self.name}: values of beta and delta are positive numbers")
        self.constraint = Conserved(
            self.conserved,
            jacobian=self.conserved_gradient,
            names=("V",),
            states=self.states,
            domain=positive,
            julia="LotkaVolterraFamily",
            julia_parameters={"alpha": self.alpha, "gamma": self.gamma},
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "gamma": self.gamma, "values": list(self.values)}

    def rhs(self, u: Any, at: Instant) -> Any:
        return velocity(u, **self._of_one(at.p))

    def conserved(self, u: Any, p: Any) -> Any:
        """V(x, y; β, δ) (paper, Eq. 23)"""
        return invariant(u, **self._of_one(p))

    def conserved_gradient(self, u: Any, p: Any) -> Any:
        """G = (δ - γ/x, β - α/y) (paper, Appendix I)"""
        return invariant_gradient(u, **self._of_one(p))

    def _of_one(self, p: Any) -> dict[str, Any]:
        """All parameters of a trajectory with p = (β, δ)."""
        return {"alpha": self.alpha, "beta": p[0], "gamma": self.gamma, "delta": p[1]}

    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        return rng.uniform(1.0, 3.0, (count, 2))

    def drive(self, rng: np.random.Generator, count: int, times: np.ndarray) -> Driving:
        """The pairs one after another, so that any number of trajectories in a row has all of them alike."""
        pairs = np.array([(beta, delta) for beta in self.values for delta in self.values])
        return Driving(p=pairs[np.arange(count) % len(pairs)])
