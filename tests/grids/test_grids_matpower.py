"""MATPOWER files and PYPOWER cases: what is understood, and what is refused by name."""

import logging
from pathlib import Path

import numpy as np
import pytest

from pnde.errors import DataError, GridError
from pnde.grids import from_ppc, load_flow, read_grid, read_matpower

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
        ("mpc.baseMVA = 50;", "", DataError, "tricky.m has no baseMVA; add"),
        ("mpc.baseMVA = 50;", "mpc.baseMVA = x;", DataError, "line 7: .*x is not defined"),
        ("mpc.baseMVA = 50;", "mpc.baseMVA = 'MVA';", DataError, "baseMVA is 'MVA'; give a number"),
        ("mpc.version = '2'", "mpc.version = '3'", DataError, "version '3'; pnde reads versions"),
        ("mpc = tricky", "[a, b] = tricky", DataError, "tricky.m has no table bus"),
        ("mpc.gen = [", "mpc.generators = [", DataError, "no table gen"),
        ("0.02 0.2 0.00", "0.02 abc 0.00", DataError, "line 26: .*abc is not defined"),
        ("0.978 -30 1 -360 360", "0.978 -30 1", DataError, "line 26: .*row 2 has 11 columns"),
        ("mpc.gencost = [", "mpc.bus(:, 3) = 2 * [", DataError, "line 31: .*1 x 7 numbers do not"),
        ("];\nmpc.gencost", "\nmpc.gencost", DataError, "'mpc.gencost|never closed|'='"),
        ('"West"; \'East\'; \'Gone\' };', '"West"', DataError, "line 32: the bracket '{'.*never"),
        ("41 2 1 0.5", "41 5 1 0.5", GridError, r"bus 41 \(tricky.m, line 14\) has the type 5"),
        ("41 2 1 0.5", "40 2 1 0.5", GridError, "bus number 40 appears twice .*line 13 and tricky.m, line 14"),
        ("41 2 1 0.5", "41.5 2 1 0.5", DataError, "line 14: the bus number is 41.5"),
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
    grid = read(tmp_path, text + "mpc.odd.table = [ 1 ];\n")
    said = caplog.text
    assert "areas, gencost, version have no bearing" in said and said.count("gencost") == 1
    assert "ignored the tables odd, which are not MATPOWER's" in said
    assert "left out the isolated buses 99" in said
    assert "bus 41 has type 2 but no generator in service" in said
    assert "generators at bus 7 have different voltage set-points; 1.05" in said
    assert grid.buses.voltage[0] == 1.05


def test_units_of_distribution_grids(tmp_path):
    """MATPOWER's distribution cases end with such statements: ohms to p.u., kW to MW, power factor."""
    text = (
        CASE
        + """
[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD, QD, GS, BS, BUS_AREA, VM, ...
    VA, BASE_KV, ZONE, VMAX, VMIN, LAM_P, LAM_Q, MU_VMAX, MU_VMIN] = idx_bus;
[F_BUS, T_BUS, BR_R, BR_X] = idx_brch;
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
    lagging = read(tmp_path, text + "pf = 0.8; mpc.bus(:, QD) = mpc.bus(:, PD) * tan(acos(pf));")
    assert lagging.buses.reactive[1] == pytest.approx(0.75 * scaled.buses.active[1])
    assert lagging.branches.where == scaled.branches.where  # the rows are still those of the file


PLAIN = """\
function mpc = c
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [
1 3 0 0 0 0 1 1.02 0 110 1 1.1 0.9;
2 2 20 5 0 0 1 1 0 110 1 1.1 0.9;
3 1 60 20 0 0 1 1 0 110 1 1.1 0.9;
];
mpc.gen = [
1 0 0 300 -300 1.02 100 1 250 0;
2 40 0 300 -300 1.01 100 1 250 0;
];
mpc.branch = [
1 2 0.01 0.1 0.02 0 0 0 0 0 1 -360 360;
2 3 0.01 0.1 0.02 0 0 0 0 0 1 -360 360;
1 3 0.01 0.1 0.02 0 0 0 0 0 1 -360 360;
];
"""
OLD = (
    PLAIN.replace("mpc = c", "[baseMVA, bus, gen, branch] = c")
    .replace("mpc.version = '2';\n", "")
    .replace("mpc.", "")
)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + PLAIN,
        PLAIN.replace("mpc = c", "[mpc] = c"),
        PLAIN.replace("'2';\n", "'2'; "),
        PLAIN + "mpc.reserves.zones = [\n1 1 0;\n];\nmpc.reserves.req = [10];\n",
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("function mpc = c\n", ""),
        PLAIN.replace("mpc.", "s.").replace("mpc =", "s ="),
        PLAIN.replace("function mpc = c", "% a case\nfunction mpc = c(x)") + "end\nfunction g\nx = f\n",
        PLAIN.replace("1 2 0.01", "1, 2, 1/100").replace("60 20", "2*(29 + 1), (15+5)"),
        PLAIN.replace("2 2 20 5 0 0 1 1 0 110", "2 2 20 5 0 0 ... bus 2\n 1 1 0 110"),
        PLAIN.replace("2 40 0", "2 40 -0").replace("1 0 0 300", "1 1 - 1 0 300"),
        PLAIN + "mpc.bus = mpc.bus'; mpc.bus = mpc.bus.';",
        PLAIN + "mpc.userfcn = @f; mpc.f = @(x) x + 1; fprintf('read %d', 1); clear all_of_it\n",
        PLAIN + "mpc.gen(3, :) = mpc.gen(2, :); mpc.gen(end, 1) = 99; mpc.gen(3, :) = [];",
        PLAIN + "fixed = 0; if fixed, mpc.bus = []; elseif ~fixed && true\nmpc.x = 1; else y, end",
        OLD,
    ],
)  # fmt: skip
def test_what_matlab_reads_is_read(tmp_path, text):
    grid, plain = read(tmp_path, text, "c.m"), read(tmp_path, PLAIN, "plain.m")
    for key in ("number", "active", "reactive", "voltage", "angle", "shunt"):
        np.testing.assert_array_equal(getattr(grid.buses, key), getattr(plain.buses, key))
    assert grid.buses.kind == plain.buses.kind
    assert abs(grid.admittance() - plain.admittance()).max() < 1e-15


def test_other_encodings(tmp_path):
    text = PLAIN + "mpc.bus_name = {'Zürich'; 'b'; 'c'};"
    for encoding in ("utf-8", "utf-16", "utf-8-sig", "latin-1", "utf-32"):
        (tmp_path / "c.m").write_bytes(text.encode(encoding))
        assert read_matpower(tmp_path / "c.m").buses.name[0] == "Zürich"


def test_a_dc_line_is_two_generators(tmp_path, caplog):
    """The first end draws PF, the second gives what the losses leave; out of service it is nothing."""
    lines = (
        "mpc.dcline = [\n"
        "1 3 1 10 8 0 0 1.02 0.99 0 20 -5 5 -7 7 1 0.02;\n"
        "2 3 0 50 50 0 0 1 1 0 20 -5 5 -7 7 0 0;\n];\n"
    )
    grid = read(tmp_path, PLAIN + lines)
    assert grid.buses.kind == ("slack", "source", "source")
    np.testing.assert_allclose(grid.buses.active[2], (-60 + 10 - 1 - 0.2) / 100)
    assert grid.buses.voltage[2] == 0.99
    np.testing.assert_allclose(grid.buses.reactive_max[2], (7 - 20) / 100)
    assert "its 1 DC lines in service are generators at their ends" in caplog.text
    flow = load_flow(grid)
    drawn = load_flow(read(tmp_path, PLAIN.replace("3 1 60 20", "3 2 60 20").replace(
        "1 0 0 300", "3 8.8 0 7 -7 0.99 100 1 250 0;\n1 -10 0 300"
    )))  # fmt: skip
    np.testing.assert_allclose(flow.voltage, drawn.voltage, atol=1e-12)
    with pytest.raises(GridError, match=r"DC line of tricky\.m, line 19 ends at bus 9"):
        read(tmp_path, PLAIN + lines.replace("1 3 1 10", "1 9 1 10"))
    with pytest.raises(DataError, match=r"dcline table of tricky\.m has 7 columns"):
        read(tmp_path, PLAIN + "mpc.dcline = [ 1 2 1 5 5 0 0; ];\n")


def test_elements_that_carry_power_are_refused_by_name(tmp_path):
    with pytest.raises(GridError, match=r"tricky\.m has converters \(the table convdc\)"):
        read(tmp_path, PLAIN + "mpc.convdc = [1 1 1 1 1];")
    assert read(tmp_path, PLAIN + "mpc.convdc = [];").size == 3


@pytest.mark.parametrize("wrapped", [True, False])
def test_mat_files(tmp_path, wrapped):
    import scipy.io

    plain = read(tmp_path, PLAIN)
    fields = {
        key: np.array([[float(x) for x in row.split()] for row in body.split(";") if row.split()])
        for key, body in ((k, PLAIN.split(f"mpc.{k} = [")[1].split("]")[0]) for k in ("bus", "gen", "branch"))
    }  # fmt: skip
    case = {"version": "2", "baseMVA": 100.0, **fields}
    case["bus_name"] = np.array(["north", "middle", "south"], object)
    path = tmp_path / "three.mat"
    scipy.io.savemat(path, {"mpc": case} if wrapped else case, do_compression=wrapped)
    grid = read_matpower(path)
    assert grid.name == "three" and grid.buses.name == ("north", "middle", "south")
    np.testing.assert_array_equal(grid.buses.active, plain.buses.active)
    assert abs(grid.admittance() - plain.admittance()).max() == 0
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(DataError, match=r"three\.mat"):
        read_matpower(path)


def test_mat_files_of_version_73(tmp_path):
    import h5py

    with h5py.File(tmp_path / "c.mat", "w", userblock_size=512) as file:
        group = file.create_group("mpc")
        for key in ("bus", "gen", "branch"):
            body = PLAIN.split(f"mpc.{key} = [")[1].split("]")[0]
            rows = [[float(x) for x in row.split()] for row in body.split(";") if row.split()]
            group[key] = np.array(rows).T  # MATLAB counts the axes from the other end
        group["baseMVA"] = np.array([[100.0]])
    grid = read_matpower(tmp_path / "c.mat")
    assert abs(grid.admittance() - read(tmp_path, PLAIN).admittance()).max() == 0


def test_a_mat_file_that_unpacks_to_too_much(tmp_path, monkeypatch):
    import scipy.io

    scipy.io.savemat(tmp_path / "bomb.mat", {"bus": np.zeros((1000, 1000))}, do_compression=True)
    monkeypatch.setattr("pnde.grids.mat_file.LARGEST", 1 << 20)
    with pytest.raises(DataError, match=r"bomb\.mat unpacks to more than"):
        read_matpower(tmp_path / "bomb.mat")


def test_workbooks(tmp_path):
    """As the package matpowercaseframes writes them: an index without heading, named columns."""
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("openpyxl")
    plain = read(tmp_path, PLAIN)
    from pnde.grids.matpower_columns import NAMES

    path = tmp_path / "c.xlsx"
    with pandas.ExcelWriter(path) as writer:
        pandas.DataFrame({"INFO": {"version": "2", "baseMVA": 100.0}}).to_excel(
            writer, sheet_name="info"
        )
        for key in ("bus", "gen", "branch"):
            body = PLAIN.split(f"mpc.{key} = [")[1].split("]")[0]
            rows = [[float(x) for x in row.split()] for row in body.split(";") if row.split()]
            table = pandas.DataFrame(rows, columns=NAMES[key][: len(rows[0])])
            table.iloc[:, ::-1].to_excel(writer, sheet_name=key)  # by name, not by order
    grid = read_grid(path)
    np.testing.assert_array_equal(grid.buses.active, plain.buses.active)
    assert abs(grid.admittance() - plain.admittance()).max() == 0


def test_a_case_without_its_tables():
    with pytest.raises(DataError, match="ppc has no table gen"):
        from_ppc({"baseMVA": 100, "bus": np.zeros((1, 13))})
    with pytest.raises(DataError, match="the bus table of ppc has 3 columns"):
        empty = np.zeros((0, 30))
        from_ppc({"baseMVA": 100, "bus": np.zeros((1, 3)), "gen": empty, "branch": empty})
    with pytest.raises(DataError, match=r"cannot read nowhere\.m: No such file"):
        read_matpower("nowhere.m")
