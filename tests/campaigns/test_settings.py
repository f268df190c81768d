"""Settings of every kind and value: each is refused in a sentence, or a training that was asked for is made."""

import functools
import math

import numpy as np
from campaign import Wrong, run

ODD = (
    *(0, -1, 1, 2, 3.5, 1e-12, 1e12, 1e400, -1e400, math.nan, 10**30, -(10**30)),
    *("", "nde", "x" * 5000, "é\x00", "1", "true", "../..", "[1]"),
    *(
        True,
        False,
        None,
        [],
        [1, 2],
        {},
        {"a": 1},
        (),
        b"x",
        1j,
        object,
        np.float64(2.0),
        np.array([1, 2]),
    ),
)


@functools.cache
def data():
    import pnde

    times = np.linspace(0, 2, 21)
    angles = np.linspace(0, 3, 12)[:, None] + times
    u = np.stack([np.cos(angles), -np.sin(angles)], -1)
    return pnde.split_data(pnde.data.make_dataset(u, times, ["x", "v"]), 6, 3, 3)


@functools.cache
def names():
    from pnde.config import Config, Section

    out = ["unknown", "network", "solver", "optimiser.", ".width", "network.width.x", ""]
    for name, field in Config.model_fields.items():
        out.append(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            out += [f"{name}.{leaf}" for leaf in field.annotation.model_fields]
            out += list(field.annotation.model_fields)
    return out


def contains_itself():
    loop = {}
    loop["network"] = loop
    return loop


def deep():
    nest = {}
    for _ in range(10_000):
        nest = {"network": nest}
    return nest


def settings_of(seed):
    rng = np.random.default_rng(seed)
    out = {}
    for _ in range(int(rng.integers(1, 4))):
        name = names()[rng.integers(len(names()))]
        choice = int(rng.integers(len(ODD) + 2))
        out[name] = (
            ODD[choice] if choice < len(ODD) else (contains_itself, deep)[choice - len(ODD)]()
        )
    return out


def train(seed):
    import plain_engine

    import pnde
    from pnde.runs import lifecycle

    lifecycle.get = lambda name="auto": plain_engine.PlainEngine()
    base = {"epochs": 2, "width": 4, "batch_size": 30, "method": "nde", "progress": False}
    settings = {k: v for k, v in settings_of(seed).items() if k not in ("method", "progress")}
    large = {"epochs", "optimiser.epochs", "width", "network.width", "layers", "network.layers"}
    if any(
        k in large and isinstance(v, int | float) and 1e3 < v < 1e300 for k, v in settings.items()
    ):
        return  # what was asked for would be made, and takes as long as it takes
    done = pnde.train(data(), **base | settings)
    if not np.isfinite(done.history["loss"]).all():
        raise Wrong(f"{settings} trained to a loss that is not finite")


def command(seed):
    from click.testing import CliRunner

    from pnde.cli.main import main
    from pnde.errors import RunError

    rng = np.random.default_rng(seed)
    words = [
        "lotka-volterra",
        "quartic",
        "-s",
        "--models",
        "nde,snde",
        "-p",
        "--law",
        "rods",
        "x.py:y",
    ]
    words += [str(value)[:100].replace("\x00", "") for value in ODD] + [
        "=",
        "a=b",
        "epochs=x",
        "--n",
        "-o",
    ]
    commands = ["check", "evaluate", "rollout", "plot", "resume", "simulate", "train"]
    chosen = [commands[rng.integers(len(commands))], "nothing-there"]
    chosen += [words[rng.integers(len(words))] for _ in range(int(rng.integers(0, 4)))]
    result = CliRunner().invoke(main, chosen)
    if result.exit_code == 0:
        raise Wrong(f"{chosen} did something")
    if result.exit_code != 2 or "Traceback" in result.output:
        raise Wrong(f"{chosen}: {result.exit_code} {result.exception!r} {result.output[-500:]}")
    raise RunError("refused")


def test_settings(campaign_size):
    run(train, campaign_size).assert_clean()


def test_commands(campaign_size):
    run(command, campaign_size).assert_clean()
