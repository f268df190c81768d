"""The load flow against independent programs, and how it fails."""

import dataclasses

import numpy as np
import pytest

from pnde.errors import GridError
from pnde.grids import from_ppc, ieee14, load_flow

CASES = ("case14", "case30", "case39", "case57", "case118")


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_pypower(name):
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    from pypower.ext2int import ext2int
    from pypower.makeYbus import makeYbus

    ppc = getattr(pypower, name)()
    grid = from_ppc(ppc, name=name)
    inside = ext2int(ppc)
    reference = makeYbus(inside["baseMVA"], inside["bus"], inside["branch"])[0]
    assert abs(grid.admittance() - reference).max() < 1e-8

    options = pypower.ppoption(PF_TOL=1e-12, VERBOSE=0, OUT_ALL=0)
    solved, success = pypower.runpf(ppc, options)
    assert success
    expected = solved["bus"][:, 7] * np.exp(1j * np.deg2rad(solved["bus"][:, 8]))
    flow = load_flow(grid)
    assert np.abs(flow.voltage - expected).max() < 1e-8
    assert flow.mismatch < 1e-10


def test_reactive_powers_of_the_paper_come_from_the_load_flow():
    flow = load_flow(ieee14())
    np.testing.assert_allclose(
        flow.power.imag[[0, 2, 5, 7]],
        [-0.43714956, 0.48260892, 0.35007174, 0.15487281],
        atol=1e-8,
    )
    # The reference's root finder stopped about 1e-6 away.
    np.testing.assert_allclose(flow.power.imag[ieee14().sources], [
        -0.4371497069425563, 0.4826087394862919, 0.35007095647560965, 0.1548724573182038
    ], atol=2e-6)  # fmt: skip
    assert flow.power[1] == pytest.approx(0.22112556 + 0.47298428j, abs=1e-8)


def test_what_the_set_points_say_is_what_comes_out():
    grid = ieee14()
    flow = load_flow(grid)
    np.testing.assert_allclose(np.abs(flow.voltage[grid.sources]), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(flow.voltage[grid.slack], [1.0])
    target = grid.buses.active + 1j * grid.buses.reactive
    np.testing.assert_allclose(flow.power[grid.loads], target[grid.loads], atol=1e-10)
    np.testing.assert_allclose(flow.power.real[grid.sources], target.real[grid.sources], atol=1e-10)


def test_impossible_load_is_named_with_a_suggestion():
    grid = ieee14()
    active = grid.buses.active.copy()
    active[grid.index(14)] = -14.9
    heavy = dataclasses.replace(grid, buses=dataclasses.replace(grid.buses, active=active))
    with pytest.raises(
        GridError,
        match=r"load flow of ieee14 did not converge: the \w+ power at bus \d+ was off by .* p\.u\. "
        r"at best; bus 14 injects -14.9.* carry at most about .*base of 100",
    ):
        load_flow(heavy)


def test_a_grid_beyond_its_limit_gives_a_general_suggestion():
    grid = ieee14()
    heavy = dataclasses.replace(
        grid, buses=dataclasses.replace(grid.buses, active=np.array(grid.buses.active) * 6)
    )
    with pytest.raises(
        GridError, match=r"did not converge.*at bus \d+ was off.*may have no solution"
    ):
        load_flow(heavy)
