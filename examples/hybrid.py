"""Known physics, a known law, and a network for the rest: a pendulum whose friction is unknown.

    python examples/hybrid.py [FOLDER]

Gravity is known and given as `physics`. The rod keeps its length, which is the law: the projection
supplies the force in the rod. With a metric in which positions weigh much more than velocities it
changes the acceleration alone, as a rod does. What is left for the network is the friction.
"""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import pnde
from pnde.engines import get
from pnde.laws import Instant


def gravity(u):
    """The part of the velocity that is known; the network's accelerations are added to it."""
    return jnp.array([0.0, 0.0, 0.0, -9.81], dtype=u.dtype)


ROD = [1e4, 1e4, 1.0, 1.0]
KNOWN = {
    "network": {"method": "nde"},
    "network and law": {"metric": ROD},
    "network, law and gravity": {"metric": ROD, "physics": gravity},
}


def main(folder=Path(), epochs=25, known=KNOWN):
    system = pnde.systems.pendulum(n=1, friction=0.3)
    data = pnde.split_data(system.simulate(trajectories=20, t_end=3.0, seed=1), 4, 4, 12)
    settings = {"width": 32, "epochs": epochs, "decay_epochs": epochs, "batch_size": 64}
    forecasts = {}
    for name, options in known.items():
        run = pnde.train(data, progress=False, learning_rate=1e-2, **options, **settings)
        forecasts[name] = run.rollout()
    print(pnde.metrics.table(forecasts, at=[1, 3]).to_string(float_format="{:.2g}".format), "\n")

    # What the last network has learned is the model's acceleration less that without friction.
    u = pnde.select(data, "test")["u"].values.reshape(-1, 4)
    c = np.tile(system.constraint.target, (len(u), 1))
    learned = get("jax").velocity(run.model, run.weights, u, Instant(np.zeros(len(u))), c)
    free = pnde.systems.pendulum(n=1, friction=0.0)
    difference = learned - np.array([free.rhs(row, 0.0) for row in u])
    friction = -np.sum(difference[:, 2:] * u[:, 2:]) / np.sum(u[:, 2:] ** 2)
    print(f"friction that the network has found: {friction:.3f} N m s (true: {system.friction})")
    axes = pnde.plot.errors(forecasts)
    axes[0].set_ylim(0, 2)  # the network by itself soon leaves the picture
    axes[0].figure.savefig(folder / "hybrid.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
