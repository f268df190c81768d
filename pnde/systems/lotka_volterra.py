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
        return velocity(u, **self.parameters)

    def conserved(self, u: Any) -> Any:
        """V(x, y) (paper, Eq. 23)"""
        return invariant(u, **self.parameters)

    def conserved_gradient(self, u: Any) -> Any:
        """G = (δ - γ/x, β - α/y) (paper, Appendix I)"""
        return invariant_gradient(u, **self.parameters)

    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        low, high = ((0.8, 0.5), (3.0, 2.5)) if variant == "code" else ((0.5, 0.5), (2.0, 2.0))
        return rng.uniform(low, high, (count, 2))


def velocity(u: Any, alpha: Any, beta: Any, gamma: Any, delta: Any) -> Any:
    """(αx - βxy, δxy - γy) of one state `(2,)`."""
    x, y = u
    return u.__array_namespace__().stack([alpha * x - beta * x * y, delta * x * y - gamma * y])


def invariant(u: Any, alpha: Any, beta: Any, gamma: Any, delta: Any) -> Any:
    """V = δx - γ ln x + βy - α ln y of one state `(2,)`."""
    xp = u.__array_namespace__()
    x, y = u
    return delta * x - gamma * xp.log(x) + beta * y - alpha * xp.log(y)


def invariant_gradient(u: Any, alpha: Any, beta: Any, gamma: Any, delta: Any) -> Any:
    """∂V/∂u `(1, 2)`."""
    x, y = u
    return u.__array_namespace__().stack([delta - gamma / x, beta - alpha / y])[None]


def positive(u: Any) -> Any:
    """Both populations are positive."""
    return (u > 0).all()
