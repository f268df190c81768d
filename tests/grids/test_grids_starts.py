"""Where a load flow starts, which root it takes, and that shifts of a radial grid change no |v|."""

import dataclasses

import numpy as np
import pytest

from pnde.errors import GridError
from pnde.grids import Grid, from_ppc, load_flow
from pnde.grids.polar import FlowProblem, solve
from pnde.grids.starts import continuation, kept_voltages, linear_angles, starts, walked_angles


def changed(grid, **columns):
    """The grid with other columns in its bus table."""
    return dataclasses.replace(grid, buses=dataclasses.replace(grid.buses, **columns))


def feeder(shift=150.0, load=0.2):
    """A transformer of a vector group with a shift, and a line behind it."""
    return Grid.from_tables(
        [
            {"number": 1, "kind": "slack", "voltage": 1.0},
            {"number": 2, "kind": "load", "active": 0.0, "reactive": 0.0},
            {"number": 3, "kind": "load", "active": -load, "reactive": -load / 4},
        ],
        [
            {
                "start": 1,
                "end": 2,
                "resistance": 0.005,
                "reactance": 0.1,
                "shift": np.deg2rad(shift),
            },
            {"start": 2, "end": 3, "resistance": 0.01, "reactance": 0.05, "charging": 0.01},
        ],
        name="feeder",
    )


def random_tree(seed, size=40, shifts=True):
    """A radial grid with random transformers, loads and two sources."""
    rng = np.random.default_rng(seed)
    buses = [{"number": 1, "kind": "slack", "voltage": 1.02, "angle": 0.3}]
    for number in range(2, size + 1):
        power = {"active": -0.01 * rng.uniform(), "reactive": -0.004 * rng.uniform()}
        buses.append({"number": number, "kind": "load", **power})
    for k in rng.choice(np.arange(1, size), 2, replace=False):
        buses[k] = {"number": int(k) + 1, "kind": "source", "active": 0.05, "voltage": 1.01}
    branches = []
    for number in range(2, size + 1):
        near, shift = int(rng.integers(max(1, number - 6), number)), rng.uniform(-np.pi, np.pi)
        ends = (near, number) if rng.uniform() < 0.5 else (number, near)
        branches.append(
            {
                "start": ends[0],
                "end": ends[1],
                "resistance": rng.uniform(0.001, 0.02),
                "reactance": rng.uniform(0.01, 0.05),
                "tap": rng.uniform(0.97, 1.03),
                "shift": shift if shifts else 0.0,
            }
        )
    return Grid.from_tables(buses, branches, name="tree")


def test_a_shift_of_150_degrees():
    # |v| as of the same feeder without a shift, by pypower: 1, 0.9945, 0.9902.
    flow = load_flow(feeder())
    np.testing.assert_allclose(np.abs(flow.voltage), [1.0, 0.99454, 0.99020], atol=5e-6)
    assert np.rad2deg(np.angle(flow.voltage[1])) == pytest.approx(-151.14, abs=5e-3)
    np.testing.assert_allclose(np.abs(load_flow(feeder(0.0)).voltage), np.abs(flow.voltage))
    assert flow.power[0] == pytest.approx(load_flow(feeder(0.0)).power[0], abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_magnitudes_of_a_radial_grid_do_not_depend_on_shifts(seed):
    turned, plain = load_flow(random_tree(seed)), load_flow(random_tree(seed, shifts=False))
    np.testing.assert_allclose(np.abs(turned.voltage), np.abs(plain.voltage), atol=1e-12)
    np.testing.assert_allclose(turned.power, plain.power, atol=1e-9)


def test_islands_keep_the_angles_of_their_slacks():
    def island(first, angle, slack, source, load):
        return [
            {"number": first, "kind": "slack", "voltage": slack, "angle": np.deg2rad(angle)},
            {"number": first + 10, "kind": "source", "active": 0.2, "voltage": source},
            {"number": first + 20, "kind": "load", "active": -load[0], "reactive": -load[1]},
        ]

    def line(a, b):
        return {"start": a, "end": b, "resistance": 0.01, "reactance": 0.1, "charging": 0.02}

    grid = Grid.from_tables(
        island(10, 10, 1.02, 1.01, (0.6, 0.2)) + island(110, -120, 1.01, 1.0, (0.5, 0.1)),
        [line(10, 20), line(20, 30), line(110, 120), line(120, 130)],
    )
    # Each island solved alone with its slack at 0 by pypower, and turned.
    angles = np.rad2deg(np.angle(load_flow(grid).voltage))
    np.testing.assert_allclose(angles, [10, 7.78, 4.43, -120, -121.68, -124.54], atol=5e-3)


def test_the_stored_voltages_are_the_start_where_they_are_near():
    grid = feeder()
    solved = load_flow(grid)
    assert solved.start in ("walked", "linear")
    again = load_flow(changed(grid, stored=solved.voltage))
    assert again.start == "stored" and again.iterations == 0
    np.testing.assert_allclose(again.voltage, solved.voltage, atol=1e-14)
    # A file that holds 1 p.u. everywhere holds nothing, and one may hold a part.
    assert load_flow(changed(grid, stored=np.ones(3))).start != "stored"
    part = np.array([np.nan, solved.voltage[1], np.nan])
    names = dict(starts(FlowProblem.of(changed(grid, stored=part))))
    assert names["stored"][1] == pytest.approx(solved.voltage[1])
    assert names["stored"][2] == pytest.approx(names["walked"][2])


def low_root(grid):
    """The other root of a feeder: from below, the load's voltage collapses."""
    start = kept_voltages(grid, walked_angles(grid))
    start[2] *= 0.05
    end = solve(FlowProblem.of(grid), start, 1e-10, 30)
    assert end.converged and np.abs(end.voltage[2]) < 0.2
    return end.voltage


def test_roots_of_low_voltage_are_taken_only_when_asked_for():
    grid = feeder()
    low = low_root(grid)
    tempted = changed(grid, stored=low)
    assert np.abs(load_flow(tempted).voltage[2]) > 0.9
    asked = load_flow(tempted, low_voltage=True)
    assert asked.start == "stored"
    np.testing.assert_allclose(asked.voltage, low, atol=1e-9)


def test_only_roots_that_no_grid_is_operated_at():
    # The currents that 170 degrees of phase shift drive around a loop leave hardly any voltage.
    grid = Grid.from_tables(
        [
            {"number": 1, "kind": "slack", "voltage": 1.0},
            {"number": 2, "kind": "load", "active": -0.01, "reactive": 0.0},
        ],
        [
            {"start": 1, "end": 2, "reactance": 0.1},
            {"start": 1, "end": 2, "reactance": 0.1, "shift": np.deg2rad(170)},
        ],
        name="loop",
    )
    with pytest.raises(
        GridError, match=r"load flow of loop only has roots.*(\|v\| is|° lie across).*low_voltage"
    ):
        load_flow(grid)
    assert load_flow(grid, low_voltage=True).mismatch < 1e-10


def test_the_nearest_root_is_taken():
    grid = feeder(load=1.2)  # near its limit: the roots are close
    high = load_flow(grid)
    start = kept_voltages(grid, walked_angles(grid))
    start[2] *= 0.05
    low = solve(FlowProblem.of(grid), start, 1e-10, 30).voltage
    assert np.abs(low[2]) < np.abs(high.voltage[2])
    # A state between the roots lies nearer to the lower one.
    between = low + 0.1 * (high.voltage - low)
    np.testing.assert_allclose(
        load_flow(changed(grid, stored=between), low_voltage=True).voltage, low, atol=1e-8
    )


def test_linear_angles_are_those_of_the_dc_load_flow():
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    ppc = pypower.case118()
    ppc["branch"][:, 2] = 0.0  # r, which pypower's DC load flow leaves out
    grid = from_ppc(ppc)
    ppc["bus"][:, 4] = 0.0  # shunt conductances, which the start leaves out
    solved, _ = pypower.rundcpf(ppc, pypower.ppoption(VERBOSE=0, OUT_ALL=0))
    np.testing.assert_allclose(linear_angles(grid), np.deg2rad(solved["bus"][:, 8]), atol=1e-10)


@pytest.mark.parametrize("name", ["case57", "case118", "case300"])
def test_the_path_finds_the_root_where_a_start_does_not(name):
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid = from_ppc(getattr(pypower, name)(), name=name)
    problem, expected = FlowProblem.of(grid), load_flow(grid).voltage
    rng = np.random.default_rng(1)
    lost = kept_voltages(grid, rng.uniform(-1.5, 1.5, grid.size))
    end = solve(problem, lost, 1e-10, 20)
    assert not end.converged or np.abs(end.voltage - expected).max() > 0.1
    found = continuation(problem, kept_voltages(grid, linear_angles(grid)), 1e-10, 20)
    np.testing.assert_allclose(found.voltage, expected, atol=1e-9)
