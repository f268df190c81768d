"""The N-pendulum: its truth in both coordinates, its law, and forecasts that keep it."""

import jax.numpy as jnp
import numpy as np
import pytest

from pnde import systems
from pnde.data import make_dataset
from pnde.engines import get
from pnde.errors import ConfigError, ConstraintError, DataError, PndeError
from pnde.laws import Instant
from pnde.laws.rods import Rods
from pnde.models import initial_weights
from pnde.systems import law_for
from pnde.systems.pendulum import to_angular, to_cartesian


def states(n, count=3, seed=0):
    """Angles and angular velocities, and the Cartesian states that belong to them."""
    rng = np.random.default_rng(seed)
    z = np.concatenate([rng.uniform(-3, 3, (count, n)), 3 * rng.normal(size=(count, n))], axis=1)
    return z, to_cartesian(z)


@pytest.fixture(scope="module")
def truths():
    """The same pendulum in both coordinates, and with the friction of the authors' code."""
    kinds = {
        "cartesian": {},
        "angular": {"coordinates": "angular"},
        "code": {"friction_form": "code"},
    }
    out = {}
    for kind, settings in kinds.items():
        system = systems.get("pendulum", n=4, **settings)
        out[kind] = system, system.simulate(10, t_end=5, dt=0.05, seed=2)
    return out


class TestTruth:
    def test_one_bob_is_a_pendulum(self):
        """θ̈ = -g sin θ - b θ̇"""
        system = systems.get("pendulum", n=1, friction=0.3, gravity=9.0, coordinates="angular")
        z = np.array([0.4, 1.5])
        np.testing.assert_allclose(system.rhs(z, 0.0), [1.5, -9 * np.sin(0.4) - 0.3 * 1.5])

    def test_two_bobs_without_friction(self):
        """The textbook's double pendulum of equal bobs and rods."""
        system = systems.get("pendulum", n=2, friction=0.0, coordinates="angular")
        (a, b), (p, q), g = (0.7, -1.1), (0.9, -2.0), 9.81
        d = a - b
        scale = 3 - np.cos(2 * d)
        first = -3 * g * np.sin(a) - g * np.sin(a - 2 * b)
        first -= 2 * np.sin(d) * (q**2 + p**2 * np.cos(d))
        second = 2 * np.sin(d) * (2 * p**2 + 2 * g * np.cos(a) + q**2 * np.cos(d))
        expected = [p, q, first / scale, second / scale]
        np.testing.assert_allclose(system.rhs(np.array([a, b, p, q]), 0.0), expected, rtol=1e-13)

    @pytest.mark.parametrize("n", [1, 2, 5])
    @pytest.mark.parametrize("form", ["paper", "code"])
    def test_both_coordinates_move_alike(self, n, form):
        cartesian = systems.get("pendulum", n=n, friction_form=form)
        angular = systems.get("pendulum", n=n, friction_form=form, coordinates="angular")
        z, u = states(n)
        np.testing.assert_allclose(to_cartesian(to_angular(u)), u, atol=1e-14)
        h = 1e-6
        for start, state in zip(z, u, strict=True):
            rate = angular.rhs(start, 0.0)
            expected = (to_cartesian(start + h * rate) - to_cartesian(start - h * rate)) / (2 * h)
            np.testing.assert_allclose(cartesian.rhs(state, 0.0), expected, rtol=1e-7, atol=1e-7)

    def test_same_seed_same_trajectories(self, truths):
        (cartesian, u), (angular, z) = truths["cartesian"], truths["angular"]
        np.testing.assert_allclose(to_cartesian(z["u"].values), u["u"].values, atol=1e-13)
        assert np.abs(np.diff(z["u"].values[..., :4], axis=1)).max() < 2  # never wrapped
        start = z["u"].values[:, 0]
        assert ((start[:, :4] >= 0) & (start[:, :4] <= 2 * np.pi)).all()
        assert (start[:, 4:] == 0).all()
        np.testing.assert_allclose(angular.energy(z["u"].values), cartesian.energy(u["u"].values))

    @pytest.mark.parametrize("kind", ["cartesian", "angular"])
    def test_goes_on_from_its_own_start(self, truths, kind):
        system, ds = truths[kind]
        np.testing.assert_array_equal(system.continued(ds, 5.0)["u"], ds["u"])

    def test_names_and_units(self, truths):
        ds = truths["cartesian"][1]
        assert list(ds["state"].values) == [
            f"{q}_{i}" for q in ("x", "y", "vx", "vy") for i in range(1, 5)
        ]
        assert list(ds["units"].values) == ["m"] * 8 + ["m/s"] * 8
        assert ds["time"].attrs["units"] == "s"
        assert list(truths["angular"][1]["units"].values) == ["rad"] * 4 + ["rad/s"] * 4

    def test_the_paper_s_friction_always_dissipates(self, truths):
        system, ds = truths["cartesian"]
        assert (np.diff(system.energy(ds["u"].values), axis=1) < 0).all()
        # dE/dt is the gradient of the energy along the motion, at states that no trajectory has to visit.
        for _, state in zip(*states(4, 200), strict=True):
            n = len(state) // 4
            rate = system.rhs(state, 0.0)
            power = state[2 * n :] @ rate[2 * n :] + system.gravity * state[3 * n :].sum()
            assert power < 0

    def test_the_code_s_friction_can_raise_the_energy(self, truths):
        system, ds = truths["code"]
        assert np.diff(system.energy(ds["u"].values), axis=1).max() > 0.01

    def test_parameters_make_the_system_again(self, truths):
        for system, _ in truths.values():
            again = systems.get("pendulum", **system.parameters)
            z = np.linspace(-1, 1, len(system.states))
            np.testing.assert_array_equal(again.rhs(z, 0.0), system.rhs(z, 0.0))

    def test_initial_states_with_rods_of_other_lengths_are_refused(self):
        system = systems.get("pendulum", n=2)
        u0 = states(2, 2)[1]
        u0[1, :4] *= 1.3
        with pytest.raises(
            ConstraintError, match=r"initial state 1 .*squared length of rod [12]' by 0\.69"
        ):
            system.simulate(u0=u0, t_end=0.1)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"n": 0}, "1 or more"),
            ({"n": 2.5}, "1 or more"),
            ({"friction_form": "none"}, "friction_form"),
            ({"coordinates": "polar"}, "coordinates"),
        ],
    )
    def test_wrong_parameters(self, settings, message):
        with pytest.raises(ConfigError, match=message):
            systems.get("pendulum", **settings)

    def test_forecasts_in_angles_are_compared_in_space(self, truths):
        (_, u), (angular, z) = truths["cartesian"], truths["angular"]
        forecast = z.assign(status=("trajectory", np.zeros(10, int)), state_error=z["u"][..., 0])
        forecast = forecast.assign_coords(split=("trajectory", ["test"] * 10))
        turned = angular.cartesian(forecast)
        np.testing.assert_allclose(turned["u"], u["u"], atol=1e-13)
        assert list(turned["state"].values) == list(u["state"].values)
        assert (turned["constraint_error"] < 1e-12).all()
        assert "split" in turned.coords
        assert "status" in turned
        assert "state_error" not in turned


class TestLaw:
    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_rows_and_jacobian(self, n):
        import jax

        law = Rods(np.linspace(0.5, 2, n))
        u = np.random.default_rng(n).normal(size=4 * n)
        x, y, vx, vy = np.diff(u.reshape(4, n), axis=1, prepend=0)
        np.testing.assert_allclose(law.value(u, Instant(0.0)), [*(x**2 + y**2), *(x * vx + y * vy)])
        with (
            jax.enable_x64(True),
            jax.numpy_dtype_promotion("strict"),
            jax.numpy_rank_promotion("raise"),
        ):
            exact = jax.jacrev(law.rows)(jnp.asarray(u))
            np.testing.assert_allclose(law.jacobian(u), exact, atol=1e-15)
            np.testing.assert_allclose(law.jacobian(jnp.asarray(u)), exact, atol=1e-15)

    def test_truth_obeys_it(self, truths):
        system, ds = truths["cartesian"]
        assert (
            np.abs(system.constraint.rows(ds["u"].values) - system.constraint.target).max() < 1e-12
        )

    def test_rod_lengths_of_a_camera_s_data(self, truths):
        """Pixels, another length for each rod, noise, gaps, and names of the user's own."""
        ds = truths["cartesian"][1]
        lengths = np.array([120.0, 80.0, 95.0, 110.0])
        links = np.diff(ds["u"].values.reshape(10, 101, 4, 4), axis=-1, prepend=0) * lengths
        u = links.cumsum(axis=-1).reshape(10, 101, 16)
        u *= 1 + 1e-4 * np.random.default_rng(0).normal(size=u.shape)
        u[3, 5, 2] = np.nan
        names = [f"marker{i}" for i in range(16)]
        camera = make_dataset(u, ds["time"].values, names)
        law = law_for(camera, "rods")
        np.testing.assert_allclose(law.lengths, lengths, rtol=1e-3)
        np.testing.assert_allclose(law.targets(law.rows(u[0, :1]))[0, :4], lengths**2, rtol=2e-3)
        assert law.bind(names).structure is law.structure
        u[7, 60, 2] += 30
        with pytest.raises(
            ConstraintError, match=r"rod [34] changes .* trajectory 7 at t = 3, but"
        ) as error:
            Rods.of_data(make_dataset(u, ds["time"].values, names))
        assert "point that the chain hangs on at the origin" in str(error.value)
        with pytest.raises(DataError, match="have 15"):
            Rods.of_data(make_dataset(u[..., :15], ds["time"].values))

    def test_other_states_are_refused(self):
        law = systems.get("pendulum", n=2).constraint
        with pytest.raises(ConstraintError, match="2 rods has 8 states, but the data have 4"):
            law.bind(["a", "b", "c", "d"])
        with pytest.raises(ConstraintError, match="order the states"):
            law.bind(law.states[::-1])
        with pytest.raises(ConstraintError, match="rod 2 has the length -1"):
            Rods([1, -1])

    def test_names_of_its_rows(self):
        assert systems.get("pendulum", n=2).constraint.row_names(4) == (
            "squared length of rod 1",
            "squared length of rod 2",
            "stretching of rod 1",
            "stretching of rod 2",
        )


class TestAnimation:
    def test_film(self, truths, tmp_path):
        from PIL import Image

        from pnde import plot

        ds = truths["cartesian"][1].isel(time=slice(0, 21))
        late = ds.isel(trajectory=[1, 2]).copy(deep=True)
        late["u"][0, 10:] = np.nan  # a forecast that failed on its way
        path = plot.animate(ds, {"PNDE": late, "NDE": late}, tmp_path / "film.gif", fps=10)
        with Image.open(path) as film:
            assert film.n_frames == 11
            assert film.info["duration"] == 100

    def test_what_cannot_be_filmed(self, truths, tmp_path):
        from pnde import plot

        with pytest.raises(DataError, match="Cartesian coordinates"):
            plot.animate(None, truths["angular"][1], tmp_path / "film.gif")
        with pytest.raises(PndeError, match=r"not \.png"):
            plot.animate(None, truths["cartesian"][1], tmp_path / "film.png")


class TestForecast:
    @pytest.mark.parametrize("n", [4, 8])
    def test_an_untrained_network_keeps_the_rods(self, make_model, n):
        system = systems.get("pendulum", n=n)
        model = make_model(system, layers=2, width=32)
        weights = initial_weights(model, 3)
        u0 = system.initial(np.random.default_rng(n), 4, "paper")
        times = np.linspace(0, 5, 51)
        c = np.broadcast_to(system.constraint.target, (4, 2 * n))
        solution = get("jax").rollout(model, weights, u0, times, c, model.config.rollout)
        assert (solution.status == 0).all()
        assert np.abs(solution.u[:, -1] - u0).max() > 0.1
        g = system.constraint.rows(solution.u) - system.constraint.target
        assert np.linalg.norm(g, axis=-1).max() <= 1e-12

    def test_the_angular_model_sees_sines_and_cosines(self, truths):
        from pnde import train

        ds = truths["angular"][1]
        run = train(ds, method="nde", engine="jax", epochs=1, layers=1, width=4, train=6, valid=2, test=2,
                    progress=False)  # fmt: skip
        assert run.model.layer_sizes == (12, 4, 4)
        assert run.rollout()["u"].shape == (2, 101, 8)
        turned = ds.copy(deep=True)
        turned["u"][..., :4] += 2 * np.pi
        engine, u = get("jax"), ds["u"].values[:, 3]
        velocity = [
            engine.velocity(run.model, run.weights, state, Instant(np.zeros(10)), np.zeros((10, 0)))
            for state in (u, turned["u"].values[:, 3])
        ]
        np.testing.assert_allclose(*velocity, atol=1e-12)
