"""A double pendulum as a chain of rods that keep their lengths, and a film of what models make of it.

    python examples/pendulum.py [FOLDER]

In Cartesian coordinates the motion is easier to learn than in angles, if the rods keep their
lengths: the law adds what the coordinates leave open.
"""

import sys
from pathlib import Path

import numpy as np

import pnde
from pnde.systems.pendulum import to_cartesian


def main(folder=Path(), epochs=20, fps=25, methods=("nde", "pnde")):
    # Released from rest, each rod within 60 degrees of hanging straight down.
    angles = np.random.default_rng(1).uniform(-np.pi / 3, np.pi / 3, (30, 2))
    start = to_cartesian(np.concatenate([angles, np.zeros_like(angles)], axis=1))
    system = pnde.systems.pendulum(n=2)
    data = pnde.split_data(system.simulate(u0=start, t_end=3.0), 20, 5, 5)
    settings = {"width": 64, "epochs": epochs, "decay_epochs": epochs, "batch_size": 128}
    forecasts = {}
    for method in methods:
        run = pnde.train(data, method=method, learning_rate=1e-2, progress=False, **settings)
        forecasts[run.label] = run.rollout()
    print(pnde.metrics.table(forecasts, at=[1, 3]).to_string(float_format="{:.2g}".format))
    pnde.plot.errors(forecasts)[0].figure.savefig(folder / "pendulum.png")
    truth = pnde.select(data, "test")
    pnde.plot.animate(truth, forecasts, folder / "pendulum.gif", fps=fps)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
