"""Real data: how far do 21 years of hare and lynx pelts obey the law of Lotka and Volterra?

Figures go to the folder in `python examples/lynx_hare.py [FOLDER]`.
"""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import pnde

SMALL = {"segment": 2, "width": 16, "learning_rate": 1e-2, "decay_epochs": 200}


def fit(t, u):
    """α, β, γ, δ with the least squares of the logarithms, and the factor that u is off by."""

    def misfit(logarithms):
        a, b, c, d, *start = np.exp(logarithms)
        rhs = lambda t, u: [u[0] * (a - b * u[1]), u[1] * (d * u[0] - c)]  # noqa: E731
        path = solve_ivp(rhs, t[[0, -1]], start, t_eval=t, rtol=1e-8, atol=1e-8)
        return (np.log(path.y.T) - np.log(u)).ravel()

    best = least_squares(misfit, np.log([0.5, 0.03, 0.8, 0.03, *u[0]]))
    return np.exp(best.x[:4]), np.exp(np.sqrt(np.mean(best.fun**2)))


def main(folder=Path(), epochs=200, methods=("nde", "pnde", "bounded")):
    data = pnde.open_data(Path(__file__).with_name("lynx_hare.csv"))
    u = data["u"].values[0]
    (a, b, c, d), off = fit(data["time"].values, u)
    print(f"hares {a:.3f} x - {b:.4f} xy, lynx {d:.4f} xy - {c:.3f} y")
    print(f"the data are off by a factor of {off:.2f}")

    def conserved(u):  # 0 where both populations rest, so that a share of it means something
        x, y = u[0] * d / c, u[1] * b / a
        return c * (x - 1 - jnp.log(x)) + a * (y - 1 - jnp.log(y))

    report = pnde.check(data, conserved)
    print(pnde.metrics.deviation_table(report).to_string(float_format="{:.3f}".format))
    split = pnde.split_data(data, 0.62, 0.19, 0.19)  # 13 years train, 4 validate, 4 test
    alive = pnde.Bounded(["hare", "lynx"], lower=0)  # knows nothing else
    forecasts = {}
    for method in methods:
        law, kind = (alive, "pnde") if method == "bounded" else (conserved, method)
        run = pnde.train(split, law, method=kind, epochs=epochs, progress=False, **SMALL)
        label = "bounded" if method == "bounded" else run.label
        ratio = run.rollout(split)["u"].values / split["u"].values
        for name, part in zip(split["split"].values, ratio, strict=True):
            off = np.exp(np.sqrt(np.nanmean(np.log(part[part > 0]) ** 2)))
            print(f"{label}, {name}: off by a factor of {off:.2f}, {np.sum(part < 0)} negative")
        forecasts[label] = run.rollout(u[:1], t_end=1940.0, dt=0.1)
    pnde.plot.phase(data, forecasts)[0].figure.savefig(folder / "lynx-hare.png")
    pnde.plot.check(report)[0].figure.savefig(folder / "lynx-hare-law.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
