"""Mechanical models: what they compute, what is known of them, what is read from them, and what is refused."""

from dataclasses import replace
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde.config import Config
from pnde.engines import get
from pnde.errors import ConfigError, ConstraintError
from pnde.laws import Constraint, Holonomic, Instant
from pnde.metrics import energy_rise
from pnde.models import Mechanics, ModelKind, check_mechanics, initial_weights
from pnde.systems.pendulum import to_cartesian

N = 2
PENDULUM = pnde.systems.pendulum(n=N, friction=0.3)
ANGLES = pnde.systems.pendulum(n=N, friction=0.3, coordinates="angular")


def states(count=3, seed=0):
    """Angles and rates `(count, 4)` of a double pendulum, and its Cartesian states `(count, 8)`."""
    z = 2 * np.random.default_rng(seed).normal(size=(count, 2 * N))
    return z, to_cartesian(z)


def random_weights(model, seed=1):
    """Weights of which none is 0."""
    rng = np.random.default_rng(seed)
    weights = initial_weights(model, seed)
    return {name: 0.3 * rng.normal(size=array.shape) for name, array in weights.items()}


def silent(model):
    """Weights with which nothing is added to what is known."""
    return {name: 0 * array for name, array in initial_weights(model, 1).items()}


def velocity(model, weights, u):
    law = model.constraint
    c = np.zeros((len(u), 0))
    at = Instant(np.zeros(len(u)))
    if law is not None:
        c = law.targets(get("jax").law(law, u, at))
    return get("jax").velocity(model, weights, u, at, c)


def hinges(q):
    """A of the friction in the hinges of a chain, in Cartesian coordinates: torques -b (ω_i - ω_i-1)."""
    x, y = q[:N], q[N:]
    D = jnp.eye(N) - jnp.eye(N, k=-1)
    to_rates = jnp.concatenate([-(D @ y)[:, None] * D, (D @ x)[:, None] * D], axis=1)
    return 0.3 * to_rates.T @ D @ to_rates


KNOWN = Mechanics(masses=np.ones(2 * N), potential=lambda q: 9.81 * q[N:].sum(), dissipation=hinges)


def test_rods_hold_a_free_chain(make_model):
    """Masses, weight and friction of the hinges, projected in the metric of the masses, are the pendulum."""
    model = make_model(PENDULUM, physics=KNOWN, form="mechanical", dissipation="none")
    _, u = states()
    expected = np.stack([PENDULUM.rhs(x, Instant(0.0)) for x in u])
    np.testing.assert_allclose(velocity(model, silent(model), u), expected, rtol=1e-9)


def test_masses_of_the_angles_bring_coriolis_forces(make_model):
    def masses(q):
        count = np.array([[2.0, 1.0], [1.0, 1.0]])
        return count * jnp.cos(q[:, None] - q[None, :])

    known = Mechanics(
        masses=masses,
        potential=lambda q: -9.81 * (2 * jnp.cos(q[0]) + jnp.cos(q[1])),
        dissipation=0.3 * np.array([[1.0, 0.0], [-1.0, 1.0]]),
    )
    model = make_model(ANGLES, "nde", physics=known, form="mechanical", dissipation="none")
    z, _ = states()
    expected = np.stack([ANGLES.rhs(x, Instant(0.0)) for x in z])
    np.testing.assert_allclose(velocity(model, silent(model), z), expected, rtol=1e-9)


@pytest.mark.parametrize("masses", ["diagonal", "matrix", "state"])
def test_accelerations_solve_the_equations_of_the_constrained_system(make_model, masses):
    """[M Gᵀ; G 0] [a; λ] = [F; -ġ], with the parts as they are read from the model."""
    model = make_model(PENDULUM, form="mechanical", masses=masses, dissipation="state")
    model = replace(model, speed=np.linspace(3, 5, 2 * N))
    weights, (_, u) = random_weights(model), states(2)
    read = partial(get("jax").mechanics, model, weights)
    parts, a = read(u, Instant(np.zeros(2))), velocity(model, weights, u)[:, 2 * N :]
    for x, M, A, a_found in zip(u, parts.masses, parts.dissipation, a, strict=True):
        q, v = np.split(x, 2)
        assert np.linalg.eigvalsh(M)[0] > 0
        assert np.linalg.eigvalsh(A + A.T)[0] > -1e-12
        assert np.abs(A - A.T).max() > 1e-3
        step = 1e-5 * np.eye(2 * N)
        around = np.concatenate([q + step, q - step, [q + 1e-5 * v, q - 1e-5 * v]])
        there = np.concatenate([around, np.tile(v, (len(around), 1))], axis=1)
        near = read(there, Instant(np.zeros(len(there))))
        lagrangian = near.kinetic - near.potential
        slope = (lagrangian[: 2 * N] - lagrangian[2 * N : 4 * N]) / 2e-5
        M_dot = (near.masses[-2] - near.masses[-1]) / 2e-5
        force = slope - M_dot @ v - A @ v
        D = np.eye(N) - np.eye(N, k=-1)
        (dx, dy), (dvx, dvy) = (
            np.split(part, 2) for part in (np.kron(np.eye(2), D) @ q, np.kron(np.eye(2), D) @ v)
        )
        G = np.concatenate([dx[:, None] * D, dy[:, None] * D], axis=1)
        saddle = np.block([[M, G.T], [G, np.zeros((N, N))]])
        expected = np.linalg.solve(saddle, np.concatenate([force, -(dvx**2 + dvy**2)]))
        np.testing.assert_allclose(a_found, expected[: 2 * N], rtol=1e-6, atol=1e-6)


def test_any_law_of_positions_is_one_of_accelerations(make_model):
    """Rods as a law of the user's, without a structure, and a pivot that moves with the time."""

    def lengths(q):
        x, y = q[:N], q[N:]
        return (x - jnp.concatenate([jnp.zeros(1), x[:-1]])) ** 2 + (
            y - jnp.concatenate([jnp.zeros(1), y[:-1]])
        ) ** 2

    model = make_model(PENDULUM, form="mechanical")
    same = replace(model, constraint=Holonomic(lengths, target=1.0).bind(PENDULUM.states))
    weights, (_, u) = random_weights(model), states()
    expected = velocity(model, weights, u)
    np.testing.assert_allclose(velocity(same, weights, u), expected, rtol=1e-9)
    np.testing.assert_array_equal(expected[:, : 2 * N], u[:, 2 * N :])  # velocities are not bent

    def shaken(q, t):
        return lengths(q.at[:N].add(-0.5 * t**2))  # with a pivot at x = t²/2

    moved = replace(model, constraint=Holonomic(shaken, target=1.0).bind(PENDULUM.states))
    difference = velocity(moved, weights, u) - expected  # at t = 0, of the acceleration 1
    force = get("jax").mechanics(model, weights, u, Instant(np.zeros(len(u)))).masses
    # In the frame of the pivot there is a force -m on each bob; on the chain it acts as the pivot's acceleration.
    known = Mechanics(
        masses=force[0], forces=lambda u: jnp.asarray(-np.diag(force[0])) * np.repeat([1.0, 0.0], N)
    )
    pushed = velocity(replace(model, physics=known), silent(model), u)
    still = velocity(
        replace(model, physics=replace(known, forces=lambda u: 0 * u[: 2 * N])), silent(model), u
    )
    shift = np.repeat([0.0, 1.0, 0.0], [2 * N, N, N])
    np.testing.assert_allclose(difference, pushed - still + shift, atol=1e-9)


def test_inputs_push_and_a_pivot_may_be_one(make_model):
    """Forces are linear in the inputs, and vanish with them."""
    model = make_model(ANGLES, "nde", form="mechanical", dissipation="none")
    model = replace(
        model, inputs=("w",), condition_mean=np.array([5.0]), condition_std=np.array([2.0])
    )
    weights, (z, _) = random_weights(model), states(1)

    def acceleration(w):
        zero = np.zeros((1, 1))
        at = Instant(np.zeros(1), np.full((1, 1), w), zero, zero)
        return get("jax").velocity(model, weights, z, at, np.zeros((1, 0)))[0, N:]

    still, one, two = (acceleration(w) for w in (0.0, 1.0, 2.0))
    assert np.abs(one - still).min() > 1e-3
    np.testing.assert_allclose(two - still, 2 * (one - still), rtol=1e-9)
    undriven = {k: w for k, w in weights.items() if not k.startswith("forces")}
    alone = replace(model, inputs=(), condition_mean=None, condition_std=None)
    np.testing.assert_allclose(velocity(alone, undriven, z)[0, N:], still, rtol=1e-9)


@pytest.fixture(scope="module")
def run():
    """A spring with friction, whose mass the data do not tell but by its ratio to the spring's stiffness."""
    times = np.linspace(0, 3, 31)
    start = np.random.default_rng(0).normal(size=(8, 2))
    decay, omega = 0.15, np.sqrt(4 - 0.15**2)
    wave = np.exp(times * (-decay + 1j * omega))
    amplitude = start[:, :1] - 1j * (start[:, 1:] + decay * start[:, :1]) / omega
    q = (amplitude * wave).real
    v = (amplitude * wave * (-decay + 1j * omega)).real
    ds = pnde.data.make_dataset(np.stack([q, v], axis=-1), times, ["q", "v"], time_units="s")
    ds = pnde.split_data(ds, 5, 2, 1)
    return pnde.train(
        ds,
        method="nde",
        order=2,
        form="mechanical",
        epochs=200,
        decay_epochs=200,
        learning_rate=3e-2,
        layers=1,
        width=8,
        activation="tanh",
        progress=False,
    )


class TestRun:
    def test_learns_a_spring_and_its_friction(self, run):
        assert run.label == "mechanical NDE"
        assert run.masses.values == pytest.approx([1.0])
        assert float(run.dissipation[0]) == pytest.approx(0.3, rel=0.05)
        q = np.linspace(-1, 1, 5)
        v = run.mechanics(np.stack([q, 0 * q], axis=1))["potential"].values
        np.testing.assert_allclose(v - v[2], 2 * q**2, atol=0.05)

    def test_the_energy_of_a_forecast_falls(self, run):
        forecast = run.rollout(t_end=20, dt=0.1)
        assert energy_rise(forecast).max() < 1e-6
        assert forecast["energy"][0, 0] - forecast["energy"][0, -1] > 0.1
        np.testing.assert_allclose(run.energy(forecast), forecast["energy"], rtol=1e-12)
        assert run.energy().dims == ("trajectory", "time")
        assert run.energy(forecast["u"].values[0, 0]).shape == ()

    def test_is_loaded_as_it_was(self, run, tmp_path):
        run.save(tmp_path / "run")
        again = pnde.load(tmp_path / "run")
        np.testing.assert_array_equal(again.energy(), run.energy())
        assert again.model.kind == ModelKind.parse("mechanical-nde")

    def test_is_drawn(self, run):
        axes = pnde.plot.mechanics(run)
        assert len(axes) == 3

    def test_states_of_another_size(self, run):
        with pytest.raises(
            pnde.errors.DataError, match=r"shape \(\.\.\., 2\) for q, v, not \(3,\)"
        ):
            run.energy(np.zeros(3))


def test_what_is_known_has_to_be_passed_again(plain_engine, tmp_path):
    ds = pnde.split_data(PENDULUM.simulate(4, t_end=0.1, seed=1), 2, 1, 1)
    settings = {"form": "mechanical", "masses": "state", "epochs": 1, "width": 4, "layers": 1}
    pnde.train(ds, physics=KNOWN, folder=tmp_path / "run", progress=False, **settings)
    with pytest.raises(pnde.errors.RunError, match="known masses, potential, dissipation"):
        pnde.load(tmp_path / "run")
    other = Mechanics(masses=np.ones(4))
    with pytest.raises(pnde.errors.RunError, match="what was passed is 'known masses'"):
        pnde.load(tmp_path / "run", physics=other)
    run = pnde.load(tmp_path / "run", physics=KNOWN)
    assert "masses.0.weight" not in run.weights  # they are known
    with pytest.raises(ConfigError, match=r"depend on the positions: run\.mechanics\(u\)"):
        _ = run.dissipation


def test_energy_is_kept_without_dissipation(make_model):
    """Of a chain with learned forces, over many swings, and to what the solver's tolerance allows."""
    model = make_model(
        PENDULUM,
        form="mechanical",
        dissipation="none",
        **{"rollout.rtol": 1e-9, "rollout.atol": 1e-9},
    )
    model = replace(model, speed=np.full(2 * N, 10.0))
    weights, (_, u) = random_weights(model), states(2)
    times = np.broadcast_to(np.linspace(0, 10, 50), (2, 50))
    at = Instant(np.zeros(2))
    c = model.constraint.targets(get("jax").law(model.constraint, u, at))
    found = get("jax").rollout(model, weights, u, times, c, model.config.rollout)
    assert not found.status.any()
    parts = get("jax").mechanics(model, weights, found.u.reshape(-1, 4 * N), Instant(np.zeros(100)))
    energy = (parts.kinetic + parts.potential).reshape(2, 50)
    assert np.ptp(parts.kinetic) > 1
    assert np.abs(energy - energy[:, :1]).max() < 1e-5 * np.ptp(parts.kinetic)


def test_gradient_of_the_loss(make_model):
    from pnde.training import batches_of

    ds = pnde.split_data(PENDULUM.simulate(2, t_end=0.05, dt=0.01, seed=1), 1, 1, 0)
    settings = {"solver.precision": "float64", "solver.step": 0.01, "optimiser.segment": 2}
    model = make_model(PENDULUM, form="mechanical", dissipation="state", **settings)
    model = replace(model, speed=np.full(2 * N, 10.0))
    batch = batches_of(get("jax"), model, ds).train[0]
    weights, rng = random_weights(model), np.random.default_rng(2)
    _, gradient = get("jax").loss_and_gradient(model, weights, batch)
    assert gradient.keys() == weights.keys()
    along = {name: rng.normal(size=array.shape) for name, array in weights.items()}
    ends = []
    for sign in (1, -1):
        there = {name: array + sign * 1e-5 * along[name] for name, array in weights.items()}
        ends.append(get("jax").loss_and_gradient(model, there, batch)[0])
    slope = sum(float(np.sum(gradient[name] * along[name])) for name in weights)
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope, rel=1e-6)


class TestRefused:
    @pytest.mark.parametrize(
        ("known", "message"),
        [
            ({}, "needs what is known"),
            ({"masses": [1.0, -1.0]}, "not symmetric and positive"),
            ({"masses": [[1.0, 0.5], [0.0, 1.0]]}, "not symmetric and positive"),
            ({"masses": "heavy"}, "not str"),
            ({"dissipation": [[0.1, 1.0], [0.0, 0.1]]}, "drives: .* eigenvalue -0.4"),
            ({"potential": 9.81}, r"the potential of pnde\.Mechanics is a function"),
        ],
    )
    def test_parts(self, known, message):
        with pytest.raises(ConfigError, match=message):
            Mechanics(**known)

    def test_settings(self, make_model):
        model = make_model(PENDULUM, form="mechanical")
        for change, message in (
            ({"order": 1}, r"pass order=2"),
            ({"physics": lambda u: u}, r"physics=pnde\.Mechanics"),
            (
                {"physics": Mechanics(masses=np.ones(3))},
                "those of 3 positions, but the data have 4",
            ),
        ):
            with pytest.raises(ConfigError, match=message):
                check_mechanics(replace(model, **change))
        with pytest.raises(ConfigError, match=r'is for network\.form = "mechanical"'):
            check_mechanics(make_model(PENDULUM, physics=KNOWN))

    def test_a_law_of_positions_alone(self, make_model):
        law = Constraint(lambda u: [u[0] + u[1], u[4] + u[5]], names=["sum", "rate"])
        model = make_model(PENDULUM, form="mechanical", constraint=law.bind(PENDULUM.states))
        with pytest.raises(ConstraintError, match=r"the row 'sum' .*Holonomic"):
            velocity(model, initial_weights(model, 1), states()[1])

    def test_functions_of_another_shape(self, make_model):
        known = Mechanics(masses=lambda q: q[:3])
        model = make_model(PENDULUM, form="mechanical", physics=known)
        with pytest.raises(ConfigError, match=r"shape \(3,\) instead of .* for the 4 positions"):
            velocity(model, initial_weights(model, 1), states()[1])

    def test_what_is_not_mechanical(self, make_model):
        from pnde.runs.mechanics import mechanics

        with pytest.raises(ConfigError, match="this one learned its accelerations"):
            mechanics(get("jax"), make_model(PENDULUM), {}, states()[1], None)


@pytest.mark.parametrize(
    "name", ["mechanical-pnde", "mechanical-snde:20", "mechanical-angular-nde"]
)
def test_kinds(name):
    kind = ModelKind.parse(name)
    assert str(kind) == name
    assert kind.form == "mechanical"
    assert Config.make(**kind.settings).network.form == "mechanical"
