"""The Lotka-Volterra model of prey x and predators y (paper, Sec. IV A 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.laws import Conserved, Instant
from pnde.systems.base import System, Variant


class LotkaVolterra(System):
    """ẋ = αx - βxy, ẏ = δxy - γy; V = δx - γ ln x + βy - α ln y is conserved.

    Both populations have to stay positive. The paper gives no parameters; those of its authors' code are the default.
    Initial states of the paper: uniform in [0.5, 2]²; of the code: x in [0.8, 3], y in [0.5, 2.5].
    """

    name = "lotka-volterra"
    states = ("x", "y")
    units = ("", "")
    t_end, dt, test_t_end = 25.0, 0.1, 100.0

    def __init__(
        self, alpha: float = 1.5, beta: float = 1.0, gamma: float = 3.0, delta: float = 1.0
    ):
        self.alpha, self.beta, self.gamma, self.delta = alpha, beta, gamma, delta
        self.constraint = Conserved(
            self.conserved,
            jacobian=self.conserved_gradient,
            names=("V",),
            states=self.states,
            domain=positive,
            julia="LotkaVolterra",
            julia_parameters=self.parameters,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "beta": self.beta,
            "gamma": self.gamma,
            "delta": self.delta,
        }

    def rhs(self, u: Any, at: Instant) -> Any:
        x, y = u
        return u.__array_namespace__().stack(
            [self.alpha * x - self.beta * x * y, self.delta * x * y - self.gamma * y]
        )

    def conserved(self, u: Any) -> Any:
        """V(x, y) (paper, Eq. 23)"""
        xp = u.__array_namespace__()
        x, y = u
        return self.delta * x - self.gamma * xp.log(x) + self.beta * y - self.alpha * xp.log(y)

    def conserved_gradient(self, u: Any) -> Any:
        """G = (δ - γ/x, β - α/y) (paper, Appendix I)"""
        x, y = u
        return u.__array_namespace__().stack(
            [self.delta - self.gamma / x, self.beta - self.alpha / y]
        )[None]

    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        low, high = ((0.8, 0.5), (3.0, 2.5)) if variant == "code" else ((0.5, 0.5), (2.0, 2.0))
        return rng.uniform(low, high, (count, 2))


def positive(u: Any) -> Any:
    """Both populations are positive."""
    return (u > 0).all()
