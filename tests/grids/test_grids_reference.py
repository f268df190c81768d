"""The reference of a case whose reference bus has no generator in service."""

import numpy as np
import pytest

from pnde.grids import from_ppc, load_flow

BUS = [1.0, 0.0, 0.0, 0.0, 0.0, 1, 1.0, 0.0, 110.0, 1, 1.1, 0.9]


def case(*in_service, kinds=(3, 2, 2)):
    """Three buses in a ring; a generator at each of them, in service or not."""
    bus = np.array([[k + 1, *BUS] for k in range(3)], float)
    bus[:, 1], bus[:, 2], bus[:, 3] = kinds, [0, 20, 60], [0, 5, 20]
    bus[:, 8] = [0.0, 12.0, 30.0]
    gen = np.zeros((3, 8))
    gen[:, 0], gen[:, 1], gen[:, 5], gen[:, 6] = [1, 2, 3], [0, 40, 10], [1.02, 1.01, 1.0], 100
    gen[:, 7] = in_service
    branch = np.zeros((3, 11))
    branch[:, :5] = [(a, b, 0.01, 0.1, 0.02) for a, b in ((1, 2), (2, 3), (1, 3))]
    branch[:, 10] = 1
    return {"version": "2", "baseMVA": 100.0, "bus": bus, "gen": gen, "branch": branch}


def pypower_flow(ppc):
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    wide = {**ppc, "gen": np.pad(ppc["gen"], ((0, 0), (0, 13)))}
    wide["branch"] = np.pad(ppc["branch"], ((0, 0), (0, 2)))
    solved, success = pypower.runpf(wide, pypower.ppoption(PF_TOL=1e-12, VERBOSE=0, OUT_ALL=0))
    assert success
    return solved["bus"][:, 7] * np.exp(1j * np.deg2rad(solved["bus"][:, 8]))


@pytest.mark.parametrize("in_service", [(0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 1, 1)])
def test_the_first_bus_with_a_generator_is_the_reference(in_service, caplog):
    ppc = case(*in_service)
    with caplog.at_level("WARNING", logger="pnde"):
        grid = from_ppc(ppc, name="ring")
    np.testing.assert_allclose(load_flow(grid).voltage, pypower_flow(ppc), atol=1e-9)
    first = in_service.index(1) + 1
    assert grid.buses.number[grid.slack].tolist() == [first]
    moved = (
        f"ring: the reference bus 1 has no generator in service, so it is a load and bus {first},"
    )
    assert (moved in caplog.text) == (first != 1)


def test_by_the_numbers():
    ppc = case(0, 1, 0, kinds=(3, 2, 1))
    ppc["bus"][:, 8] = 0.0
    flow = load_flow(from_ppc(ppc))
    np.testing.assert_allclose(np.abs(flow.voltage), [1.00271, 1.01, 0.99380], atol=5e-6)


def test_another_reference_of_the_island_stays(caplog):
    with caplog.at_level("WARNING", logger="pnde"):
        grid = from_ppc(case(0, 1, 1, kinds=(3, 2, 3)), name="ring")
    assert grid.buses.number[grid.slack].tolist() == [3]
    assert "the reference bus 1 has no generator in service, so it is a load; its" in caplog.text


def test_a_feeder_without_any_generator_keeps_its_reference(caplog):
    with caplog.at_level("WARNING", logger="pnde"):
        grid = from_ppc(case(0, 0, 0, kinds=(3, 1, 1)), name="ring")
    assert grid.buses.number[grid.slack].tolist() == [1]
    assert "and no other bus has one; it stays the slack" in caplog.text
