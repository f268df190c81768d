"""The damped N-pendulum (paper, Sec. IV B): equal bobs on equal rigid rods, one hanging on the other."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import xarray as xr

from pnde.errors import ConfigError, ConstraintError
from pnde.laws import UNDRIVEN, Conditions, Instant
from pnde.laws.rods import Rods, links
from pnde.systems.base import System, Variant

Friction = Literal["paper", "code"]
Coordinates = Literal["cartesian", "angular"]


class Pendulum(System):
    """N bobs of 1 kg on rods of 1 m, with friction in the hinges; released from rest, angles uniform in (0, 2π).

    The state is (x_1 … x_N, y_1 … y_N, ẋ_1 … ẋ_N, ẏ_1 … ẏ_N), m and m/s, with the law `Rods`; or, in angular
    coordinates, (θ_1 … θ_N, ω_1 … ω_N), rad and rad/s, from the downward vertical and never wrapped, without a law.
    The truth is computed in angles, which cannot stretch a rod, so the same seed gives the same motion in both.

    The equation of motion (paper, Eq. 26) is, with Δω_i = ω_i - ω_i-1 and a_ij = N - max(i, j) + 1,

        A ω̇ = -B ω² - g s - b Δω,   A_ij = a_ij cos(θ_i - θ_j),  B_ij = a_ij sin(θ_i - θ_j),  s_i = (N - i + 1) sin θ_i.

    **Arguments:**

    - `n`: number of bobs N.
    - `friction`: b, N m s. The authors' code has 0 by default, and 0.1 in all of its experiments.
    - `gravity`: g, m/s².
    - `friction_form`: `"paper"`, as above, which always dissipates; or `"code"`, ω̇ = A⁻¹(-B ω² - g s) - b Δω, which
        its authors' code computes and which can raise the energy.
    - `coordinates`: `"cartesian"` or `"angular"`.
    """

    name = "pendulum"
    time_unit = "s"
    order = 2
    models: tuple[str, ...] = ("angular-nde", "snde:20", "snde:200", "pnde", "mechanical-pnde")
    t_end, dt, test_t_end = 10.0, 0.01, 5.0

    def __init__(
        self,
        n: int = 4,
        friction: float = 0.1,
        gravity: float = 9.81,
        friction_form: Friction = "paper",
        coordinates: Coordinates = "cartesian",
    ):
        if n != int(n) or n < 1:
            raise ConfigError(f"pendulum: n is the number of bobs, 1 or more, not {n}")
        if friction_form not in ("paper", "code"):
            raise ConfigError(
                f'pendulum: friction_form is "paper" or "code", not {friction_form!r}'
            )
        if coordinates not in ("cartesian", "angular"):
            raise ConfigError(
                f'pendulum: coordinates is "cartesian" or "angular", not {coordinates!r}'
            )
        self.n, self.friction, self.gravity = int(n), friction, gravity
        self.friction_form, self.coordinates = friction_form, coordinates
        self._rods = Rods(np.ones(self.n), _names(self.n, "x", "y", "vx", "vy"))
        if coordinates == "cartesian":
            self.states = _names(self.n, "x", "y", "vx", "vy")
            self.units = ("m",) * (2 * self.n) + ("m/s",) * (2 * self.n)
            self.constraint = self._rods
        else:
            self.states = _names(self.n, "theta", "omega")
            self.units = ("rad",) * self.n + ("rad/s",) * self.n
            self.constraint = None
            self.features = "angles"

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "friction": self.friction,
            "gravity": self.gravity,
            "friction_form": self.friction_form,
            "coordinates": self.coordinates,
        }

    def rhs(self, u: Any, at: Instant) -> Any:
        if self.coordinates == "angular":
            return self._angular_rhs(u, at)
        xp = u.__array_namespace__()
        z = to_angular(u)
        angle, speed = z[: self.n], z[self.n :]
        turning = self._angular_rhs(z, at)[self.n :]
        x = xp.cos(angle) * turning - xp.sin(angle) * speed**2
        y = xp.sin(angle) * turning + xp.cos(angle) * speed**2
        return xp.concatenate([u[2 * self.n :], xp.cumsum(x), xp.cumsum(y)])

    def initial(self, rng: np.random.Generator, count: int, variant: Variant) -> np.ndarray:
        angles = rng.uniform(0, 2 * np.pi, (count, self.n))
        z = np.concatenate([angles, np.zeros_like(angles)], axis=1)
        return z if self.coordinates == "angular" else to_cartesian(z)

    def trajectories(
        self, u0: np.ndarray, times: np.ndarray, conditions: Conditions = UNDRIVEN
    ) -> np.ndarray:
        # The motion is chaotic: only a start that is the same to the last bit gives the same trajectory in both
        # coordinates, so both begin from the angles of the Cartesian state.
        if self.coordinates == "cartesian":
            self._check_rods(u0)
            start = to_angular(u0)
            u = to_cartesian(self._integrate(self._angular_rhs, start, times, conditions))
        else:
            start = to_angular(to_cartesian(u0))
            u = self._integrate(self._angular_rhs, start, times, conditions)
            turns = np.round((u0 - start)[:, : self.n] / (2 * np.pi))
            u[..., : self.n] += 2 * np.pi * turns[:, None]
        u[:, 0] = u0
        return u

    def energy(self, u: Any) -> Any:
        """Kinetic and potential energy, J, `(...)`, of states `(..., n)` in the system's coordinates; 0 at y = 0."""
        if self.coordinates == "angular":
            u = to_cartesian(u)
        n = self.n
        return 0.5 * (u[..., 2 * n :] ** 2).sum(axis=-1) + self.gravity * u[..., n : 2 * n].sum(
            axis=-1
        )

    def cartesian(self, ds: xr.Dataset) -> xr.Dataset:
        """A data set or forecast in angular coordinates, turned into Cartesian ones.

        Models in both coordinates are compared there. Everything else in it is kept but for the `state_error`, which
        belongs to the angles; the `constraint_error` is that of the rods.
        """
        from pnde.metrics import constraint_error

        twin = Pendulum(
            self.n, self.friction, self.gravity, self.friction_form, coordinates="cartesian"
        )
        u = to_cartesian(ds["u"].transpose("trajectory", "time", "state").values)
        g = self._rods.rows(u) - self._rods.target
        out = ds.drop_vars(["u", "state", "units", "state_error"], errors="ignore")
        out = out.assign(u=(("trajectory", "time", "state"), u))
        if "status" in ds:
            out["constraint_error"] = (("trajectory", "time"), constraint_error(g))
        return out.assign_coords(state=list(twin.states), units=("state", list(twin.units)))

    def _angular_rhs(self, z: Any, at: Instant) -> Any:
        """ż of one state (θ, ω)."""
        xp, n = z.__array_namespace__(), self.n
        angle, speed = z[:n], z[n:]
        count = np.arange(n, 0, -1.0)
        below = xp.asarray(np.minimum.outer(count, count), dtype=z.dtype)
        count = xp.asarray(count, dtype=z.dtype)
        difference = angle[:, None] - angle[None, :]
        inertia = self._inertia(angle)
        torque = -(below * xp.sin(difference)) @ speed**2 - self.gravity * count * xp.sin(angle)
        slip = self.friction * xp.concatenate([speed[:1], speed[1:] - speed[:-1]])
        if self.friction_form == "paper":
            return xp.concatenate([speed, xp.linalg.solve(inertia, torque - slip)])
        return xp.concatenate([speed, xp.linalg.solve(inertia, torque) - slip])

    def _inertia(self, angle: Any) -> Any:
        """A `(N, N)`, kg m²."""
        xp, count = angle.__array_namespace__(), np.arange(self.n, 0, -1.0)
        below = xp.asarray(np.minimum.outer(count, count), dtype=angle.dtype)
        return below * xp.cos(angle[:, None] - angle[None, :])

    def _check_rods(self, u0: np.ndarray, at: Instant | None = None) -> None:
        g = np.abs(self._rods.rows(u0, at) - self._rods.target)
        if not (g <= 1e-6 * (1 + np.abs(u0).max())).all():
            row, rod = np.unravel_index(np.argmax(g), g.shape)
            raise ConstraintError(
                f"pendulum: initial state {row} breaks the law {self._rods.row_names(2 * self.n)[rod]!r} by "
                f"{g[row, rod]:.3g}; the rods are 1 m long and do not stretch"
            )


def to_cartesian(z: Any) -> Any:
    """(x, y, ẋ, ẏ) `(..., 4N)` of (θ, ω) `(..., 2N)`."""
    xp = z.__array_namespace__()
    n = z.shape[-1] // 2
    angle, speed = z[..., :n], z[..., n:]
    sine, cosine = xp.sin(angle), xp.cos(angle)
    add = partial(xp.cumsum, axis=-1)
    return xp.concatenate(
        [add(sine), add(-cosine), add(cosine * speed), add(sine * speed)], axis=-1
    )


def to_angular(u: Any) -> Any:
    """(θ, ω) `(..., 2N)` of (x, y, ẋ, ẏ) `(..., 4N)` with rods of length 1; θ in (-π, π]."""
    xp = u.__array_namespace__()
    difference = links(u)
    x, y, vx, vy = (difference[..., i, :] for i in range(4))
    return xp.concatenate([xp.arctan2(x, -y), x * vy - y * vx], axis=-1)


def _names(n: int, *quantities: str) -> tuple[str, ...]:
    return tuple(f"{quantity}_{i}" for quantity in quantities for i in range(1, n + 1))
