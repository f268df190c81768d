"""The julia engine live: the same numbers as the embedded engine, training, processes and threads."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from live import SETTINGS, TIGHT, both, live, segments_of, states_of
from parity import FORMS, METHODS, SYSTEMS, close, flat, model_of, weights_of

import pnde
from pnde.config import SolverConfig
from pnde.engines import get
from pnde.errors import ConstraintError
from pnde.laws import Instant
from pnde.training import Progress, batches_of, epochs


@pytest.mark.julia
@live
@pytest.mark.parametrize("name", SYSTEMS)
class TestParity:
    def test_law(self, name):
        law = SYSTEMS[name].constraint.bind(SYSTEMS[name].states)
        u = states_of(SYSTEMS[name])
        ours, theirs = both("law")
        at = Instant(np.zeros(3))
        close(ours(law, u, at), theirs(law, u, at), 1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_retract(self, name, weighted):
        law = SYSTEMS[name].constraint.bind(SYSTEMS[name].states)
        u = states_of(SYSTEMS[name])
        metric = np.linspace(0.5, 2, u.shape[1]) if weighted else None
        c = get("jax").law(law, u, Instant(np.zeros(3)))
        ours, theirs = (
            run(law, metric, 1.001 * u, Instant(np.zeros(3)), c) for run in both("retract")
        )
        close(ours[0], theirs[0], 1e-10)
        np.testing.assert_array_equal(ours[1], theirs[1])

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("projection", ["cholesky", "qr"])
    def test_velocity(self, name, method, projection):
        model = model_of(SYSTEMS[name], method, projection=projection)
        u = states_of(SYSTEMS[name])
        c = get("jax").law(model.constraint, u, Instant(np.zeros(3))) - 0.1
        ours, theirs = (
            run(model, weights_of(model), u, Instant(np.zeros(3)), c) for run in both("velocity")
        )
        close(ours, theirs, 1e-10)

    @pytest.mark.parametrize("method", METHODS)
    def test_loss_and_gradient(self, name, method):
        dt = 0.01 if name.startswith("pendulum") else 0.1
        batch = segments_of(SYSTEMS[name], dt)
        # Exact to rounding on both sides: small fixed steps here, an adaptive method of high order there.
        fixed = model_of(SYSTEMS[name], method, step=dt / 64)
        tight = model_of(SYSTEMS[name], method, solver="dopri8", rtol=1e-13, atol=1e-13)
        loss, gradient = get("julia").loss_and_gradient(tight, weights_of(tight), batch)
        expected_loss, expected = get("jax").loss_and_gradient(fixed, weights_of(fixed), batch)
        close(loss, expected_loss)
        close(flat(gradient), flat(expected))

    @pytest.mark.parametrize("retract", ["step", "save", "never"])
    def test_rollout(self, name, retract):
        model = model_of(SYSTEMS[name], "pnde")
        u0, times = states_of(SYSTEMS[name]), np.linspace(0, 0.5, 6)
        c = get("jax").law(model.constraint, u0, Instant(np.zeros(3)))
        settings = SolverConfig(solver="tsit5", step=0.01, retract=retract)
        ours, theirs = (
            run(model, weights_of(model), u0, times, c, settings) for run in both("rollout")
        )
        close(ours.u, theirs.u)
        np.testing.assert_array_equal(ours.status, theirs.status)
        np.testing.assert_array_equal(ours.steps, theirs.steps)


@pytest.mark.julia
@live
class TestEngine:
    @pytest.mark.parametrize("method", METHODS)
    def test_networks_of_the_skew_gradient_form(self, method):
        system = FORMS["quartic-skew-gradient"]
        u, at = states_of(SYSTEMS["quartic"]), Instant(np.zeros(3))
        tight = model_of(system, method, solver="dopri8", rtol=1e-12, atol=1e-12)
        c = get("jax").law(tight.constraint, u, at) - 0.1
        ours, theirs = (run(tight, weights_of(tight), u, at, c) for run in both("velocity"))
        close(ours, theirs, 1e-12)
        batch = segments_of(system, 0.1)
        ours, theirs = (run(tight, weights_of(tight), batch) for run in both("loss_and_gradient"))
        close(ours[0], theirs[0])
        close(flat(ours[1]), flat(theirs[1]))

    def test_single_precision_and_the_paper_s_adjoint(self):
        system = SYSTEMS["lotka-volterra"]
        batch = segments_of(system, 0.1)
        exact = model_of(system, "pnde", step=0.1 / 64)
        expected_loss, expected = get("jax").loss_and_gradient(exact, weights_of(exact), batch)
        for adjoint in ("discretise", "backsolve"):
            model = model_of(
                system, "pnde", precision="float32", adjoint=adjoint, rtol=1e-5, atol=1e-5
            )
            loss, gradient = get("julia").loss_and_gradient(model, weights_of(model), batch)
            assert gradient["layers.0.weight"].dtype == np.float32
            close(loss, expected_loss, 1e-4)
            close(flat(gradient), flat(expected), 2e-3)

    def test_integrate_a_python_right_hand_side(self):
        system = SYSTEMS["quartic"]
        u0, times = states_of(system), np.linspace(0, 2, 5)
        settings = SolverConfig(solver="dopri8", rtol=1e-11, atol=1e-11, retract="step")
        ours, theirs = (
            run(system.rhs, u0, times, settings, system.constraint) for run in both("integrate")
        )
        close(ours.u, theirs.u, 1e-7)
        energies = (
            get("jax").law(system.constraint, ours.u.reshape(-1, 4), Instant(0.0)).reshape(3, 5)
        )
        assert np.abs(energies - energies[:, :1]).max() < 1e-14

    def test_status_has_the_versions(self):
        assert {"julia", "PNDE", "SciMLSensitivity"} <= get("julia").status().keys()


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "pnde"
    settings = SETTINGS | TIGHT
    return pnde.train(data, folder=folder, progress=False, engine="julia", **settings), folder


@pytest.mark.julia
@live
@pytest.mark.slow
class TestTraining:
    def test_the_embedded_engine_loads_what_julia_trained(self, trained):
        run, folder = trained
        assert run.report["engine"] == "julia"
        again = pnde.load(folder, engine="jax")
        assert again._engine.name == "jax"
        ours, theirs = run.rollout(t_end=10.0), again.rollout(t_end=10.0)
        assert float(ours["constraint_error"].max()) < 1e-13
        np.testing.assert_allclose(ours["u"], theirs["u"], rtol=1e-6)

    def test_the_same_steps_as_the_embedded_engine(self, data, trained):
        other = pnde.train(data, progress=False, engine="jax", **SETTINGS)
        np.testing.assert_allclose(trained[0].history["loss"], other.history["loss"], rtol=1e-3)

    def test_a_batch_that_is_not_full_counts_as_in_the_embedded_engine(self, data):
        # 30 segments to train on and 15 to validate on, in batches of 8.
        exact = {"precision": "float64", "rtol": 1e-11, "atol": 1e-11, "max_steps": 1000}
        settings = SETTINGS | {"batch_size": 8, "solver": {"solver": "dopri8", **exact}}
        ours, theirs = (
            pnde.train(data, progress=False, engine=name, **settings).history
            for name in ("julia", "jax")
        )
        for column in ("loss", "valid_loss", "gradient_norm"):
            np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-6)

    def test_a_training_stopped_after_each_epoch_ends_bit_for_bit_as_one_in_one_go(self, data):
        engine = get("julia")
        # Late enough for what is carried from step to step, and would round differently if computed anew.
        settings = SETTINGS | {"epochs": 12, "batch_size": 16}
        model = pnde.train(data, progress=False, engine="julia", **SETTINGS | {"epochs": 1}).model
        model = replace(model, config=pnde.Config.make(model.config, **settings))
        batches, start = batches_of(engine, model, data), weights_of(model)
        *_, end = epochs(engine, model, batches, Progress(start, start))
        whole, progress = end.progress(), Progress(start, start)
        while progress.epoch < 12:
            progress = next(epochs(engine, model, batches, progress)).progress()
        for name, value in progress.weights.items():
            np.testing.assert_array_equal(value, whole.weights[name])
        for name, value in progress.state.items():
            np.testing.assert_array_equal(value, whole.state[name])

    def test_rows_that_depend_on_each_other_are_told_at_the_start(self, data):
        law = pnde.Conserved(lambda u: [u[0] + u[1], 2 * u[0] + 2 * u[1]])
        settings = SETTINGS | {"tolerance": 1e9}
        for engine in ("julia", "jax"):
            with pytest.raises(
                ConstraintError, match=r'are dependent.*projection.method = "truncated"$'
            ):
                pnde.train(data, law, progress=False, engine=engine, **settings)

    def test_rows_that_nearly_do_have_the_same_remedy_in_both_engines(self, data):
        law = pnde.Conserved(lambda u: [u[0] + u[1], u[0] + (1 + 1e-4) * u[1]])
        settings = SETTINGS | {"tolerance": 1e9, "solver.precision": "float32"}
        for engine in ("julia", "jax"):
            with pytest.raises(
                ConstraintError, match=r'so nearly dependent.*use projection.method = "qr"'
            ):
                pnde.train(data, law, progress=False, engine=engine, **settings)


@pytest.mark.julia
@live
@pytest.mark.parametrize("first", ["jax", "julia"])
def test_jax_and_julia_in_one_process(first):
    run_python(
        f"""
        import numpy as np
        import pnde
        from pnde.engines import get
        from pnde.laws import Instant
        law = pnde.systems.quartic().constraint
        u = np.ones((2, 4))
        order = ["jax", "julia"] if {first!r} == "jax" else ["julia", "jax"]
        a, b = (get(name).law(law, u, Instant(np.zeros(2))) for name in order)
        assert (a == b).all()
        """
    )


@pytest.mark.julia
@live
@pytest.mark.parametrize("threads", ["1", "2"])
def test_threads(threads):
    # Forecasts of many trajectories run on all threads, and collect garbage on all.
    run_python(
        """
        import numpy as np
        import pnde
        from parity import SYSTEMS, model_of, weights_of
        from pnde.config import SolverConfig
        from pnde.engines import get
        from pnde.laws import Instant
        model = model_of(SYSTEMS["quartic"], "pnde")
        u0 = np.random.default_rng(0).normal(size=(64, 4))
        engine = get("julia")
        c = engine.law(model.constraint, u0, Instant(np.zeros(64)))
        for _ in range(3):
            out = engine.rollout(model, weights_of(model), u0, np.linspace(0, 5, 51), c, SolverConfig())
        assert not out.status.any()
        import os
        assert engine.status()["threads"] == os.environ["PYTHON_JULIACALL_THREADS"]
        """,
        PYTHON_JULIACALL_THREADS=threads,
    )


def run_python(code, **variables):
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
