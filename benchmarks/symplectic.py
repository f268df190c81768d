"""Energy kept by a symplectic method and by adaptive Runge-Kutta methods with retraction, at the same cost.

    python benchmarks/symplectic.py [-o FOLDER]

A frictionless chain of bobs moves for a long time under its weight. RATTLE (Andersen 1983) takes fixed steps of order
2: a half kick, a drift that ends on the rods, a half kick, and the velocity put on their tangents. It keeps the energy
of a motion near to the true one, for ever. Tsit5 and Dopri8 keep it by being accurate; after each step the state is
put back on the rods. The cost is counted in evaluations of the force, a gradient of the network in a learned model.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import pnde
from pnde.config import Config
from pnde.engines import get
from pnde.engines.jax.numerics import numerics
from pnde.models import Mechanics, Model, initial_weights

GRAVITY = 9.81


def model_of(system: pnde.systems.pendulum) -> Model:
    """The chain as a mechanical model of which all is known."""
    n = system.n
    known = Mechanics(masses=np.ones(2 * n), potential=lambda q: GRAVITY * q[n:].sum())
    return Model(
        states=system.states,
        config=Config.make(form="mechanical", dissipation="none", layers=1, width=1),
        mean=np.zeros(4 * n),
        std=np.ones(4 * n),
        constraint=system.constraint,
        order=2,
        physics=known,
    )


def rattle(n: int, u0: np.ndarray, t_end: float, steps: int, saved: int) -> np.ndarray:
    """States `(B, saved, 4n)` of a chain of unit masses and rods, of u0 `(B, 4n)`, at evenly spaced times."""
    h, between = t_end / steps, steps // saved
    D = np.kron(np.eye(2), np.eye(n) - np.eye(n, k=-1))

    def phi(q):
        dx, dy = jnp.split(D @ q, 2)
        return dx**2 + dy**2 - 1

    force = -GRAVITY * np.repeat([0.0, 1.0], n)
    slope = jax.jacrev(phi)

    def step(state, _):
        q, v = state
        G = slope(q)
        free, lam = q + h * (v + h / 2 * force), jnp.zeros(n)
        for _ in range(4):  # Newton's method for the forces of the rods; three turns meet rounding
            on = free - G.T @ lam
            lam = lam + jnp.linalg.solve(slope(on) @ G.T, phi(on))
        new = free - G.T @ lam
        v = (new - q) / h + h / 2 * force
        G = slope(new)
        v = v - G.T @ jnp.linalg.solve(G @ G.T, G @ v)
        return (new, v), None

    def block(state, _):
        state, _ = jax.lax.scan(step, state, None, length=between)
        return state, jnp.concatenate(state)

    def one(u):
        return jax.lax.scan(block, tuple(jnp.split(u, 2)), None, length=saved)[1]

    with numerics():
        return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(u0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bobs", type=int, default=2)
    parser.add_argument("--t-end", type=float, default=100.0, help="seconds")
    parser.add_argument("--count", type=int, default=10, help="trajectories")
    parser.add_argument("-o", "--output", type=Path, default=Path())
    options = parser.parse_args()
    system = pnde.systems.pendulum(n=options.bobs, friction=0.0)
    u0 = system.initial(np.random.default_rng(1), options.count, "paper")
    model, engine, saved = model_of(system), get("jax"), 500
    weights = {name: 0 * array for name, array in initial_weights(model, 1).items()}
    times = np.broadcast_to(np.linspace(0, options.t_end, saved + 1), (len(u0), saved + 1))
    c = system.constraint.targets(np.zeros((len(u0), 2 * system.n)))
    start, scale = system.energy(u0)[:, None], GRAVITY * sum(range(1, system.n + 1))

    def drift(u):
        """The largest error of the energy, in units of the weight's reach, median over trajectories."""
        return float(np.median(np.abs(system.energy(u) - start).max(axis=1)) / scale)

    results: dict[str, list[tuple[float, float]]] = {"RATTLE": []}
    for per_second in (50, 200, 1000, 5000):
        steps = int(per_second * options.t_end / saved) * saved
        u = rattle(system.n, u0, options.t_end, steps, saved)
        results["RATTLE"].append((steps / options.t_end, drift(u)))
    for solver in ("tsit5", "dopri8"):
        results[solver] = []
        for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
            config = Config.make(
                model.config,
                **{"rollout.solver": solver, "rollout.rtol": rtol, "rollout.atol": rtol},
            )
            run = partial(engine.rollout, replace(model, config=config), weights)
            found = run(u0, times, c, config.rollout)
            assert not found.status.any()
            cost = float(np.median(found.evaluations)) / options.t_end
            results[solver].append((cost, drift(found.u)))
    for name, points in results.items():
        for cost, error in points:
            print(f"{name:8} {cost:8.0f} evaluations a second  energy off by {error:.1e}")
    draw(results, options.output / "symplectic.png")


def draw(results: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """The error of the energy over the cost."""
    import matplotlib.pyplot as plt

    with pnde.plot.style():
        figure, ax = plt.subplots(figsize=(3.4, 2.4), layout="constrained")
        for (name, points), marker in zip(results.items(), "so^", strict=True):
            ax.loglog(*zip(*points, strict=True), marker=marker, markersize=3, label=name)
        ax.set_xlabel("evaluations of the force in a second of motion")
        ax.set_ylabel("error of the energy")
        ax.legend()
        figure.savefig(path)


if __name__ == "__main__":
    main()
