"""A power grid from a MATPOWER file: load flow, operation point, transients, long forecasts.

    python examples/grid_from_matpower.py [FILE.m] [FOLDER]

Generators become grid-forming sources, loads draw constant power, the slack holds its voltage. The
file is the tests' IEEE 14-bus grid, with taps, shunts and line charging, unless you name another.
"""

import sys
from pathlib import Path

import numpy as np

import pnde

FILE = Path(__file__).parents[1] / "tests" / "grids" / "data" / "ieee14.m"


def main(file=FILE, folder=Path(), epochs=40, t_end=100.0, methods=("nde", "pnde")):
    grid = pnde.grids.read_grid(file)
    flow = pnde.grids.load_flow(grid)
    low, high = np.abs(flow.voltage).min(), np.abs(flow.voltage).max()
    print(f"{grid.name}: {grid.size} buses, {len(grid.branches)} branches, {len(grid.loads)} loads")
    print(f"load flow: the slack supplies {flow.power[grid.slack].real[0]:.3f} p.u.")
    print(f"           voltages from {low:.3f} to {high:.3f} p.u.")
    system = pnde.systems.power_grid(grid)
    voltage = system.grid.voltage(system.operation_point)
    slowest = pnde.grids.slow_modes(system.grid, voltage, system.sources).real.max()
    print(f"slowest mode at rest: {-1 / slowest:.0f} s\n")

    data = pnde.split_data(system.simulate(trajectories=60, seed=1), 40, 10, 10)
    settings = {"epochs": epochs, "decay_epochs": epochs, "batch_size": 128}
    settings |= {"learning_rate": 3e-3, "weight_decay": 0.3, "solver.step": 0.2}
    forecasts = {}
    for method in methods:
        run = pnde.train(data, method=method, progress=False, **settings)
        forecasts[run.label] = run.rollout(t_end=t_end, dt=t_end / 200)
    table = pnde.metrics.table(forecasts, at=10)[["state error (t = 10 s)", "failed"]]
    for label, forecast in forecasts.items():
        table.loc[label, "load error (p.u.)"] = float(system.bus_error(forecast).max())
        away = float(system.distance(forecast)[:, -1].median())
        table.loc[label, f"distance to rest (t = {t_end:g} s)"] = away
    print(table.to_string(float_format="{:.2g}".format))
    pnde.plot.active_power(system, forecasts)[0].figure.savefig(folder / "grid-power.png")
    pnde.plot.diagram(system, forecasts)[0].figure.savefig(folder / "grid-diagram.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
