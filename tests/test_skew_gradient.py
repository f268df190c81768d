"""Networks that give A = -Aᵀ of the velocity A ∇h."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde.config import Config
from pnde.engines import get
from pnde.engines.jax import fields
from pnde.laws import Conserved, Instant
from pnde.models import Model, ModelKind, initial_weights
from pnde.runs.new_model import new_model


def energy(u):
    return u[0] ** 2 + u[1] * u[2] + jnp.cos(u[3])


def in_logarithms(u):
    """V of Lotka and Volterra, α = γ = 0.5, β = δ = 1, of the logarithms of prey and predators."""
    return jnp.exp(u[0]) + jnp.exp(u[1]) - 0.5 * (u[0] + u[1])


def model_of(law, n, **settings):
    states = tuple(f"u{i}" for i in range(n))
    return Model(
        states=states,
        config=Config.make(form="skew-gradient", width=8, **settings),
        mean=np.zeros(n),
        std=1 + np.arange(n),
        constraint=law.bind(states),
        speed=0.5 + np.arange(n),
    )


@pytest.fixture(scope="module")
def logarithms():
    system = pnde.systems.lotka_volterra(alpha=0.5, beta=1.0, gamma=0.5, delta=1.0)
    ds = system.simulate(12, t_end=6.0, dt=0.3, seed=2)
    return pnde.data.make_dataset(np.log(ds["u"].values), ds["time"].values, ["log x", "log y"])


def test_the_network_alone_conserves_the_law_in_every_direction_that_it_can_go():
    model = model_of(Conserved(energy), 4)
    velocities = []
    with jax.enable_x64(True):
        u = jnp.asarray([0.3, -0.8, 1.1, 0.4])
        for seed in range(5):
            weights = fields.parameters(initial_weights(model, seed), float)
            velocities.append(fields.ambient_velocity(model, weights, Instant(0.0), u))
        slope = jax.grad(energy)(u)
        assert np.abs(np.stack(velocities) @ slope).max() < 1e-14
    assert np.linalg.matrix_rank(np.stack(velocities), tol=1e-6) == 3
    assert model.layer_sizes[-1] == 6


def test_two_states_go_along_their_orbit():
    model = model_of(Conserved(in_logarithms), 2)
    with jax.enable_x64(True):
        weights, u = initial_weights(model, 0), jnp.asarray([0.3, 0.5])
        last = f"layers.{len(weights) // 2 - 1}"
        weights = {k: 0 * v for k, v in weights.items()} | {f"{last}.bias": np.array([-2.0])}
        v = fields.ambient_velocity(model, fields.parameters(weights, float), Instant(0.0), u)
    # A_12 = a d_1 d_2 with a = -2: ẋ = A_12 ∂h/∂y, ẏ = -A_12 ∂h/∂x
    dx, dy = np.exp([0.3, 0.5]) - 0.5
    np.testing.assert_allclose(v, -2 * 0.5 * 1.5 * np.array([dy, -dx]), rtol=1e-14)


def test_logarithms_of_populations_have_a_constant_speed_along_their_orbit(logarithms):
    run = pnde.train(
        logarithms, Conserved(in_logarithms), form="skew-gradient", epochs=100, learning_rate=2e-2,
        decay_epochs=100, weight_decay=1.0, width=16, progress=False,
    )  # fmt: skip
    forecast = run.rollout()
    assert float(forecast["state_error"].mean()) < 0.1
    assert float(forecast["constraint_error"].max()) < 1e-12


def test_neither_units_of_states_nor_of_the_law_matter(logarithms):
    def model(states, size):
        data = pnde.split_data(logarithms.assign(u=logarithms["u"] * states), 8, 2, 2)
        law = Conserved(lambda u: size * in_logarithms(u / states))
        return new_model(
            get("jax"), data, law, Config.make(form="skew-gradient"), None, None, None
        )[0]

    states, size = np.array([1e3, 1e-2]), 1e4
    usual, other = model(1.0, 1.0), model(states, size)
    # ∇h is in size / states, so A of the same outputs has to be in states² / size.
    np.testing.assert_allclose(other.speed, usual.speed * states / np.sqrt(size), rtol=1e-6)


@pytest.mark.parametrize(
    ("law", "settings", "message"),
    [
        (Conserved(in_logarithms), {"method": "nde"}, 'needs the law h: set method = "pnde"'),
        (Conserved(in_logarithms), {"order": 2}, "and not accelerations: leave order=2 out"),
        (
            Conserved(lambda u: [in_logarithms(u), in_logarithms(u) ** 2]),
            {},
            r"the law has 2 \(\w+.*\): set network.form",
        ),
        (Conserved(in_logarithms), {"engine": "julia"}, "julia"),
    ],
)
def test_where_the_form_makes_no_sense_a_sentence_says_why(logarithms, law, settings, message):
    with pytest.raises(pnde.PndeError, match=message):
        pnde.train(logarithms, law, form="skew-gradient", progress=False, **settings)


def test_it_has_a_name():
    kind = ModelKind.parse("skew-gradient-pnde")
    assert str(kind) == "skew-gradient-pnde" and kind.label == "skew-gradient PNDE"
    assert kind.settings == {"method": "pnde", "network.form": "skew-gradient"}
