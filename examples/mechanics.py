"""What a chain weighs, how its hinges rub, and how long it can be foreseen: a mechanical model beside a plain one.

    python examples/mechanics.py [FOLDER]

A double pendulum with friction, released from anywhere. The plain model learns its accelerations, the
mechanical one its potential, masses and friction; both keep the rods.
"""

import sys
from pathlib import Path

import numpy as np

import pnde

LEARNED = {"form": "mechanical", "dissipation": "state"}


def main(folder=Path(), epochs=100, fps=25, methods=("plain", "mechanical")):
    system = pnde.systems.pendulum(n=2, friction=0.1)
    data = pnde.split_data(system.simulate(40, t_end=3, seed=1), 25, 5, 10)
    settings = {"width": 64, "activation": "tanh", "learning_rate": 5e-3, "batch_size": 128}
    settings |= {"epochs": epochs, "decay_epochs": epochs, "final_learning_rate": 1e-5}
    runs, forecasts = {}, {}
    truth = system.continued(pnde.select(data, "test"), 10.0)
    for method in methods:
        own = LEARNED if method == "mechanical" else {}
        run = pnde.train(data, progress=False, **settings, **own)
        runs[run.label], forecasts[run.label] = run, run.rollout(truth)
    print(pnde.metrics.table(forecasts, at=[1, 3]).T.to_string(float_format="{:.2g}".format), "\n")
    pnde.plot.errors(forecasts)[0].figure.savefig(folder / "mechanics-errors.png")

    name, run = list(runs.items())[-1]
    if run.model.mechanical:
        print("masses:", np.round(run.masses.values, 4), "(true: all the same)")
        u = truth["u"].values.reshape(-1, 8)
        learned, true = run.mechanics(u)["potential"].values, system.gravity * u[:, 2:4].sum(axis=1)
        print(f"potential: off by {np.std(learned - true) / np.ptp(true):.2%} of its range")
        rise = float(pnde.metrics.energy_rise(forecasts[name]).max())
        print(f"energy: rises by {rise:.1e} J at most in 10 s")
        pnde.plot.mechanics(run, forecasts[name])[0].figure.savefig(folder / "mechanics.png")
    pnde.plot.animate(truth, forecasts, folder / "mechanics.gif", fps=fps)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
