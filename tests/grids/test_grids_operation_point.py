"""Sources and operation points against the tables of the reference."""

import dataclasses

import numpy as np
import pytest

from pnde.errors import GridError
from pnde.grids import (
    complete,
    dvoc,
    from_ppc,
    growth_rate,
    ieee14,
    load_flow,
    normal_form,
    operation_point,
    residual,
    residual_jacobian,
    slow_modes,
)

# Hard-coded in the authors' code, from a root finder that stopped at a residual of 2.6e-7.
PUBLISHED = np.array([
    0.98623143 + 0.10221517j, 1.0, 0.96500001 - 0.15316892j, 0.88852641 - 0.07444881j,
    0.91442344 - 0.06005304j, 0.91524026 - 0.22360076j, 0.66010879 - 0.10440934j,
    0.37983314 - 0.06007777j, 0.71498608 - 0.14785658j, 0.73918532 - 0.16413908j,
    0.82093567 - 0.19336527j, 0.87971084 - 0.23342360j, 0.86142997 - 0.22438293j,
    0.74973689 - 0.19817959j,
])  # fmt: skip
# Solved independently from the consistent set-points.
CONSISTENT = np.array([
    0.99491455 + 0.10072262j, 1.0, 0.98784723 - 0.15542799j, 0.96823802 - 0.09871309j,
    0.97377671 - 0.07178582j, 0.98152528 - 0.19133248j, 0.95981989 - 0.15788711j,
    0.98673896 - 0.16231520j, 0.93857981 - 0.18625083j, 0.93712079 - 0.19093252j,
    0.95487075 - 0.19263655j, 0.96048348 - 0.20402606j, 0.95344060 - 0.20292109j,
    0.92160041 - 0.20876287j,
])  # fmt: skip


def parts(z):
    return np.concatenate([z.real, z.imag])


def test_consistent_operation_point():
    v = operation_point(ieee14())
    assert np.abs(parts(v - CONSISTENT)).max() < 1e-6
    np.testing.assert_allclose(np.abs(v[[0, 2, 5, 7]]), 1.0, atol=1e-6)


def test_published_operation_point():
    grid = ieee14(published=True)
    v = operation_point(grid)
    miss = np.abs(parts(v - PUBLISHED))
    # The root itself lies up to 1.9e-6 from the published digits, all of it where |v| is small:
    # at bus 8 and its neighbours 7 and 9.
    near_bus_8 = np.isin(np.tile(grid.buses.number, 2), [7, 8, 9, 14, 10])
    assert miss.max() < 2e-6 and miss[~near_bus_8].max() < 1e-6
    assert np.abs(v[7]) == pytest.approx(0.384553, abs=2e-6)
    sources = normal_form(grid)
    assert np.abs(residual(grid, sources, v)).max() < 1e-10
    assert np.abs(residual(grid, sources, PUBLISHED)).max() > 1e-7


@pytest.mark.parametrize(
    ("published", "slowest"),
    [(True, [-0.163, -0.136, -0.082, -0.060, -0.050, -0.039, -0.027, -0.010]), (False, None)],
)
def test_slow_modes(published, slowest):
    grid = ieee14(published)
    modes = slow_modes(grid, operation_point(grid))
    assert np.abs(modes.imag).max() < 1e-12
    if slowest:
        np.testing.assert_allclose(modes.real, slowest, atol=6e-4)
    else:
        assert modes.real[[0, -1]] == pytest.approx([-0.083, -0.0066], abs=5e-4)


def test_coefficients_of_the_published_sources():
    sources = normal_form(ieee14(published=True))
    np.testing.assert_allclose(
        sources.C,
        [
            -0.01631144912082767 + 0.00696j,
            -0.013552173781541124 - 0.002826j,
            -0.01394978713057317 - 0.000366j,
            -0.6253784051176582,
        ],
        atol=1e-15,
    )
    gain = np.array([0.003, 0.003, 0.003, 0.12507568102353164])
    np.testing.assert_allclose(sources.Gc, -1j * gain, atol=1e-15)
    np.testing.assert_allclose(sources.Hc, -gain, atol=1e-15)
    assert normal_form(ieee14()).C[3] == pytest.approx(-0.01453538, abs=1e-8)


def test_velocity_is_the_complex_normal_form():
    rng = np.random.default_rng(3)
    sources = dvoc(*rng.uniform(0.5, 1.5, (3, 4)), eta=0.1, alpha=2.0, kappa=1.0)
    u = rng.normal(size=(5, 4)) + 1j * rng.normal(size=(5, 4))
    p, q = rng.normal(size=(2, 5, 4))
    expected = u * (
        sources.C * (np.abs(u) ** 2 - sources.voltage**2)
        + sources.Gc * (p - sources.active)
        + sources.Hc * (q - sources.reactive)
    )
    real, imag = sources.velocity(u.real, u.imag, p, q)
    np.testing.assert_allclose(real + 1j * imag, expected, rtol=1e-13)


def test_velocity_runs_on_jax_in_its_own_precision():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    sources, ones = normal_form(ieee14()), np.ones((2, 4), np.float32)
    with jax.numpy_dtype_promotion("strict"):
        real, imag = jax.jit(sources.velocity)(ones, ones, ones, ones)
    assert real.dtype == imag.dtype == np.float32
    expected = sources.velocity(*[np.ones((2, 4))] * 4)
    np.testing.assert_allclose(real, expected[0], rtol=1e-5)
    np.testing.assert_allclose(imag, expected[1], rtol=1e-5)


@pytest.mark.parametrize("published", [False, True])
def test_jacobian_of_the_right_hand_side(published):
    grid = ieee14(published)
    sources, rng = normal_form(grid), np.random.default_rng(4)
    u = grid.state(operation_point(grid)) + 0.1 * rng.normal(size=28)
    analytic = residual_jacobian(grid, sources, grid.voltage(u)).toarray()
    h = 1e-6
    numeric = np.stack(
        [
            residual(grid, sources, grid.voltage(u + h * e))
            - residual(grid, sources, grid.voltage(u - h * e))
            for e in np.eye(28)
        ],
        axis=1,
    ) / (2 * h)
    np.testing.assert_allclose(analytic, numeric, atol=1e-7)


@pytest.mark.parametrize("name", ["case14", "case30", "case39", "case57", "case118"])
def test_sources_of_a_file_rest_in_its_load_flow(name):
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid = from_ppc(getattr(pypower, name)(), name=name)
    assert np.isnan(grid.buses.reactive[grid.sources]).all()
    v = operation_point(grid)
    np.testing.assert_allclose(v, load_flow(grid).voltage, atol=1e-9)
    done = complete(grid)
    assert np.isfinite(done.buses.reactive[done.sources]).all()
    assert complete(done) is done
    assert np.abs(residual(done, normal_form(done), v)).max() < 1e-9
    # From a flat start, which knows nothing of the load flow, the same point is found.
    np.testing.assert_allclose(operation_point(done), v, atol=1e-8)


def test_missing_set_points_and_missing_roots_are_named():
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid = from_ppc(pypower.case14(), name="case14")
    with pytest.raises(GridError, match=r"bus 2 has no reactive set-point; call .*complete"):
        normal_form(grid)
    small = ieee14()
    active = small.buses.active.copy()
    active[small.index(14)] = -14.9
    heavy = dataclasses.replace(small, buses=dataclasses.replace(small.buses, active=active))
    # Without a load flow there is nothing to rest near, and its own reason is the one to give.
    with pytest.raises(
        GridError, match=r"the load flow of ieee14 did not converge.*bus 14 injects"
    ):
        operation_point(heavy)
    reactive = small.buses.reactive[small.sources] + [0.0, 0.0, 0.0, 30.0]
    with pytest.raises(
        GridError,
        match=r"ieee14 has no operation point .* \d+ % of the way from the load flow to the given "
        r"set-points, bus \d+ is off by .*; drop the sources' reactive set-points",
    ):
        operation_point(small.with_set_points(reactive))


def test_the_rest_is_followed_from_the_load_flow():
    # Newton's method from the load flow alone ends in an unstable rest with |v_8| = 0.04.
    grid = ieee14(published=True)
    flow = load_flow(grid)
    assert np.abs(flow.voltage[7]) == pytest.approx(0.1548724573182038)
    v = operation_point(grid)
    assert np.abs(v[7]) == pytest.approx(0.384553, abs=2e-6)
    np.testing.assert_allclose(operation_point(grid, start=flow.voltage), v, atol=1e-9)


def test_other_set_points_of_a_source():
    sources, other = normal_form(ieee14()), np.array([0.1, -0.2, 0.3, 0.0])
    moved = sources.with_reactive(other)
    expected = normal_form(ieee14().with_set_points(other))
    np.testing.assert_allclose(moved.C, expected.C, rtol=1e-13)
    np.testing.assert_array_equal(moved.reactive, other)


@pytest.mark.parametrize("eta", [3e-3, -3e-3])
def test_growth_is_found_without_all_modes(eta, monkeypatch):
    import pnde.grids.modes

    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid = complete(from_ppc(pypower.case118(), name="case118"))
    voltage, sources = load_flow(grid).voltage, normal_form(grid, eta=eta)
    fastest = slow_modes(grid, voltage, sources).real.max()
    assert (fastest > 0) == (eta < 0)
    monkeypatch.setattr(pnde.grids.modes, "_FEW", 0)
    found = growth_rate(grid, voltage, sources)
    if eta < 0:
        assert 0 < found <= fastest * (1 + 1e-6)
    else:
        assert found == 0.0


def test_growth_of_one_mode_among_stable_ones(monkeypatch):
    import pnde.grids.modes

    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid = complete(from_ppc(pypower.case118(), name="case118"))
    voltage = load_flow(grid).voltage
    sources = normal_form(grid)
    upset = sources.C.copy()
    upset[7] *= -5.0  # this one's voltage runs away
    sources = dataclasses.replace(sources, C=upset)
    fastest = slow_modes(grid, voltage, sources).real.max()
    monkeypatch.setattr(pnde.grids.modes, "_FEW", 0)
    assert fastest > 0
    assert growth_rate(grid, voltage, sources) == pytest.approx(fastest, rel=1e-5)
