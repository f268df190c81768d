"""Own data, own laws: orbits around a star, whose energy and angular momentum are conserved.

    python examples/own_law.py [FOLDER]

The data could come from a telescope; here Kepler's equation makes them. A law is a plain function
of the state. The forecasts are three times longer than the data.
"""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import pnde


def energy(u):
    x, y, vx, vy = u
    return 0.5 * (vx**2 + vy**2) - 1 / jnp.hypot(x, y)


def angular_momentum(u):
    x, y, vx, vy = u
    return x * vy - y * vx


def orbits(count, times, seed=1):
    """Ellipses of eccentricity 0.15 to 0.35 and period 2π, `(count, time, 4)`."""
    rng = np.random.default_rng(seed)
    e, angle = rng.uniform(0.15, 0.35, (count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
    anomaly = times
    for _ in range(100):
        anomaly = times + e * np.sin(anomaly)
    speed, short, turn = 1 / (1 - e * np.cos(anomaly)), np.sqrt(1 - e**2), np.exp(1j * angle)
    position = turn * (np.cos(anomaly) - e + 1j * short * np.sin(anomaly))
    velocity = turn * speed * (-np.sin(anomaly) + 1j * short * np.cos(anomaly))
    return np.stack([position.real, position.imag, velocity.real, velocity.imag], axis=-1)


def main(folder=Path(), epochs=60, t_end=60.0, methods=("nde", "pnde")):
    names, times = ["x", "y", "vx", "vy"], np.arange(0, t_end + 0.05, 0.1)
    truth = pnde.data.make_dataset(orbits(10, times, seed=2), times, names)
    data = pnde.data.make_dataset(orbits(30, times[:201]), times[:201], names)
    data = pnde.split_data(data, 20, 5, 5)
    law = pnde.Conserved(energy) & pnde.Conserved(angular_momentum)
    print(pnde.metrics.deviation_table(pnde.check(data, law))["max"].to_string(), "\n")
    settings = {"epochs": epochs, "batch_size": 128, "learning_rate": 5e-3, "decay_epochs": epochs}
    forecasts = {}
    for method in methods:
        run = pnde.train(data, law, method=method, order=2, progress=False, **settings)
        forecasts[run.label] = run.rollout(truth)
    table = pnde.metrics.table(forecasts, at=[t_end / 3, t_end])
    print(table.to_string(float_format="{:.2g}".format))
    pnde.plot.errors(forecasts)[0].figure.savefig(folder / "own-law.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
