"""A pendulum whose pivot is moved about."""

from __future__ import annotations

from typing import Any

import numpy as np

from pnde.laws import UNDRIVEN, Conditions, Instant
from pnde.laws.rods import Rods
from pnde.systems.base import Driving
from pnde.systems.pendulum import Pendulum, to_angular, to_cartesian


class DrivenPendulum(Pendulum):
    """The N-pendulum on a pivot whose position (X, Y) is an input, known at the samples and a spline between them.

    The state is (x_1 … x_N, y_1 … y_N, ẋ_1 … ẋ_N, ẏ_1 … ẏ_N), m and m/s, measured from a point at rest; the law is
    `Rods` on a moving pivot. The truth is computed in angles, in the frame of the pivot, in which gravity is
    (-Ẍ, -g - Ÿ):

        A ω̇ = -B ω² - n_i ((g + Ÿ) sin θ_i + Ẍ cos θ_i) - b Δω,  n_i = N - i + 1, else as `Pendulum`.

    Random drives are sums of three waves along each axis, of up to `amplitude` together and frequencies of 0.2 to 0.8
    times that of a small swing, 2π/√g.

    **Arguments:** those of `Pendulum`, and

    - `amplitude`: m.
    """

    name = "driven-pendulum"
    models: tuple[str, ...] = ("nde", "pnde")
    inputs = ("X", "Y")
    input_units = ("m", "m")
    interpolation = "cubic"
    t_end, dt, test_t_end = 10.0, 0.05, 20.0

    def __init__(
        self, n: int = 1, friction: float = 0.1, gravity: float = 9.81, amplitude: float = 0.15
    ):
        super().__init__(n, friction, gravity)
        self.amplitude = amplitude
        self.constraint = self._rods = Rods(np.ones(self.n), self.states, moving_pivot=True)

    @property
    def parameters(self) -> dict[str, Any]:
        own = {"n": self.n, "friction": self.friction, "gravity": self.gravity}
        return own | {"amplitude": self.amplitude}

    def rhs(self, u: Any, at: Instant) -> Any:
        n, xp = self.n, u.__array_namespace__()
        z = to_angular(self._relative(u, at, -1.0))
        turning = self._angular_rhs(z, at)[n:]
        angle, speed = z[:n], z[n:]
        x = xp.cos(angle) * turning - xp.sin(angle) * speed**2
        y = xp.sin(angle) * turning + xp.cos(angle) * speed**2
        along, up = at.curvature[0], at.curvature[1]
        return xp.concatenate([u[2 * n :], along + xp.cumsum(x), up + xp.cumsum(y)])

    def _angular_rhs(self, z: Any, at: Instant) -> Any:
        xp, n = z.__array_namespace__(), self.n
        count = xp.asarray(np.arange(n, 0, -1.0), dtype=z.dtype)
        along, up = at.curvature[0], at.curvature[1]
        angle = z[:n]
        # What the pivot's acceleration adds to the torques of gravity, by the same inertia.
        torque = -count * (up * xp.sin(angle) + along * xp.cos(angle))
        still = super()._angular_rhs(z, at)
        return still + xp.concatenate(
            [xp.zeros_like(angle), xp.linalg.solve(self._inertia(angle), torque)]
        )

    def drive(self, rng: np.random.Generator, count: int, times: np.ndarray) -> Driving:
        shape = (count, 2, 3)
        size = rng.uniform(0.3, 1.0, shape) * self.amplitude / 3
        pace = rng.uniform(0.2, 0.8, shape) * np.sqrt(self.gravity)
        phase = rng.uniform(0, 2 * np.pi, shape)
        waves = size[..., None] * np.sin(pace[..., None] * times + phase[..., None])
        return Driving(w=waves.sum(axis=2).transpose(0, 2, 1))

    def start(self, u0: np.ndarray, at: Instant) -> np.ndarray:
        """States that are given from the pivot, seen from the point at rest."""
        return self._relative(u0, at, 1.0)

    def trajectories(
        self, u0: np.ndarray, times: np.ndarray, conditions: Conditions = UNDRIVEN
    ) -> np.ndarray:
        at = conditions.at(np.broadcast_to(times, (len(u0), len(times))))
        relative = self._relative(u0, at.pick((slice(None), 0)), -1.0)
        self._check_rods(u0, at.pick((slice(None), 0)))
        z = self._integrate(self._angular_rhs, to_angular(relative), times, conditions)
        u = self._relative(to_cartesian(z), at, 1.0)
        u[:, 0] = u0
        return u

    def _relative(self, u: Any, at: Instant, sign: float) -> Any:
        """States `(..., 4N)` with the pivot's position and velocity added, or taken off."""
        shift = np.repeat(np.concatenate([at.w, at.rate], axis=-1), self.n, axis=-1)
        return u + sign * shift
