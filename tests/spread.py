"""A program for tests/test_devices.py: train two small models on one device, on four, or in two processes.

python tests/spread.py FOLDER                   # on one device, and on four
python tests/spread.py FOLDER PORT PROCESS      # one of two processes; the second ends in its 3rd epoch
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

import pnde
from pnde import engines
from pnde.engines.jax.training import JaxTraining

FOLDER, TOGETHER = Path(sys.argv[1]), sys.argv[2:]

COLUMNS = ["loss", "valid_loss", "gradient_norm", "solver_steps"]
SYSTEMS = {"lotka-volterra": (4, 2.0, 0.1), "ieee14": (1, 0.5, 0.1)}


def trained(name, devices, folder=None):
    epochs, t_end, dt = SYSTEMS[name]
    data = FOLDER / f"{name}.nc"
    if not data.exists():
        made = pnde.systems.get(name).simulate(trajectories=8, t_end=t_end, dt=dt, seed=3)
        pnde.data.save_data(pnde.split_data(made, 4, 2, 2), data)
    # Seven segments in a batch: neither two nor four devices have parts of one size, and the last batch is filled up.
    settings = {"layers": 1, "width": 4, "batch_size": 7, "segment": 2, "epochs": epochs}
    settings |= {"solver.precision": "float64", "devices": devices, "rollout.retract": "never"}
    settings |= {"rollout.step": 0.1}  # its program is small
    return pnde.train(data, **settings, folder=folder, progress=False)


def told(run):
    return run.history[COLUMNS].to_numpy().tolist()


def main():
    if not TOGETHER:
        # Before anything is computed, or JAX has made its one device.
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
        one, four = (trained("lotka-volterra", devices) for devices in (1, "all"))
        ahead = [run.rollout(t_end=2.5)["u"].values for run in (one, four)]
        apart = float(np.max(np.abs(ahead[0] - ahead[1])))
        found = {"lotka-volterra": told(one), "four": told(four), "forecasts": apart}
        (FOLDER / "one.json").write_text(json.dumps(found | {"ieee14": told(trained("ieee14", 1))}))
        return
    port, process = map(int, TOGETHER)
    engines.join(f"localhost:{port}", 2, process)
    if process == 1:
        sys.stdout.close()
    found = told(trained("ieee14", "all"))
    if process == 0:
        (FOLDER / "two.json").write_text(json.dumps({"ieee14": found}))
    steps = 0

    def step(self, index, rate, go=JaxTraining.step):
        nonlocal steps
        steps += 1
        if process == 1 and steps > 2 * len(self._train):
            os._exit(9)
        return go(self, index, rate)

    JaxTraining.step = step
    try:
        trained("lotka-volterra", "all", FOLDER / "run")
    except pnde.PndeError as error:
        (FOLDER / "error.txt").write_text(str(error))
        os._exit(2)


main()
