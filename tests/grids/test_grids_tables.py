"""The grid as a value: tables, admittance, powers, states, and what is refused."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pnde.errors import EngineError, GridError, PndeError
from pnde.grids import Branches, Buses, Grid, ieee14, power_jacobian

BUSES = [
    {"number": 10, "kind": "slack", "voltage": 1.02, "angle": 0.1, "name": "north"},
    {"number": 20, "kind": "source", "active": 0.5, "voltage": 1.01},
    {"number": 40, "kind": "load", "active": -0.8, "reactive": -0.2, "shunt": 0.1j},
]
BRANCHES = [
    {"start": 10, "end": 20, "resistance": 0.01, "reactance": 0.1, "charging": 0.04},
    {"start": 20, "end": 40, "admittance": 2 - 8j, "tap": 0.95, "shift": 0.05},
    {"start": 40, "end": 10, "reactance": 0.2},
]


def small(bus=None, branch=None, buses=BUSES, branches=BRANCHES):
    """The three-bus grid with some entries of its rows changed: {row: {key: value}}."""
    bus_rows = [{**row, **(bus or {}).get(k, {})} for k, row in enumerate(buses)]
    branch_rows = [{**row, **(branch or {}).get(k, {})} for k, row in enumerate(branches)]
    return Grid.from_tables(bus_rows, branch_rows, name="small")


def test_the_grid_of_the_paper_is_read_from_the_file_of_both_languages(monkeypatch):
    grid = ieee14()
    places = [list(part) for part in (grid.slack, grid.sources, grid.loads)]
    assert places == [[1], [0, 2, 5, 7], [3, 4, 6, 8, 9, 10, 11, 12, 13]]
    assert grid.branches.start.shape == (20,)
    # By the resistances and reactances of the IEEE's own table: branch 1-2 has 0.01938 + 0.05917j, no charging here.
    Y = grid.admittance().toarray()
    np.testing.assert_allclose(Y[0, 1], -1 / (0.01938 + 0.05917j), rtol=1e-12)
    np.testing.assert_allclose(Y.sum(axis=1), 0, atol=1e-13)
    np.testing.assert_allclose(grid.buses.active.take([0, 3, 13]), [2.32, -0.478, -0.149])
    assert np.isnan(grid.buses.active[1]) and np.isnan(grid.buses.voltage[grid.loads]).all()
    published = ieee14(published=True)
    assert (published.buses.reactive[7], published.buses.voltage[7]) == (0, grid.buses.reactive[7])

    def lost():
        raise EngineError("the Julia package PNDE is not beside pnde: install pnde again")

    monkeypatch.setattr(sys.modules[ieee14.__module__], "julia_package", lost)
    with pytest.raises(PndeError, match="install pnde again"):
        ieee14()


def test_positions_and_names():
    grid = small()
    assert grid.size == 3
    assert (grid.slack, grid.sources, grid.loads) == ([0], [1], [2])
    assert grid.state_names[0] == "Re v_10" and grid.state_names[-1] == "Im v_40"
    assert grid.index(40) == 2 and grid.index("north") == 0 and grid.index("20") == 1
    assert grid.slack_voltage == pytest.approx([1.02 * np.exp(0.1j)])
    assert grid.bus_label(0) == "bus 10 ('north')"
    with pytest.raises(GridError, match=r"no bus 'nort'.*did you mean 'north'"):
        grid.index("nort")


def test_admittance_of_a_transformer_is_that_of_its_circuit():
    grid, v = small(), np.array([1.02 * np.exp(0.1j), 0.98 - 0.05j, 0.95 + 0.02j])
    y1, y3 = 1 / (0.01 + 0.1j), 1 / 0.2j
    # Behind the ideal transformer at bus 20 stands v / (tap e^{j shift}); power is conserved there.
    ratio = 0.95 * np.exp(0.05j)
    through = (2 - 8j) * (v[1] / ratio - v[2])
    currents = [
        y1 * (v[0] - v[1]) + 0.02j * v[0] + y3 * (v[0] - v[2]),
        y1 * (v[1] - v[0]) + 0.02j * v[1] + through / np.conj(ratio),
        -through + y3 * (v[2] - v[0]) + 0.1j * v[2],
    ]
    np.testing.assert_allclose(grid.admittance() @ v, currents, rtol=1e-14)
    np.testing.assert_allclose(grid.injected_power(v), v * np.conj(currents), rtol=1e-14)


def test_published_admittance_is_a_laplacian():
    grid = ieee14()
    matrix = grid.admittance().toarray()
    np.testing.assert_allclose(matrix.sum(axis=1), 0, atol=1e-14)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix[0, 1] == -(4.999131600798035 - 15.263086523179553j)
    assert len(grid.branches) == 20
    np.testing.assert_array_equal(grid.buses.number[grid.loads], [4, 5, 7, 9, 10, 11, 12, 13, 14])
    np.testing.assert_array_equal(grid.buses.number[grid.sources], [1, 3, 6, 8])
    np.testing.assert_array_equal(grid.buses.number[grid.slack], [2])


def test_powers_and_states_of_a_batch():
    grid, rng = ieee14(), np.random.default_rng(1)
    v = rng.normal(size=(2, 3, 14)) + 1j * rng.normal(size=(2, 3, 14))
    power = grid.injected_power(v)
    assert power.shape == v.shape
    np.testing.assert_allclose(power[1, 2], grid.injected_power(v[1, 2]), rtol=1e-13)
    state = grid.state(v)
    assert state.shape == (2, 3, 28) and state.dtype == float
    np.testing.assert_array_equal(grid.voltage(state), v)
    np.testing.assert_array_equal(state[..., 1], v[..., 1].real)


def test_power_jacobian_is_that_of_finite_differences_and_of_the_paper():
    grid, rng = small(), np.random.default_rng(2)
    u = rng.normal(size=6)

    def powers(u):
        s = grid.injected_power(grid.voltage(u))
        return np.concatenate([s.real, s.imag])

    jacobian = power_jacobian(grid, grid.voltage(u)).toarray()
    h = 1e-6
    numeric = np.stack([(powers(u + h * e) - powers(u - h * e)) / (2 * h) for e in np.eye(6)], 1)
    np.testing.assert_allclose(jacobian, numeric, atol=1e-8)

    grid = ieee14()
    v = rng.normal(size=14) + 1j * rng.normal(size=14)
    Y = grid.admittance().toarray()
    i, e, f = Y @ v, v.real[:, None], v.imag[:, None]
    paper = np.block(  # appendix I
        [
            [np.diag(i.real) + e * Y.real + f * Y.imag, np.diag(i.imag) - e * Y.imag + f * Y.real],
            [-np.diag(i.imag) - e * Y.imag + f * Y.real, np.diag(i.real) - e * Y.real - f * Y.imag],
        ]
    )
    np.testing.assert_allclose(power_jacobian(grid, v).toarray(), paper, atol=1e-12)


def test_a_grid_survives_json():
    grid = small()
    again = Grid.from_dict(json.loads(json.dumps(grid.to_dict(), allow_nan=False)))
    assert again.to_dict() == grid.to_dict()
    np.testing.assert_array_equal(again.admittance().toarray(), grid.admittance().toarray())
    assert np.isnan(again.buses.reactive[1])


def test_what_only_some_grids_have_survives_json():
    grid = small(
        {
            1: {"reactive_min": 0.0, "reactive_max": 0.0, "rating": 2.0, "stored": 1.01 + 0.1j},
            2: {"current": -0.1 - 0.05j},
        }
    )
    said = json.loads(json.dumps(grid.to_dict(), allow_nan=False))
    again = Grid.from_dict(said)
    assert again.to_dict() == grid.to_dict()
    for key in ("current", "reactive_min", "reactive_max", "rating", "stored"):
        np.testing.assert_array_equal(getattr(again.buses, key), getattr(grid.buses, key))
        assert key not in small().to_dict()["buses"]  # what records of older versions look like
    assert again.buses.reactive_max[1] == 0.0 and np.isnan(again.buses.reactive_max[0])
    assert again.buses.stored[1] == 1.01 + 0.1j and np.isnan(again.buses.stored[2])


def test_power_beside_that_of_constant_currents():
    grid, v = small({2: {"current": -0.1 - 0.05j}}), np.array([1.0, 1.02j, 0.8 - 0.6j])
    difference = grid.injected_power(v) - grid.constant_power(v)
    np.testing.assert_allclose(difference, [0, 0, -0.1 - 0.05j], atol=1e-15)
    difference = grid.injected_power(2 * v) - grid.constant_power(2 * v)
    np.testing.assert_allclose(difference, [0, 0, -0.2 - 0.1j], atol=1e-15)


def test_a_grid_is_shown_in_two_lines():
    assert repr(small()) == (
        "Grid('small': 3 buses (1 slack, 1 source, 1 load),\n  3 branches, power base 100 MVA)"
    )
    assert all(len(line) < 100 for line in repr(ieee14()).splitlines())


def test_data_frames_are_tables_too():
    grid = Grid.from_tables(
        pd.DataFrame(BUSES), pd.DataFrame(BRANCHES).fillna({"resistance": 0.0}), name="small"
    )
    np.testing.assert_array_equal(grid.admittance().toarray(), small().admittance().toarray())
    assert grid.buses.name == ("north", "", "")


def test_tables_cannot_be_edited():
    grid = ieee14()
    with pytest.raises(ValueError, match="read-only"):
        grid.buses.active[0] = 1.0


@pytest.mark.parametrize(
    ("bus", "branch", "message"),
    [
        ({1: {"kind": ""}}, {}, "bus 20 has no type; make it 'load', 'source' or 'slack'"),
        ({1: {"kind": "sauce"}}, {}, "bus 20 has the unknown type 'sauce'.*did you mean 'source'"),
        ({0: {"kind": "source", "active": 0.0}}, {}, "small has no slack bus"),
        ({1: {"number": 10}}, {1: {"start": 10}}, "bus number 10 appears 2 times"),
        ({2: {"active": np.nan}}, {}, r"bus 40 \(load\) has the active power nan"),
        ({2: {"reactive": np.nan}}, {}, r"bus 40 \(load\) has the reactive power nan"),
        ({2: {"current": np.inf}}, {}, r"bus 40 \(load\) has the constant-current power"),
        ({1: {"rating": 0.0}}, {}, r"bus 20 \(source\) has the rating 0.0; give it a positive"),
        ({1: {"voltage": 0.0}}, {}, r"bus 20 \(source\) has the voltage set-point 0.0"),
        ({0: {"voltage": np.nan}}, {}, r"bus 10 \('north'\) \(slack\) has the voltage set-point"),
        ({}, {2: {"reactance": 0.0}}, r"branch 40–10 \(row 3 of .*\) has zero impedance; merge"),
        ({}, {0: {"resistance": np.nan}}, r"branch 10–20 \(row 1 .*a series admittance of"),
        ({}, {1: {"tap": -1.0}}, r"branch 20–40 \(row 2 .*a tap ratio of -1.0"),
        ({}, {1: {"shift": np.inf}}, r"branch 20–40 .*a phase shift of inf"),
        ({}, {1: {"end": 20}}, r"branch 20–20 \(row 2 .*starts and ends at the same bus; remove"),
        ({}, {1: {"end": 41}}, r"branch 20–41 .*ends at bus 41.*not in the bus table; add"),
        ({}, {1: {"pat": 1}}, r"row 2 of the branch table has the unknown column 'pat'"),
    ],
)
def test_what_is_wrong_is_named(bus, branch, message):
    with pytest.raises(GridError, match=message):
        small(bus, branch)


def test_an_island_is_named():
    cut = [BRANCHES[0], {**BRANCHES[1], "admittance": 0.0}]
    with pytest.raises(GridError, match=r"bus 40 is cut off.*joins it to a slack"):
        small(branches=cut)
    more = [*BUSES, {"number": 50, "kind": "load", "active": 0.0, "reactive": 0.0}]
    far = [BRANCHES[0], {"start": 40, "end": 50, "reactance": 0.1}]
    with pytest.raises(GridError, match=r"bus 40 is cut off.*the island of buses 40, 50"):
        small(buses=more, branches=far)
    more[2] = {"number": 40, "kind": "slack", "voltage": 1.0}
    assert small(buses=more, branches=far).size == 4  # an island with its own slack is a grid


def test_infinite_admittance_is_zero_impedance():
    buses = Buses(
        np.array([1, 2]), ("slack", "load"), np.zeros(2), np.zeros(2), np.array([1.0, np.nan])
    )
    with pytest.raises(GridError, match=r"branch 1–2 .*zero impedance"):
        Grid(buses, Branches(np.array([0]), np.array([1]), np.array([complex(np.inf)])))
    with pytest.raises(GridError, match="kind"):
        Buses(np.array([1, 2]), ("slack",), np.zeros(2), np.zeros(2), np.ones(2))
    with pytest.raises(GridError, match="active has shape"):
        Buses(np.array([1, 2]), ("slack", "load"), np.zeros(3), np.zeros(2), np.ones(2))


def test_import_is_light():
    code = (
        "import sys, pnde.grids; "
        "print([m for m in ('jax', 'scipy', 'pandapower', 'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
