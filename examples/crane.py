"""A driven system: a load that hangs from the trolley of a crane, on ropes of different lengths.

    python examples/crane.py [FOLDER]

The trolley's position is measured: an input. The length of the rope differs from run to run and stays
as it is in each: a parameter. The law says that the load is a rope's length from the trolley, wherever
that is; gravity is known. What the network has to find is the drag of the air.
"""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import pnde

G, DRAG = 9.81, 0.15


def rope(q, w, p):
    """The law: a function of the positions, the inputs and the parameters, by the names of its arguments."""
    (x, y), (trolley,), (length,) = q, w, p
    return (x - trolley) ** 2 + y**2 - length**2


def gravity(u):
    return jnp.array([0.0, 0.0, 0.0, -G], dtype=u.dtype)


def move(t, start, time, way):
    """A smooth move of the trolley by `way` (m) from `start` on, in `time` (s)."""
    s = np.clip((t - start) / time, 0, 1)
    return way * s**3 * (10 - 15 * s + 6 * s**2)


def runs(count, times, seed):
    """Runs of the crane: two moves each, from rest; in the angle of the rope, the way textbooks have it."""
    rng = np.random.default_rng(seed)
    length = rng.uniform(1.0, 3.0, count)
    states, trolleys = [], []
    for rope_length in length:
        starts, takes, ways = rng.uniform([[0], [1.5], [-2]], [[4], [4], [2]], (3, 2))
        path = sum(move(times, *each) for each in zip(starts, takes, ways, strict=True))
        speed = CubicSpline(times, path).derivative()
        push = speed.derivative()

        def turning(t, z, speed=speed, push=push, rope_length=rope_length):
            angle, rate = z
            sine, cosine = np.sin(angle), np.cos(angle)
            drag = DRAG * (rope_length * rate + speed(t) * cosine)
            return [rate, (-G * sine - push(t) * cosine - drag) / rope_length]

        z = solve_ivp(turning, times[[0, -1]], [0, 0], "DOP853", times, rtol=1e-8, atol=1e-8)
        sine, cosine, rate = np.sin(z.y[0]), np.cos(z.y[0]), z.y[1]
        x, y = path + rope_length * sine, -rope_length * cosine
        vx = speed(times) + rope_length * cosine * rate
        states.append(np.stack([x, y, vx, rope_length * sine * rate], axis=1))
        trolleys.append(path[:, None])
    return pnde.data.make_dataset(
        np.stack(states),
        times,
        ["x", "y", "vx", "vy"],
        ["m", "m", "m/s", "m/s"],
        time_units="s",
        w=np.stack(trolleys),
        inputs="trolley",
        input_units=["m"],
        interpolation="cubic",  # the law needs the trolley's acceleration
        p=length[:, None],
        parameters="length",
        parameter_units=["m"],
    )


def main(folder=Path(), count=30, epochs=30, methods=("nde", "pnde")):
    data = pnde.split_data(runs(count, np.linspace(0, 10, 101), seed=1), 0.5, 0.2, 0.3)
    law = pnde.Holonomic(rope, names="rope")
    print(pnde.metrics.deviation_table(pnde.check(data, law))["max"].to_string(), "\n")
    settings = {"width": 32, "epochs": epochs, "decay_epochs": epochs, "batch_size": 64}
    # Positions weigh so much that the law acts on the acceleration alone, as the rope does.
    settings |= {"learning_rate": 1e-2, "order": 2, "metric": [1e4, 1e4, 1.0, 1.0]}
    models, forecasts = {}, {}
    for method in methods:
        run = pnde.train(data, law, method=method, physics=gravity, progress=False, **settings)
        models[run.label], forecasts[run.label] = run, run.rollout()
    table = pnde.metrics.table(forecasts, at=[2, 10])
    print(table.to_string(float_format="{:.2g}".format), "\n")
    truth = pnde.select(data, "test")
    axes = pnde.plot.trajectories({"truth": truth, **forecasts}, states=["x", "y"])
    pnde.plot.save(axes, folder / "crane.png")

    # Moves that nobody has measured, on a rope of 2 m: 3 m in twice the time of a swing to and fro, or in half of it.
    swing, times = 2 * np.pi * np.sqrt(2.0 / G), np.linspace(0, 10, 101)
    takes = np.array([2 * swing, swing / 2])
    paths = np.stack([move(times, 0.0, time, 3.0) for time in takes])
    planned = models["PNDE"].rollout(
        np.array([[0.0, -2.0, 0.0, 0.0]] * 2),
        inputs=paths[..., None],
        parameters={"length": 2.0},
        t_end=10.0,
        dt=0.1,
    )
    x, off = planned["u"].sel(state="x").values, planned["constraint_error"].max("time").values
    for k, time in enumerate(takes):
        amount = np.abs(x[k, times > time] - 3.0).max()
        print(f"3 m in {time:.2f} s: swings by {amount:.3f} m afterwards, rope within {off[k]:.0e}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
