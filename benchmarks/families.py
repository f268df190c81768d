"""A family of Lotka-Volterra models: how well a model does with the parameters that it has seen, and with others.

    python benchmarks/families.py                  # three models: some ten minutes on two cores
    python benchmarks/families.py --models skew    # the last one alone: two minutes

The benchmark of Yin et al. 2021 and Kirchmeyer et al. 2022 (see `pnde.systems.LotkaVolterraFamily`): trained on four
trajectories of each of nine pairs (β, δ), tested on 32 of each of these and of four others, T = 10, dt = 0.5. Published
methods, which are given neither the parameters nor a law but infer from a trajectory what differs, come to mean squared
errors of 1.4e-5 to 6e-5 inside and 2e-5 to 7e-5 outside (Kirchmeyer et al. 2022; Nzoyem et al. 2025).

All models here are given the parameters. Errors are those of the populations x and y.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

import pnde
from pnde.systems import get

SEEN, OTHERS = (0.5, 0.75, 1.0), (0.625, 1.125)


def in_logarithms(ds: xr.Dataset) -> xr.Dataset:
    """The same trajectories, with states log x and log y."""
    return pnde.data.make_dataset(
        np.log(ds["u"].values),
        ds["time"].values,
        ["log x", "log y"],
        p=ds["parameters"].values,
        parameters=["beta", "delta"],
    )


def invariant(u: Any, p: Any) -> Any:
    """V of the logarithms of prey and predators, α = γ = 0.5 and p = (β, δ)."""
    return p[1] * jnp.exp(u[0]) - 0.5 * u[0] + p[0] * jnp.exp(u[1]) - 0.5 * u[1]


MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "nde": ("parameters", {"method": "nde"}),
    "pnde": ("parameters, V", {}),
    "skew": ("parameters, V, that x, y > 0", {"form": "skew-gradient", "weight_decay": 1.0}),
}


def measured(name: str, epochs: int, seed: int) -> str:
    """A line of the table."""
    given, settings = MODELS[name]
    logarithms = name == "skew"
    data = get("lotka-volterra-family").simulate(45, seed=seed)
    data = pnde.split_data(in_logarithms(data) if logarithms else data, 36, 9, 0)
    began = time.perf_counter()
    run = pnde.train(
        data, pnde.Conserved(invariant) if logarithms else None, epochs=epochs, decay_epochs=epochs,
        learning_rate=4e-3, seed=seed, progress=False, **settings,
    )  # fmt: skip
    took = time.perf_counter() - began
    errors = []
    for values in (SEEN, OTHERS):
        family = get("lotka-volterra-family", values=values)
        test = family.simulate(32 * len(values) ** 2, seed=seed + 1000)
        forecast = run.rollout(in_logarithms(test) if logarithms else test)
        u = np.exp(forecast["u"].values) if logarithms else forecast["u"].values
        failed = int((forecast["status"] != 0).sum())
        error = f"{np.mean((u - test['u'].values) ** 2):.1e}"
        errors.append(f"{failed} fail" if failed else error)
    label = run.label + (" of log x, log y" if logarithms else "")
    return f"{label:36}{given:32}{errors[0]:>10}{errors[1]:>10}{took:8.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS), help="default: %(default)s")
    parser.add_argument("--epochs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{'model':36}{'is given':32}{'inside':>10}{'outside':>10}{'train s':>8}")
    for name in options.models.split(","):
        print(measured(name, options.epochs, options.seed), flush=True)


if __name__ == "__main__":
    main()
