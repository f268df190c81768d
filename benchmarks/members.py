"""What a training step of several members costs, in steps of one model: python benchmarks/members.py."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from functools import partial

import numpy as np

import pnde
from pnde.config import Config
from pnde.engines import get
from pnde.models import initial_weights
from pnde.runs.new_model import new_model
from pnde.training import batches_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="*", default=["quartic", "lotka-volterra"])
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    for name in options.systems:
        system = pnde.systems.get(name)
        ds = pnde.split_data(system.simulate(trajectories=30, t_end=20 * system.dt, seed=1))
        engine = get("jax")
        config = Config.make(batch_size=options.batch, layers=2, width=64)
        model, batches = new_model(engine, ds, None, config, None, None, None)
        models = [
            replace(model, config=Config.make(model.config, seed=seed))
            for seed in range(options.members)
        ]
        weights = [initial_weights(each, each.config.seed) for each in models]
        own = [batches_of(engine, each, ds).train for each in models]
        one = engine.start(model, batches.train, batches.valid, weights[0])
        several = engine.start_members(model, own, batches.valid, weights, [None] * options.members)
        steps = {
            "one": partial(one.step, 0, 1e-4),
            "several": partial(several.step, [0] * options.members, 1e-4),
        }
        times: dict[str, list[float]] = {name: [] for name in steps}
        for repeat in range(40 + options.repeats):  # first, until enough solver steps are stored
            for kind, step in steps.items():
                began = time.process_time()  # of all threads, whoever else uses the cores
                step()
                if repeat >= 40:
                    times[kind].append(time.process_time() - began)
        a, b = (1e3 * float(np.median(times[kind])) for kind in ("one", "several"))
        print(
            f"{name}: one {a:.2f} ms, {options.members} members {b:.2f} ms, {b / a:.2f} times",
            flush=True,
        )


if __name__ == "__main__":
    main()
