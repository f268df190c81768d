"""The embedded engine against numbers that the Julia package wrote (julia/PNDE/test/golden.jl), on every machine."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from parity import (
    DRIVEN,
    FORMS,
    METHODS,
    PROJECTIONS,
    STEPPED,
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

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "golden"
ALL = SYSTEMS | DRIVEN | FORMS
# What a method makes of a velocity does not depend on the system, so a few are solved with all of them.
SOLVED = [
    (name, method)
    for name in ALL
    for method in METHODS
    if method == "pnde" or name in ("quartic", "pendulum-4", "ieee14")
]


@pytest.fixture(scope="module", params=[*ALL])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def system(name):
    return ALL[name]


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


@pytest.mark.parametrize("name", [*SYSTEMS, *DRIVEN], indirect=True)
@pytest.mark.parametrize("method", PROJECTIONS)
def test_projection_and_its_derivative(golden, method):
    expected = golden["projection"][method]
    G = np.swapaxes(golden["G"], 1, 2)
    batch, m, n = G.shape
    v, p_bar = wave(batch, n), np.cos(wave(batch, n))
    b, W = 0.3 * wave(batch, m), 1.5 + 0.5 * wave(batch, n)

    @jax.jit
    @jax.vmap
    def evaluated(G, v, b, W, p_bar):
        p, pullback = jax.vjp(lambda *arrays: project(*arrays, method), G, v, b, W)
        return project(G, v, method=method), p, *pullback(p_bar)

    with jax.enable_x64(True):
        euclidean, p, G_bar, v_bar, b_bar, W_bar = evaluated(G, v, b, W, p_bar)
    for k in range(batch):
        close(euclidean[k], expected["euclidean"][k])
        close(p[k], expected["p"][k])
        close(v_bar[k], expected["v_bar"][k])
        close(b_bar[k], expected["b_bar"][k])
        close(W_bar[k], expected["W_bar"][k])
    close(G_bar[0], expected["G_bar"][0].T)


@pytest.mark.parametrize("method", METHODS)
def test_velocity(system, golden, method):
    model = model_of(system, method)
    at = instants_of(system, golden["dt"])
    actual = get("jax").velocity(model, weights_of(model), golden["u"], at, golden["h"] - 0.1)
    close(actual, golden["velocity"][method])


@pytest.mark.parametrize(("name", "method"), SOLVED, indirect=["name"])
def test_loss_and_gradient(system, golden, method):
    # Small enough steps, with the sample times among them, are exact to rounding.
    model = model_of(system, method, step=float(golden["dt"]) / 64)
    loss, gradient = get("jax").loss_and_gradient(
        model, weights_of(model), segments_of(system, golden)
    )
    expected = golden["training"][method]
    close(loss, expected["loss"])
    close(flat(gradient), expected["gradient"])


@pytest.mark.parametrize("name", ["quartic", "pendulum-4"], indirect=True)
def test_gradient_of_steps_that_are_retracted(system, golden):
    # Steps too large to be exact: both engines take the same ones, and differentiate them and not the equation.
    model = model_of(system, "pnde", step=float(golden["dt"]) / 2, retract="step")
    loss, gradient = get("jax").loss_and_gradient(
        model, weights_of(model), segments_of(system, golden)
    )
    close(loss, golden["steps"]["loss"], 1e-11)
    close(flat(gradient), golden["steps"]["gradient"], 1e-10)


@pytest.mark.parametrize(("name", "method"), SOLVED, indirect=["name"])
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


@pytest.mark.parametrize("name", STEPPED)
def test_steps(name):
    """Within bounds a field has kinks, so that no steps are small enough to be exact: both engines take the same."""
    system, golden = STEPPED[name], as_arrays(json.loads((FOLDER / f"{name}.json").read_text()))
    model = model_of(system, "pnde", step=float(golden["dt"]) / 2, retract="step")
    weights, at = weights_of(model), instants_of(system, golden["dt"])
    close(get("jax").velocity(model, weights, golden["u"], at, golden["h"]), golden["velocity"])
    loss, gradient = get("jax").loss_and_gradient(model, weights, segments_of(system, golden))
    close(loss, golden["steps"]["loss"], 1e-11)
    close(flat(gradient, model), golden["steps"]["gradient"], 1e-10)
    times = golden["dt"] * np.arange(0, 21, 5)
    settings = SolverConfig(solver="tsit5", step=float(golden["dt"]), retract="step")
    out = get("jax").rollout(model, weights, golden["u"], times, golden["h"], settings)
    close(out.u, golden["rollout"])


def test_files_are_small_and_say_their_versions():
    for file in FOLDER.glob("*.json"):
        assert file.stat().st_size < 200_000, file
        assert {"julia", "PNDE", "SciMLSensitivity"} <= json.loads(file.read_text())[
            "versions"
        ].keys()
