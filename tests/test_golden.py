"""The embedded engine against numbers that the Julia package wrote (julia/PNDE/test/golden.jl), on every machine."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parity import (
    DRIVEN,
    METHODS,
    PROJECTIONS,
    SYSTEMS,
    close,
    conditions_of,
    flat,
    instants_of,
    model_of,
    wave,
    weights_of,
)

from pnde.config import SolverConfig
from pnde.engines import Batch, get
from pnde.engines.jax.projection import project

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("light_compilation")]

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture(scope="module", params=[*SYSTEMS, *DRIVEN])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def system(name):
    return (SYSTEMS | DRIVEN)[name]


@pytest.fixture(scope="module")
def golden(name):
    return as_arrays(json.loads((FOLDER / f"{name}.json").read_text()))


def as_arrays(entry):
    if isinstance(entry, dict):
        return {k: v if k == "versions" else as_arrays(v) for k, v in entry.items()}
    return np.asarray(entry)


def segments_of(system, golden):
    """The segments of golden.jl: the later points are off the first by `wave`."""
    u = golden["u"]
    points = u[:, None] + 0.1 * np.arange(5)[:, None] * wave(len(u), 5, u.shape[1])
    return Batch(
        u=points,
        start=np.zeros(len(u)),
        grid=golden["dt"] * np.arange(5),
        c=golden["h"],
        share=np.full(len(u), 1 / len(u)),
        conditions=conditions_of(system, golden["dt"]),
    )


def test_law(system, golden):
    law = system.constraint.bind(system.states)
    at = instants_of(system, golden["dt"])
    close(get("jax").law(law, golden["u"], at), golden["h"], 1e-12)


@pytest.mark.parametrize("method", PROJECTIONS)
def test_projection_and_its_derivative(golden, method):
    expected = golden["projection"][method]
    G = np.swapaxes(golden["G"], 1, 2)
    batch, m, n = G.shape
    v, p_bar = wave(batch, n), np.cos(wave(batch, n))
    b, W = 0.3 * wave(batch, m), 1.5 + 0.5 * wave(batch, n)
    with jax.enable_x64(True):
        for k in range(batch):
            arrays = [jnp.asarray(x[k]) for x in (G, v, b, W)]
            close(project(arrays[0], arrays[1], method=method), expected["euclidean"][k])
            p, pullback = jax.vjp(lambda G, v, b, W: project(G, v, b, W, method), *arrays)
            G_bar, v_bar, b_bar, W_bar = pullback(jnp.asarray(p_bar[k]))
            close(p, expected["p"][k])
            close(v_bar, expected["v_bar"][k])
            close(b_bar, expected["b_bar"][k])
            close(W_bar, expected["W_bar"][k])
            if k == 0:
                close(G_bar, expected["G_bar"][0].T)


@pytest.mark.parametrize("method", METHODS)
def test_velocity(system, golden, method):
    model = model_of(system, method)
    at = instants_of(system, golden["dt"])
    actual = get("jax").velocity(model, weights_of(model), golden["u"], at, golden["h"] - 0.1)
    close(actual, golden["velocity"][method])


@pytest.mark.parametrize("method", METHODS)
def test_loss_and_gradient(system, golden, method):
    # Small enough steps, with the sample times among them, are exact to rounding.
    model = model_of(system, method, step=float(golden["dt"]) / 64)
    loss, gradient = get("jax").loss_and_gradient(
        model, weights_of(model), segments_of(system, golden)
    )
    expected = golden["training"][method]
    close(loss, expected["loss"])
    close(flat(gradient), expected["gradient"])


@pytest.mark.parametrize("method", METHODS)
def test_rollout(system, golden, method):
    model = model_of(system, method)
    times = golden["dt"] * np.arange(0, 21, 5)
    conditions = conditions_of(system, golden["dt"])
    step = float(golden["dt"]) / (2 if conditions.jump else 1)
    settings = SolverConfig(solver="tsit5", step=step, retract="step")
    out = get("jax").rollout(
        model, weights_of(model), golden["u"], times, golden["h"], settings, conditions
    )
    close(out.u, golden["rollout"][method])


def test_files_are_small_and_say_their_versions():
    for file in FOLDER.glob("*.json"):
        assert file.stat().st_size < 200_000, file
        assert {"julia", "PNDE", "SciMLSensitivity"} <= json.loads(file.read_text())[
            "versions"
        ].keys()
