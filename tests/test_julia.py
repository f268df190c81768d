"""The julia engine live: the same numbers as the embedded engine, training, and how it starts and fails."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from parity import METHODS, SYSTEMS, close, flat, model_of, wave, weights_of

import pnde
from pnde.config import SolverConfig
from pnde.engines import Batch, Status, get
from pnde.engines.julia import environment
from pnde.errors import ConfigError, ConstraintError, EngineError, GridError
from pnde.training import Progress, batches_of, epochs

SETTINGS = {"epochs": 3, "width": 16, "batch_size": 64, "learning_rate": 1e-2}
TIGHT = {"rollout.rtol": 1e-9, "rollout.atol": 1e-9}

live = pytest.mark.skipif(
    not environment.is_set_up(),
    reason="no Julia with the package PNDE: pip install 'pnde[julia]', pnde setup julia",
)


def both(method):
    return (getattr(get(name), method) for name in ("julia", "jax"))


def states_of(system, count=3):
    """States near which the law is regular."""
    rng = np.random.default_rng(5)
    if system.name == "lotka-volterra":
        return rng.uniform(0.8, 2.5, (count, 2))
    return system.initial(rng, count, "paper")


def segments_of(system, dt):
    u = states_of(system)
    points = u[:, None] + 0.05 * np.arange(5)[:, None] * wave(len(u), 5, u.shape[1])
    law = system.constraint.bind(system.states)
    c = get("jax").law(law, u, np.zeros(len(u)))
    return batch_of(points, dt, c)


def batch_of(points, dt, c, known=None):
    """Segments that share their times and have one weight."""
    count = len(points)
    grid = dt * np.arange(points.shape[1])
    return Batch(points, np.zeros(count), grid, c, np.full(count, 1 / count), known)


@pytest.mark.julia
@live
@pytest.mark.parametrize("name", SYSTEMS)
class TestParity:
    def test_law(self, name):
        law = SYSTEMS[name].constraint.bind(SYSTEMS[name].states)
        u = states_of(SYSTEMS[name])
        ours, theirs = both("law")
        close(ours(law, u, np.zeros(3)), theirs(law, u, np.zeros(3)), 1e-12)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("projection", ["cholesky", "qr"])
    def test_velocity(self, name, method, projection):
        model = model_of(SYSTEMS[name], method, projection=projection)
        u = states_of(SYSTEMS[name])
        c = get("jax").law(model.constraint, u, np.zeros(3)) - 0.1
        ours, theirs = (
            run(model, weights_of(model), u, np.zeros(3), c) for run in both("velocity")
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
        c = get("jax").law(model.constraint, u0, np.zeros(3))
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
        energies = get("jax").law(system.constraint, ours.u.reshape(-1, 4), 0.0).reshape(3, 5)
        assert np.abs(energies - energies[:, :1]).max() < 1e-14

    def test_laws_of_every_kind(self):
        u = np.random.default_rng(1).normal(size=(4, 4))
        t = np.linspace(0, 1, 4)
        radius = pnde.Conserved(lambda u: u[0] ** 2 + u[1] ** 2, julia="u -> u[1]^2 + u[2]^2")
        moving = pnde.Constraint(
            lambda u, t: u[0] - 2 * t, time_dependent=True, julia="(u, t) -> u[1] - 2t"
        )
        scaled = pnde.Conserved(
            lambda u: 3 * u[0], julia="(; k) -> (u -> k * u[1])", julia_parameters={"k": 3.0}
        )
        rod = pnde.Holonomic(lambda q: q[0] ** 2 + q[1] ** 2, julia="q -> q[1]^2 + q[2]^2")
        pinned = pnde.Pinned(["b"], 0.0)
        for law in (radius, moving, scaled, rod, pinned, radius & moving & pinned):
            law = law.bind(("a", "b", "c", "d"))
            ours, theirs = both("law")
            close(ours(law, u, t), theirs(law, u, t), 1e-12)

    def test_a_law_in_a_file(self, tmp_path):
        file = tmp_path / "law.jl"
        file.write_text("square(x) = x^2\nu -> square(u[1])\n")
        law = pnde.Conserved(lambda u: u[0] ** 2, julia=str(file))
        assert get("julia").law(law, np.array([[3.0, 1.0]]), np.zeros(1)) == [[9.0]]

    def test_julia_s_errors_are_translated(self):
        with pytest.raises(EngineError, match=r"julia: .*nonsense") as caught:
            get("julia").law(
                pnde.Conserved(lambda u: u[0], julia="u -> nonsense(u)"),
                np.zeros((1, 2)),
                np.zeros(1),
            )
        assert "\n" not in str(caught.value)
        assert "Stacktrace" in caught.value.traceback

    def test_a_syntax_error_says_where(self):
        law = pnde.Conserved(lambda u: u[0], julia="u ->\n  u[1] +* 2\n")
        with pytest.raises(
            EngineError, match=r"julia: the twin has a syntax error in line 2, column 9"
        ):
            get("julia").law(law, np.zeros((1, 2)), np.zeros(1))

    def test_a_twin_that_is_another_law_is_refused(self):
        law = pnde.Conserved(
            lambda u: [u[0], u[0] ** 2 + u[1]], names=["a", "b"], julia="u -> [u[1], u[1]^2 - u[2]]"
        )
        u = np.array([[1.0, 0.0], [3.0, 2.0]])
        with pytest.raises(
            ConstraintError, match=r"row 'b' is 7 in Julia but 11 in Python at the state \(3, 2\)"
        ):
            get("julia").law(law, u, np.zeros(2))
        short = pnde.Conserved(lambda u: [u[0], u[1]], julia="u -> u[1]")
        with pytest.raises(ConstraintError, match="has 1 rows in Julia, but the law itself has 2"):
            get("julia").law(short, u, np.zeros(2))

    def test_numbers_of_any_precision(self):
        system = SYSTEMS["quartic"]
        half = np.float32(0.5)
        law = pnde.Conserved(
            system.constraint.h,
            julia="(; half, quarters) -> (u -> half * (u[3]^2 + u[4]^2) + 0.25(u[1]^2 + u[2]^2)^2 * quarters[1])",
            julia_parameters={"half": half, "quarters": np.ones(1, np.float32)},
        )
        batch = segments_of(system, 0.1)
        for precision, tolerance in (("float64", 1e-9), ("float32", 1e-4)):
            ours, theirs = (
                get("julia").loss_and_gradient(model, weights_of(model), batch)
                for model in (
                    model_of(own, "pnde", precision=precision, rtol=1e-6, atol=1e-6)
                    for own in (SimpleSystem(system, law), system)
                )
            )
            close(ours[0], theirs[0], tolerance)
            close(flat(ours[1]), flat(theirs[1]), 10 * tolerance)

    @pytest.mark.parametrize("twin", [None, "u -> u[1]^2 + u[2]"])
    def test_the_domain_of_a_law_is_not_dropped(self, twin):
        law = pnde.Conserved(lambda u: u[0] ** 2 + u[1], domain=lambda u: u[0] > 0.5, julia=twin)
        u = np.array([[1.0, 2.0], [0.2, 2.0]])
        for engine in (get("julia"), get("jax")):
            values = engine.law(law, u, np.zeros(2))
            assert values[0] == 3.0 and np.isnan(values[1])

        def falling(u, t):
            return -1.0 + 0.0 * u

        settings = SolverConfig(solver="tsit5", retract="never")
        ours, theirs = (
            run(falling, u[:1], np.linspace(0, 1, 11), settings, law) for run in both("integrate")
        )
        assert ours.status == theirs.status == Status.LEFT_DOMAIN
        np.testing.assert_array_equal(np.isfinite(ours.u), np.isfinite(theirs.u))

    def test_status_has_the_versions(self):
        assert {"julia", "PNDE", "SciMLSensitivity"} <= get("julia").status().keys()


class SimpleSystem:
    """A system with another law, for `model_of`."""

    def __init__(self, system, law):
        self.states, self.order, self.constraint = system.states, system.order, law


def moving_rows(u, t):
    return [u[0] ** 2 + jnp.sin(2 * t) * u[1], u[2] * u[3] + t]


LAWS = {
    "energy": pnde.Conserved(lambda u: u[2] ** 2 / 2 + u[3] ** 2 / 2 + (u[:2] @ u[:2]) ** 2 / 4),
    "of time": pnde.Constraint(moving_rows, time_dependent=True),
    "with its jacobian": pnde.Conserved(
        lambda u: u[0] * u[1], jacobian=lambda u: jnp.stack([u[1], u[0], 0 * u[0], 0 * u[0]])[None]
    ),
    "rod": pnde.Holonomic(lambda q: q[0] ** 2 + q[1] ** 2),
    "stacked": pnde.Conserved(lambda u: jnp.exp(u[0]) * u[3]) & pnde.Pinned(["b"]),
}


@pytest.mark.julia
@live
class TestTracedLaws:
    """Laws without a twin: the same numbers as in the embedded engine, in value and in first and second derivative."""

    @pytest.mark.parametrize("name", LAWS)
    @pytest.mark.parametrize(
        "options", [{}, {"metric": "M"}, {"metric": "diagonal", "physics": "spring"}]
    )
    def test_velocities_and_gradients(self, name, options):
        functions = {
            "M": lambda u: jnp.diag(2 + jnp.tanh(u)) + 0.1 * jnp.ones((4, 4)),
            "diagonal": lambda u: 1 + u**2,
            "spring": lambda u: jnp.concatenate([u[2:], -u[:2]]),
        }
        law = LAWS[name].bind(("a", "b", "c", "d"))
        system = SimpleSystem(SYSTEMS["quartic"], law)
        u = np.random.default_rng(1).uniform(0.5, 1.5, (3, 4))
        t = np.array([0.1, 0.5, 2.0])
        options = {key: functions[value] for key, value in options.items()}
        values = [engine.law(law, u, t) for engine in (get("julia"), get("jax"))]
        close(*values, 1e-12)
        fixed, tight = (
            replace(model_of(system, "pnde", **settings), **options)
            for settings in ({"step": 0.1 / 64}, {"solver": "dopri8", "rtol": 1e-13, "atol": 1e-13})
        )
        ours, theirs = (run(fixed, weights_of(fixed), u, t, values[1]) for run in both("velocity"))
        close(ours, theirs, 1e-10)
        points = u[:, None] + 0.05 * np.arange(3)[:, None] * wave(3, 3, 4)
        batch = batch_of(points, 0.1, values[1])
        batch = replace(batch, start=t)
        loss, gradient = get("julia").loss_and_gradient(tight, weights_of(tight), batch)
        expected_loss, expected = get("jax").loss_and_gradient(fixed, weights_of(fixed), batch)
        close(loss, expected_loss, 1e-9)
        close(flat(gradient), flat(expected), 1e-8)

    def test_what_has_no_counterpart_is_one_sentence(self):
        import jax

        def energy(u):
            return jax.scipy.special.gammaln(u[0])

        with pytest.raises(
            EngineError, match=r"'energy' uses 'lgamma' \(test_julia.py, line \d+\)"
        ):
            get("julia").law(pnde.Conserved(energy), np.ones((1, 2)), np.zeros(1))

    def test_segments_of_states_that_are_known_in_part(self):
        system = SYSTEMS["quartic"]
        batch = segments_of(system, 0.1)
        known = np.random.default_rng(0).random(batch.u.shape) < 0.7
        batch = replace(
            batch, known=known, u=np.where(known | (np.arange(5) == 0)[:, None], batch.u, np.nan)
        )
        model = model_of(system, "pnde", solver="dopri8", rtol=1e-12, atol=1e-12)
        fixed = model_of(system, "pnde", step=0.1 / 64)
        loss, gradient = get("julia").loss_and_gradient(model, weights_of(model), batch)
        expected_loss, expected = get("jax").loss_and_gradient(fixed, weights_of(fixed), batch)
        close(loss, expected_loss)
        close(flat(gradient), flat(expected))


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
        assert again._engine.name == again.model.config.engine == "jax"
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
        with pytest.raises(ConstraintError, match="are dependent"):
            pnde.train(data, law, progress=False, engine="julia", **settings)


EQUATIONS = """
function f!(du, u, p, t)
    du[1] = 1 - u[1] * u[2]
    du[2] = p * (u[2] - u[1]^2) + 0 * u[3]
    du[3] = ifelse(u[3] < -5, u[1], u[3]^3.0 - sqrt(u[2]) * sin(u[1]) / u[2])
end
DifferentialAlgebraic(f!, [true, false, false], 2.0, ["a", "b", "c"], [1.0, 1.0, cbrt(sin(1.0))])
"""


@pytest.fixture(scope="module")
def grid():
    return pnde.systems.from_powerdynamics(EQUATIONS)


@pytest.mark.julia
@live
class TestDifferentialAlgebraic:
    """A grid from PowerDynamics.jl without PowerDynamics.jl: the same Julia object, of equations written by hand."""

    def test_both_engines_have_the_same_law(self, grid):
        u = np.random.default_rng(2).uniform(0.5, 2.0, (4, 3))
        ours, theirs = (law(grid.constraint, u, np.zeros(4)) for law in both("law"))
        a, b, c = u.T
        np.testing.assert_allclose(ours[:, 0], 2 * (b - a**2), rtol=1e-13)
        np.testing.assert_allclose(ours[:, 1], c**3 - np.sin(a) / np.sqrt(b), rtol=1e-12)
        close(ours, theirs, 1e-13)

    @pytest.mark.parametrize("method", ["snde", "pnde"])
    def test_and_the_same_loss_and_gradient(self, grid, method):
        u = grid.simulate(trajectories=3, t_end=0.4, dt=0.1)["u"].values
        batch = batch_of(u, 0.1, np.zeros((3, 2)))
        fixed = model_of(grid, method, step=0.1 / 64)
        tight = model_of(grid, method, solver="dopri8", rtol=1e-13, atol=1e-13)
        loss, gradient = get("julia").loss_and_gradient(tight, weights_of(tight), batch)
        expected_loss, expected = get("jax").loss_and_gradient(fixed, weights_of(fixed), batch)
        close(loss, expected_loss)
        close(flat(gradient), flat(expected))

    def test_data_obey_the_law(self, grid, monkeypatch):
        data = grid.simulate(trajectories=5, t_end=2.0, dt=0.1, seed=4)
        assert data["u"].shape == (5, 21, 3) and data.attrs["system"] == "powerdynamics"
        assert np.ptp(data["u"].values[:, 0], axis=0).min() > 1e-3
        for name in ("jax", "julia"):
            monkeypatch.setenv("PNDE_ENGINE", name)
            assert float(pnde.check(data, grid.constraint)["absolute"].max()) < 1e-12
        assert (grid.simulate(trajectories=5, t_end=2.0, dt=0.1, seed=4)["u"] == data["u"]).all()
        still = grid.simulate(trajectories=2, t_end=1.0, dt=0.5, push=0.0)
        np.testing.assert_allclose(still["u"], np.broadcast_to(grid.operation_point, (2, 3, 3)))

    def test_either_engine_trains(self, grid):
        data = pnde.split_data(grid.simulate(trajectories=6, t_end=1.0, dt=0.1), 3, 2, 1)
        for name in ("julia", "jax"):
            run = pnde.train(data, grid.constraint, engine=name, progress=False, **SETTINGS)
            assert float(run.rollout()["constraint_error"].max()) < 1e-12

    def test_branches_are_kept(self):
        code = EQUATIONS.replace("ifelse(u[3] < -5, u[1],", "(u[3] < 1.2 ? u[1] :")
        grid = pnde.systems.from_powerdynamics(code)
        u = np.random.default_rng(2).uniform(0.5, 2.0, (9, 3))
        ours, theirs = (law(grid.constraint, u, np.zeros(9)) for law in both("law"))
        assert 0 < np.count_nonzero(ours[:, 1] == u[:, 0]) < 9
        close(ours, theirs, 1e-13)

    def test_what_takes_plain_numbers_is_for_julia_alone(self):
        code = EQUATIONS.replace("sqrt(u[2])", "sqrt(plain(u[2]))")
        code = "plain(x::AbstractFloat) = x\n" + code
        grid = pnde.systems.from_powerdynamics(code)
        assert np.isfinite(get("julia").law(grid.constraint, np.ones((1, 3)), np.zeros(1))).all()
        with pytest.raises(GridError, match=r'use engine="julia" .*as a program'):
            get("jax").law(grid.constraint, np.ones((1, 3)), np.zeros(1))

    def test_what_is_wrong_is_one_sentence(self, grid):
        with pytest.raises(ConfigError, match=r"no state 'bb' \(did you mean 'b'\?\)"):
            grid.simulate(trajectories=1, forced=["bb"])
        with pytest.raises(ConfigError, match="not a multiple"):
            grid.simulate(trajectories=1, t_end=1.0, dt=0.3)
        with pytest.raises((EngineError, GridError), match=r"PowerDynamics|not a Network"):
            pnde.systems.from_powerdynamics("3")


NETWORK = """
using ModelingToolkit: @named
using PowerDynamics, PowerDynamics.Library
@named machine = SauerPaiMachine(;
    vf_input = false, τ_m_input = false, S_b = 100, V_b = 1, ω_b = 2π * 50, H = 23.64, X_d = 0.146, X_q = 0.0969,
    X′_d = 0.0608, X′_q = 0.0969, X″_d = 0.06, X″_q = 0.06, X_ls = 0.0146, T′_d0 = 8.96, T″_d0 = 0.01, T′_q0 = 0.31,
    T″_q0 = 0.01, R_s = 0.000125, D = 2,
)
@named demand = PQLoad(; Pset = -0.5, Qset = -0.2)
buses = [
    compile_bus(MTKBus(machine); vidx = 1, pf = pfSlack(; V = 1.04), name = :generator),
    compile_bus(MTKBus(); vidx = 2, name = :junction),
    compile_bus(MTKBus(demand); vidx = 3, pf = pfPQ(; P = -0.5, Q = -0.2), name = :load),
]
@named branch = PiLine(; R = 0.01, X = 0.085, B_src = 0.088, B_dst = 0.088)
line(src, dst) = compile_line(MTKLine(branch); src, dst, name = Symbol(:line, src, dst))
Network(buses, [line(1, 2), line(2, 3)]; warn_order = false)
"""


@pytest.mark.julia
@live
def test_a_network_of_powerdynamics_is_taken_as_it_is():
    try:
        grid = pnde.systems.from_powerdynamics(NETWORK)
    except EngineError as error:
        if "PowerDynamics.jl is not in the Julia project" not in str(error):
            raise
        pytest.skip("PowerDynamics.jl is not in the Julia project of this engine")
    assert {"generator₊machine₊ω", "junction₊busbar₊u_r"} < set(grid.states)
    data = grid.simulate(trajectories=6, t_end=0.5, dt=0.05)
    u = data["u"].values[:, ::5].reshape(-1, len(grid.states))
    off = u + 1e-2 * np.random.default_rng(1).normal(size=u.shape)
    for states, size in ((u, 1e-12), (off, np.inf)):
        ours, theirs = (law(grid.constraint, states, np.zeros(len(u))) for law in both("law"))
        assert abs(ours).max() < size
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    data = pnde.split_data(data, 3, 2, 1)
    for name in ("julia", "jax"):
        run = pnde.train(data, grid.constraint, engine=name, progress=False, **SETTINGS)
        # After a few epochs on a few transients the forecast is soon far off, where rounding is large too.
        assert float(run.rollout(t_end=0.2)["constraint_error"].max()) < 1e-12


@pytest.mark.julia
@live
@pytest.mark.parametrize("first", ["jax", "julia"])
def test_jax_and_julia_in_one_process(first):
    run_python(
        f"""
        import numpy as np
        import pnde
        from pnde.engines import get
        law = pnde.systems.quartic().constraint
        u = np.ones((2, 4))
        order = ["jax", "julia"] if {first!r} == "jax" else ["julia", "jax"]
        a, b = (get(name).law(law, u, np.zeros(2)) for name in order)
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
        model = model_of(SYSTEMS["quartic"], "pnde")
        u0 = np.random.default_rng(0).normal(size=(64, 4))
        engine = get("julia")
        c = engine.law(model.constraint, u0, np.zeros(64))
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
