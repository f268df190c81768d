"""Laws in the julia engine, twins and functions that are traced: those of the embedded engine, with all derivatives."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from live import SimpleSystem, batch_of, both, live, segments_of, states_of
from parity import SYSTEMS, close, flat, model_of, wave, weights_of

import pnde
from pnde.config import SolverConfig
from pnde.engines import Status, get
from pnde.engines.julia.twins import check_twin
from pnde.errors import ConstraintError, EngineError
from pnde.laws import Instant


@pytest.mark.julia
@live
class TestTwins:
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
            close(ours(law, u, Instant(t)), theirs(law, u, Instant(t)), 1e-12)

    def test_a_law_in_a_file(self, tmp_path):
        file = tmp_path / "law.jl"
        file.write_text("square(x) = x^2\nu -> square(u[1])\n")
        law = pnde.Conserved(lambda u: u[0] ** 2, julia=str(file))
        assert get("julia").law(law, np.array([[3.0, 1.0]]), Instant(np.zeros(1))) == [[9.0]]

    def test_julia_s_errors_are_translated(self):
        with pytest.raises(EngineError, match=r"julia: .*nonsense") as caught:
            get("julia").law(
                pnde.Conserved(lambda u: u[0], julia="u -> nonsense(u)"),
                np.zeros((1, 2)),
                Instant(np.zeros(1)),
            )
        assert "\n" not in str(caught.value)
        assert "Stacktrace" in caught.value.traceback

    def test_a_syntax_error_says_where(self):
        law = pnde.Conserved(lambda u: u[0], julia="u ->\n  u[1] +* 2\n")
        with pytest.raises(
            EngineError, match=r"julia: the twin has a syntax error in line 2, column 9"
        ):
            get("julia").law(law, np.zeros((1, 2)), Instant(np.zeros(1)))

    def test_a_twin_that_is_another_law_is_refused(self):
        law = pnde.Conserved(
            lambda u: [u[0], u[0] ** 2 + u[1]], names=["a", "b"], julia="u -> [u[1], u[1]^2 - u[2]]"
        )
        u = np.array([[1.0, 0.0], [3.0, 2.0]])
        with pytest.raises(
            ConstraintError, match=r"row 'b' is 7 in Julia but 11 in Python at the state \(3, 2\)"
        ):
            get("julia").law(law, u, Instant(np.zeros(2)))
        short = pnde.Conserved(lambda u: [u[0], u[1]], julia="u -> u[1]")
        with pytest.raises(ConstraintError, match="has 1 rows in Julia, but the law itself has 2"):
            get("julia").law(short, u, Instant(np.zeros(2)))

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
            values = engine.law(law, u, Instant(np.zeros(2)))
            assert values[0] == 3.0 and np.isnan(values[1])

        def falling(u, t):
            return -1.0 + 0.0 * u

        settings = SolverConfig(solver="tsit5", retract="never")
        ours, theirs = (
            run(falling, u[:1], np.linspace(0, 1, 11), settings, law) for run in both("integrate")
        )
        assert ours.status == theirs.status == Status.LEFT_DOMAIN
        np.testing.assert_array_equal(np.isfinite(ours.u), np.isfinite(theirs.u))


def test_rounding_in_a_row_that_is_zero_on_the_data_is_no_other_law():
    # Bus 7 of the grid draws nothing.
    system = SYSTEMS["ieee14"]
    law, u = system.constraint.bind(system.states), states_of(system)
    values = get("jax").law(law, u, Instant(np.zeros(3)))
    assert np.abs(values).min() < 1e-14
    check_twin(law, u, np.zeros(3), values + 1e-15)
    with pytest.raises(ConstraintError, match="another law"):
        check_twin(law, u, np.zeros(3), values + 1e-8)


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
        values = [engine.law(law, u, Instant(t)) for engine in (get("julia"), get("jax"))]
        close(*values, 1e-12)
        fixed, tight = (
            replace(model_of(system, "pnde", **settings), **options)
            for settings in ({"step": 0.1 / 64}, {"solver": "dopri8", "rtol": 1e-13, "atol": 1e-13})
        )
        ours, theirs = (
            run(fixed, weights_of(fixed), u, Instant(t), values[1]) for run in both("velocity")
        )
        close(ours, theirs, 1e-10)
        points = u[:, None] + 0.05 * np.arange(3)[:, None] * wave(3, 3, 4)
        batch = batch_of(points, 0.1, values[1])
        batch = replace(batch, start=t)
        loss, gradient = get("julia").loss_and_gradient(tight, weights_of(tight), batch)
        expected_loss, expected = get("jax").loss_and_gradient(fixed, weights_of(fixed), batch)
        close(loss, expected_loss, 1e-9)
        close(flat(gradient), flat(expected), 1e-8)

    def test_what_has_no_counterpart_is_one_sentence(self):
        def energy(u):
            return jax.scipy.special.gammaln(u[0])

        with pytest.raises(
            EngineError, match=r"'energy' uses 'lgamma' \(test_julia_laws.py, line \d+\)"
        ):
            get("julia").law(pnde.Conserved(energy), np.ones((1, 2)), Instant(np.zeros(1)))

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
