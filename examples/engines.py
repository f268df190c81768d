"""The same weights in both engines: one trains a model, both say what it forecasts.

    python examples/engines.py

Without Julia (`pnde setup julia`) only the embedded engine is run.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import pnde


def main(epochs=20):
    system = pnde.systems.lotka_volterra()
    data = pnde.split_data(system.simulate(trajectories=24, t_end=5.0, seed=1), 12, 6, 6)
    settings = {"epochs": epochs, "decay_epochs": epochs, "learning_rate": 1e-2, "batch_size": 128}
    trained = pnde.train(data, engine="jax", progress=False, **settings)
    forecasts = {}
    with TemporaryDirectory() as parent:
        folder = trained.save(Path(parent) / "run")
        for name in ("jax", "julia"):
            try:
                run = pnde.load(folder, engine=name)
            except pnde.errors.EngineError as error:
                print(f"{name}: left out; {error}")
                continue
            for when in ("first", "again"):
                began = time.perf_counter()
                forecasts[name] = run.rollout(t_end=50)
                print(f"{name}: forecast to t = 50, {when}: {time.perf_counter() - began:.2f} s")
            error = float(forecasts[name]["constraint_error"].max())
            steps = int(forecasts[name]["steps"].sum())
            print(f"{name}: {steps} solver steps, constraint error at most {error:.1e}")
    if len(forecasts) == 2:
        apart = np.abs(forecasts["jax"]["u"].values - forecasts["julia"]["u"].values).max()
        print(f"the forecasts differ by at most {apart:.1e}")


if __name__ == "__main__":
    main()
