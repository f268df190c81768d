"""A particle in the quartic potential V = r⁴/4 (paper, Sec. IV A 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.laws import Conserved, Instant
from pnde.systems.base import System, Variant


class Quartic(System):
    """Unit mass, ẍ = -x r², ÿ = -y r² (paper, Eq. 17-18), state (x, y, ẋ, ẏ).

    The law is the energy. The angular momentum is conserved too, but it is not part of the law: like the paper, we
    suppose that only one of the two is known.

    Initial states of the paper: r in [0.8, 1.2], any angle, the speed r² of a circular orbit (v²/r = r³) and
    a perturbation of each component, uniform within ±`perturbation` of that speed. The paper gives it no size; 0.1 is
    ours.
    Those of the authors' code: each component uniform in [-1, 1].
    """

    name = "quartic"
    states = ("x", "y", "vx", "vy")
    units = ("", "", "", "")
    order = 2
    t_end, dt, test_t_end = 25.0, 0.1, 100.0

    def __init__(self, perturbation: float = 0.1):
        self.perturbation = perturbation
        self.constraint = Conserved(
            energy,
            jacobian=energy_gradient,
            names=("energy",),
            states=self.states,
            julia="Quartic",
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {"perturbation": self.perturbation}

    def rhs(self, u: Any, at: Instant) -> Any:
        x, y, vx, vy = u
        r2 = x**2 + y**2
        return u.__array_namespace__().stack([vx, vy, -x * r2, -y * r2])

    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        if variant == "code":
            return rng.uniform(-1, 1, (count, 4))
        radius, angle = rng.uniform(0.8, 1.2, count), rng.uniform(0, 2 * np.pi, count)
        sense = rng.choice([-1.0, 1.0], count)
        outward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        along = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
        speed = radius**2
        velocity = sense[:, None] * along + self.perturbation * rng.uniform(-1, 1, (count, 2))
        return np.concatenate([radius[:, None] * outward, speed[:, None] * velocity], axis=1)


def energy(u: Any) -> Any:
    """E = ½(ẋ² + ẏ²) + ¼(x² + y²)² (paper, Eq. 19)"""
    x, y, vx, vy = u
    return 0.5 * (vx**2 + vy**2) + 0.25 * (x**2 + y**2) ** 2


def energy_gradient(u: Any) -> Any:
    """G = (x r², y r², ẋ, ẏ) (paper, Appendix I)"""
    x, y, vx, vy = u
    r2 = x**2 + y**2
    return u.__array_namespace__().stack([x * r2, y * r2, vx, vy])[None]
