"""Networks of PowerDynamics.jl, and equations like theirs, in both engines."""

import numpy as np
import pytest
from live import SETTINGS, batch_of, both, live
from parity import close, flat, model_of, weights_of

import pnde
from pnde.engines import get
from pnde.errors import ConfigError, EngineError, GridError
from pnde.laws import Instant

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
        ours, theirs = (law(grid.constraint, u, Instant(np.zeros(4))) for law in both("law"))
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
        ours, theirs = (law(grid.constraint, u, Instant(np.zeros(9))) for law in both("law"))
        assert 0 < np.count_nonzero(ours[:, 1] == u[:, 0]) < 9
        close(ours, theirs, 1e-13)

    def test_what_takes_plain_numbers_is_for_julia_alone(self):
        code = EQUATIONS.replace("sqrt(u[2])", "sqrt(plain(u[2]))")
        code = "plain(x::AbstractFloat) = x\n" + code
        grid = pnde.systems.from_powerdynamics(code)
        assert np.isfinite(
            get("julia").law(grid.constraint, np.ones((1, 3)), Instant(np.zeros(1)))
        ).all()
        with pytest.raises(GridError, match=r'use engine="julia" .*as a program'):
            get("jax").law(grid.constraint, np.ones((1, 3)), Instant(np.zeros(1)))

    def test_what_is_wrong_is_one_sentence(self, grid):
        with pytest.raises(ConfigError, match=r"no state 'bb' \(did you mean 'b'\?\)"):
            grid.simulate(trajectories=1, forced=["bb"])
        with pytest.raises(ConfigError, match="not a multiple"):
            grid.simulate(trajectories=1, t_end=1.0, dt=0.3)
        with pytest.raises((EngineError, GridError), match=r"PowerDynamics|not a Network"):
            pnde.systems.from_powerdynamics("3")


NETWORK = """
using PowerDynamics, PowerDynamics.Library
using ModelingToolkit: @named
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
        ours, theirs = (
            law(grid.constraint, states, Instant(np.zeros(len(u)))) for law in both("law")
        )
        assert abs(ours).max() < size
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    data = pnde.split_data(data, 3, 2, 1)
    for name in ("julia", "jax"):
        run = pnde.train(data, grid.constraint, engine=name, progress=False, **SETTINGS)
        # After a few epochs on a few transients the forecast is soon far off, where rounding is large too.
        assert float(run.rollout(t_end=0.2)["constraint_error"].max()) < 1e-12
