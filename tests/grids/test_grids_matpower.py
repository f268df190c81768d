"""MATPOWER files and PYPOWER cases: what is understood, and what is refused by name."""

import logging
from pathlib import Path

import numpy as np
import pytest

from pnde.errors import DataError, GridError
from pnde.grids import from_ppc, load_flow, read_matpower

DATA = Path(__file__).parent / "data"

# Everything at once: comments, a continued row, commas, several rows a line, bus numbers with gaps,
# two generators at bus 7, one out of service, a branch and a bus out of service, names.
CASE = """\
function mpc = tricky
%% not a table: mpc.bus = [1 2 3];
%{
mpc.bus = [ 9 9 9 ];
%}
mpc.version = '2';
mpc.baseMVA = 50;   % MVA
mpc.areas = [ 1 5 ];
%% bus data
mpc.bus = [
  7  3 10 5 0 0 1 1.0 3.0 110 1 1.1 0.9;   % slack with a load
  300, 1, 20, 10, 1, 19, 1, 1, 0, 110, 1, 1.1, 0.9
  40 2 5 2 0 0 1 1.0 0 ...  continued
     110 1 1.1 0.9; 41 2 1 0.5 0 0 1 1 0 110 1 1.1 0.9
  99 4 7 7 0 0 1 1 0 110 1 1.1 0.9;
];
mpc.gen = [
  7   30 1 99 -99 1.04 100 1 99 0;
  7   10 2 99 -99 1.04 100 1 99 0;
  40  15 0 99 -99 1.02 100 1 99 0;
  41  15 0 99 -99 1.09 100 0 99 0;
  99  15 0 99 -99 1.09 100 1 99 0;
];
mpc.branch = [
  7   300 0.01 0.1 0.02 0 0 0 0 0 1 -360 360;
  300 40  0.02 0.2 0.00 0 0 0 0.978 -30 1 -360 360;
  40  41  0    1e-1 0   0 0 0 0 0 1 -360 360;
  7   40  0    0   0    0 0 0 0 0 0 -360 360;
  99  40  0    0.1 0    0 0 0 0 0 1 -360 360;
];
mpc.gencost = [ 2 0 0 3 0.1 20 0; ];
mpc.bus_name = { 'North % one'; 'O''Hara'; "West"; 'East'; 'Gone' };
"""


def read(tmp_path, text, name="tricky.m"):
    path = tmp_path / name
    path.write_text(text)
    return read_matpower(path)


def test_a_tricky_file_is_understood(tmp_path):
    grid = read(tmp_path, CASE)
    bus, line = grid.buses, grid.branches
    assert grid.name == "tricky" and grid.base_mva == 50
    np.testing.assert_array_equal(bus.number, [7, 300, 40, 41])
    assert bus.kind == ("slack", "load", "source", "load")  # 41 has no generator in service
    assert bus.name == ("North % one", "O'Hara", "West", "East")
    np.testing.assert_allclose(bus.active, [np.nan, -0.4, 0.2, -0.02])
    np.testing.assert_allclose(bus.reactive, [np.nan, -0.2, np.nan, -0.01])
    np.testing.assert_allclose(bus.voltage, [1.04, np.nan, 1.02, np.nan])
    np.testing.assert_allclose(bus.angle[0], np.deg2rad(3))
    np.testing.assert_allclose(bus.shunt, [0, (1 + 19j) / 50, 0, 0])
    np.testing.assert_array_equal(np.stack([line.start, line.end]), [[0, 1, 2], [1, 2, 3]])
    np.testing.assert_allclose(line.tap, [1, 0.978, 1])
    np.testing.assert_allclose(np.rad2deg(line.shift), [0, -30, 0])
    np.testing.assert_allclose(line.charging_start, [0.01j, 0, 0])
    assert line.where[1] == "tricky.m, line 26"
    load_flow(grid)


@pytest.mark.parametrize(("file", "case"), [("ieee14.m", "case14"), ("ieee118.m", "case118")])
def test_a_file_and_pypower_agree(file, case):
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    grid, other = read_matpower(DATA / file), from_ppc(getattr(pypower, case)())
    assert grid.size == other.size and grid.buses.kind == other.buses.kind
    if case == "case14":  # pypower's 118-bus case is an older edition of the same grid
        difference = grid.admittance() - other.admittance()
        assert abs(difference).max() < 1e-12
        assert np.abs(load_flow(grid).voltage - load_flow(other).voltage).max() < 1e-8
    assert grid.buses.name[0].startswith(("Bus 1", "Riversde"))


def test_known_solution_of_the_14_bus_file():
    """The solved voltages that the file itself lists, rounded to three digits."""
    flow = load_flow(read_matpower(DATA / "ieee14.m"))
    np.testing.assert_allclose(np.abs(flow.voltage[[3, 8, 13]]), [1.019, 1.056, 1.036], atol=2e-3)
    angles = np.rad2deg(np.angle(flow.voltage[[3, 8, 13]]))
    np.testing.assert_allclose(angles, [-10.33, -14.94, -16.04], atol=2e-2)


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("mpc.baseMVA = 50;", "", DataError, "tricky.m has no mpc.baseMVA; add"),
        ("mpc.baseMVA = 50;", "mpc.baseMVA = x;", DataError, "line 7: baseMVA is 'x'"),
        ("mpc.version = '2'", "mpc.version = '1'", DataError, "line 6: .*version 1"),
        ("mpc = tricky", "[baseMVA, bus] = tricky", DataError, "line 1: .*version 1"),
        ("mpc.gen = [", "mpc.generators = [", DataError, "no table mpc.gen"),
        ("0.02 0.2 0.00", "0.02 abc 0.00", DataError, "line 26: 'abc' in row 2 of mpc.branch"),
        ("0.978 -30 1 -360 360", "0.978 -30 1", DataError, "line 26: row 2 .* has 11 columns"),
        ("mpc.gencost = [", "mpc.bus(:, 3) = 2 * [", DataError, "line 31: .*is code, and pnde"),
        ("];\nmpc.gencost", "\nmpc.gencost", DataError, "'mpc.gencost|never closed|'='"),
        ('"West"; \'East\'; \'Gone\' };', '"West"', DataError, "line 32: the bracket '{'.*never"),
        ("41 2 1 0.5", "41 5 1 0.5", GridError, r"bus 41 \(tricky.m, line 13\) has the type 5"),
        ("41 2 1 0.5", "40 2 1 0.5", GridError, "bus number 40 appears twice .*line 13"),
        ("41 2 1 0.5", "41.5 2 1 0.5", DataError, "line 13: the bus number is 41.5"),
        ("7  3 10 5", "7  1 10 5", GridError, "tricky has no slack bus"),
        ("40  41  0    1e-1", "40  41  0  0", GridError, r"40–41 \(tricky.m, line 27\) has zero"),
        ("40  41  0    1e-1", "41  41  0  1", GridError, r"41–41 \(tricky.m, line 27\) starts and"),
        ("40  41  0    1e-1", "40  42  0  1", GridError, r"40–42 \(.*line 27\) ends at bus 42"),
        ("40  41  0    1e-1", "40  41  NaN 1", GridError, r"40–41 \(.*line 27\) has a value that"),
        ("40  41  0    1e-1 0   0 0 0 0 0 1", "40  41  0    1e-1 0   0 0 0 0 0 0", GridError,
         r"bus 41 \('East'\) is cut off"),
        ("40  15 0", "44  15 0", GridError, "generator of tricky.m, line 20 stands at bus 44"),
        ("40  15 0", "40  Inf 0", GridError, r"generator at bus 40 \(tricky.m, line 20\)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, old, new, error, message):
    assert old in CASE
    with pytest.raises(error, match=message):
        read(tmp_path, CASE.replace(old, new))


def test_what_does_not_matter_is_said_once(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pnde.grids")
    text = CASE.replace("7   10 2 99 -99 1.04", "7   10 2 99 -99 1.05")
    grid = read(tmp_path, text + "mpc.dcline = [ 7 40 1 5 5 0 0; ];\n")
    said = caplog.text
    assert "ignored the tables areas, gencost" in said and said.count("gencost") == 1
    assert "DC lines are ignored" in said
    assert "left out the isolated buses 99" in said
    assert "bus 41 has type 2 but no generator in service" in said
    assert "generators at bus 7 have different voltage set-points; 1.05" in said
    assert grid.buses.voltage[0] == 1.05


def test_units_of_distribution_grids(tmp_path):
    """MATPOWER's distribution cases end with two statements, known by heart and not run."""
    text = (
        CASE
        + """
[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD, QD, GS, BS, BUS_AREA, VM, ...
    VA, BASE_KV, ZONE] = idx_bus;
Vbase = mpc.bus(1, BASE_KV) * 1e3;      %% in Volts
Sbase = mpc.baseMVA * 1e6;              %% in VA
mpc.branch(:, [BR_R BR_X]) = mpc.branch(:, [BR_R BR_X]) / (Vbase^2 / Sbase);
mpc.bus(:, [PD, QD]) = mpc.bus(:, [PD, QD]) / 1e3;
"""
    )
    plain, scaled = read(tmp_path, CASE), read(tmp_path, text)
    ratio = scaled.branches.admittance / plain.branches.admittance
    np.testing.assert_allclose(ratio, 110**2 / 50)
    assert scaled.buses.active[1] == pytest.approx(plain.buses.active[1] / 1e3)
    with pytest.raises(DataError, match=r"line 40: .*is code"):
        read(tmp_path, text + "mpc.bus(:, QD) = mpc.bus(:, PD) * sin(acos(0.85));")


def test_a_case_without_its_tables():
    with pytest.raises(DataError, match="ppc has no 'gen' table"):
        from_ppc({"baseMVA": 100, "bus": np.zeros((1, 13))})
    with pytest.raises(DataError, match="the bus table of ppc has 3 columns"):
        from_ppc({"baseMVA": 100, "bus": np.zeros((1, 3))})
    with pytest.raises(DataError, match=r"cannot read nowhere\.m: No such file"):
        read_matpower("nowhere.m")
