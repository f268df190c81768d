"""What the benchmarks time: a model of each system with random weights, segments, and initial states of a rollout."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import xarray as xr

from pnde import systems
from pnde.config import Config
from pnde.data import Normaliser, split_data
from pnde.engines import Batch, Engine, get
from pnde.models import Model, Weights, initial_weights
from pnde.training import batches_of, output_speed


@dataclass(frozen=True)
class Case:
    """A system as the paper has it: its models, network and test rollout (Table IV; facts of the authors' code)."""

    system: str
    parameters: dict
    layers: int
    width: int
    skip: bool
    gammas: tuple[float, ...]
    t_end: float
    dt: float


CASES = {
    "quartic": Case("quartic", {}, 4, 512, False, (1.0, 10.0), 100.0, 0.01),
    "lotka-volterra": Case("lotka-volterra", {}, 6, 512, False, (), 100.0, 0.01),
    "pendulum-4": Case("pendulum", {"n": 4}, 10, 1024, True, (20.0, 200.0), 5.0, 0.01),
    "pendulum-8": Case("pendulum", {"n": 8}, 10, 1024, True, (20.0, 200.0), 5.0, 0.01),
    "ieee14": Case("ieee14", {}, 10, 512, False, (0.1, 1.0, 10.0), 10.0, 0.1),
}


@dataclass(frozen=True)
class Problem:
    """A model with random weights, and a batch of segments of four steps, whose starts are those of a rollout."""

    label: str
    model: Model
    weights: Weights
    batch: Batch


def problems(name: str, size: str, count: int, precision: str = "float32") -> list[Problem]:
    """NDE, SNDE for each γ, and PNDE of a case, with the paper's network (`size="paper"`) or 2 × 64 (`"small"`).

    `count` segments; a pendulum's NDE is the angular one, as in the paper.
    """
    case, engine = CASES[name], get("jax")
    methods = [("NDE", "nde", 1.0)]
    methods += [(f"SNDE γ={gamma:g}", "snde", gamma) for gamma in case.gammas]
    methods += [("PNDE", "pnde", 1.0)]
    network = {"layers": 2, "width": 64, "skip": case.skip}
    if size == "paper":
        network = {"layers": case.layers, "width": case.width, "skip": case.skip}
    out = []
    for label, method, gamma in methods:
        parameters = dict(case.parameters)
        if case.system == "pendulum" and method == "nde":
            label, parameters["coordinates"] = "NDE (angular)", "angular"
        config = Config.make(
            method=method,
            gamma=gamma,
            network=network,
            solver={"precision": precision},
            optimiser={"batch_size": count},
        )
        system, data = _simulated(case.system, **parameters)
        out.append(_problem(label, system, data, config, engine))
    return out


@functools.cache
def _simulated(name: str, **parameters: Any) -> tuple[systems.System, xr.Dataset]:
    """A system and trajectories of it, which a CPU makes faster than a GPU."""
    import jax  # not above: the processes of other libraries import this file

    system = systems.get(name, **parameters)
    with jax.default_device(jax.devices("cpu")[0]):
        return system, split_data(system.simulate(trajectories=64), 62, 1, 1)


def _problem(
    label: str, system: systems.System, data: xr.Dataset, config: Config, engine: Engine
) -> Problem:
    """The start of a training: a model with the scales of the data, and its first batch."""
    scale = Normaliser.fit(data)
    model = Model(
        states=system.states,
        config=config,
        mean=scale.mean,
        std=scale.std,
        constraint=system.constraint,
        order=system.order,
        features=system.features,
    )
    batches = batches_of(engine, model, data)
    model = dataclasses.replace(model, speed=output_speed(engine, model, scale, batches))
    return Problem(label, model, initial_weights(model, config.seed), batches.train[0])
