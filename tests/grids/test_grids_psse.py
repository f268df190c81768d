"""PSS/E raw files: conventions against hand calculation and against a case solved by PSS/E."""

import logging
from pathlib import Path

import numpy as np
import pytest

from pnde.errors import DataError, GridError
from pnde.grids import load_flow, read_psse
from pnde.grids.psse import _fields

DATA = Path(__file__).parent / "data"

HEAD = """0, 100.0, 33, 0, 1, 60.0 / made for a test
title
title
"""
BUSES = """ 1,'A / one', 110.0, 3, 1, 1, 1, 1.02, 5.0
 2,'B', 110.0, 2, 1, 1, 1, 1.0, 0.0
 30 'C'  20.0  1  1 1 1 1.0 0.0
 4,'D', 110.0, 4, 1, 1, 1, 1.0, 0.0
"""
LOADS = """ 30,'1',1,1,1, 40.0, 10.0, 0,0, 5.0,-3.0, 1,1,0
 30,'2',0,1,1, 99.0, 99.0, 0,0, 0,0, 1,1,0
"""
SHUNTS = " 30,'1',1, 1.0, 8.0\n"
GENERATORS = """ 1,'1', 10.0, 0.0, 50, -50, 1.03, 0, 100, 0, 1, 0, 0, 1, 1
 2,'1', 20.0, 0.0, 50, -50, 1.01, 0, 100, 0, 1, 0, 0, 1, 1
 2,'2', 5.0, 0.0, 50, -50, 1.01, 0, 100, 0, 1, 0, 0, 1, 1
"""
BRANCHES = " 1,-2,'1', 0.01, 0.1, 0.04,0,0,0, 0.001, 0.002, 0.003, 0.004, 1\n"
TRANSFORMER = """ 2,30,0,'1',{cw},{cz},{cm}, {mag1}, {mag2}, 2,'T',1
 {r}, {x}, {base}
 {windv1}, {nomv1}, 30.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
 {windv2}, {nomv2}
"""
PLAIN = dict(
    cw=1, cz=1, cm=1, mag1=0, mag2=0, r=0.002, x=0.08, base=100,
    windv1=0.98, nomv1=0, windv2=1.0, nomv2=0,
)  # fmt: skip


def case(
    head=HEAD, buses=BUSES, loads=LOADS, shunts=SHUNTS, generators=GENERATORS, branches=BRANCHES,
    transformers=None, rest="",
):  # fmt: skip
    if transformers is None:
        transformers = TRANSFORMER.format(**PLAIN)
    sections = [buses, loads, shunts, generators, branches, transformers, rest]
    return head + "".join(f"{text}0 / end\n" for text in sections) + "Q\n"


def read(tmp_path, text):
    path = tmp_path / "made.raw"
    path.write_text(text)
    return read_psse(path)


def transformer(tmp_path, **changes):
    grid = read(tmp_path, case(transformers=TRANSFORMER.format(**{**PLAIN, **changes})))
    line = grid.branches
    return 1 / line.admittance[-1], line.tap[-1], line.shift[-1], grid.buses.shunt


def test_sections_and_signs(tmp_path):
    grid = read(tmp_path, case())
    bus, line = grid.buses, grid.branches
    np.testing.assert_array_equal(bus.number, [1, 2, 30])
    assert bus.kind == ("slack", "source", "load")
    assert bus.name == ("A / one", "B", "C")
    np.testing.assert_allclose(bus.active, [np.nan, 0.25, -0.4])
    np.testing.assert_allclose(bus.reactive, [np.nan, np.nan, -0.1])
    np.testing.assert_allclose(bus.voltage, [1.03, 1.01, np.nan])
    np.testing.assert_allclose(bus.angle[0], np.deg2rad(5))
    # Line shunts at either end; fixed shunt 1 + 8j MVA plus the load's constant admittance 5 − 3j.
    np.testing.assert_allclose(bus.shunt, [0.001 + 0.002j, 0.003 + 0.004j, 0.06 + 0.05j])
    np.testing.assert_allclose(line.charging_end, [0.02j, 0])
    np.testing.assert_allclose(1 / line.admittance, [0.01 + 0.1j, 0.002 + 0.08j])
    assert line.where[1] == "made.raw, line 20"


def test_tap_of_either_winding(tmp_path):
    z, tap, shift, _ = transformer(tmp_path, windv1=1.05, windv2=0.9)
    assert tap == pytest.approx(1.05 / 0.9) and shift == pytest.approx(np.deg2rad(30))
    # Between ideal transformers 1.05 and 0.9 the circuit gives y22 = y/0.9², y11 = y/1.05².
    assert z == pytest.approx((0.002 + 0.08j) * 0.81)


def test_every_convention_describes_the_same_transformer(tmp_path):
    """The plain one, rewritten with each CW, CZ, CM; nominal 115/21 kV at buses of 110/20 kV."""
    z, tap, _, shunt = transformer(tmp_path, windv2=1.02, mag1=0.001, mag2=-0.01)
    kv = dict(cw=2, windv1=0.98 * 110, windv2=1.02 * 20)
    nominal = dict(cw=3, windv1=0.98 * 110 / 115, windv2=1.02 * 20 / 21, nomv1=115, nomv2=21)
    scale = (110 / 115) ** 2 * 50 / 100  # p.u. of 50 MVA and 115 kV
    winding = dict(cz=2, r=0.002 * scale, x=0.08 * scale, base=50, nomv1=115)
    size = abs(0.002 + 0.08j) * scale
    loss = dict(cz=3, r=0.002 * scale * 50e6, x=size, base=50, nomv1=115)
    base_change = (115 / 110) ** 2 * 100 / 50  # of an admittance, to p.u. of 50 MVA and 115 kV
    magnetising = dict(
        cm=2,
        base=50,
        nomv1=115,
        mag1=0.001 * base_change * 50e6,
        mag2=abs(0.001 - 0.01j) * base_change,
    )
    base = dict(windv2=1.02, mag1=0.001, mag2=-0.01)
    for change in (kv, nominal, winding, loss, magnetising):
        z2, tap2, _, shunt2 = transformer(tmp_path, **{**base, **change})
        assert z2 == pytest.approx(z, rel=1e-12) and tap2 == pytest.approx(tap, rel=1e-12)
        np.testing.assert_allclose(shunt2, shunt, rtol=1e-12)


def test_three_windings_become_a_star(tmp_path):
    text = """ 1,2,30,'1',1,1,1, 0.0, -0.01, 2,'T',{status}
 0.01, 0.10, 100, 0.02, 0.20, 100, 0.03, 0.26, 100, 1.0, 0.0
 1.01, 0, 0.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
 0, 0, 0.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
 0.97, 0, 30.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
""".replace(" 0, 0, 0.0,0", " 1.0, 0, 0.0,0")
    grid = read(tmp_path, case(transformers=text.format(status=1)))
    assert grid.buses.name[-1] == "star 1-2-30" and grid.buses.kind[-1] == "load"
    line = grid.branches
    z1, z2, z3 = 1 / line.admittance[1:]
    pairs = [z1 + z2, z2 + z3, z3 + z1]
    np.testing.assert_allclose(pairs, [0.01 + 0.1j, 0.02 + 0.2j, 0.03 + 0.26j], atol=1e-15)
    np.testing.assert_allclose(line.tap[1:], [1.01, 1.0, 0.97])
    np.testing.assert_allclose(np.rad2deg(line.shift[1:]), [0, 0, 30])
    load_flow(grid)
    out = read(tmp_path, case(transformers=text.format(status=4)))  # winding 1 out of service
    np.testing.assert_array_equal(out.buses.number[out.branches.start], [1, 2, 30])
    assert out.buses.shunt[0] == grid.buses.shunt[0] + 0.01j


def test_agrees_with_a_solved_case():
    """Voltages of `ieee39.raw` as solved in its own program; it has a three-winding transformer."""
    grid = read_psse(DATA / "ieee39.raw")
    stored = {}
    for text in (DATA / "ieee39.raw").read_text().splitlines()[3:]:
        fields = _fields(text)
        if fields[0] == "0":
            break
        stored[int(fields[0])] = float(fields[7]) * np.exp(1j * np.deg2rad(float(fields[8])))
    flow = load_flow(grid)
    assert grid.size == len(stored) + 1  # the star
    for k, number in enumerate(grid.buses.number.tolist()):
        if number in stored:
            assert abs(flow.voltage[k] - stored[number]) < 1e-5  # digits stored in the file


def test_14_bus_file():
    grid = read_psse(DATA / "ieee14.raw")
    assert grid.size == 14 and len(grid.branches) == 20 and len(grid.sources) == 4
    tap = grid.branches.tap[-4:]
    np.testing.assert_allclose(tap, 0.99677)
    assert load_flow(grid).mismatch < 1e-10


def test_free_format():
    assert _fields(" 1,'A, B / C' , 2.5 3,,5 / comment") == ["1", "A, B / C", "2.5", "3", "", "5"]
    assert _fields("'only'") == ["only"] and _fields("") == [] and _fields("0 / END") == ["0"]


def test_a_line_of_zero_inside_a_transformer(tmp_path):
    text = TRANSFORMER.format(**{**PLAIN, "r": "0"}).replace(", 100\n", ", 100 / base\n")
    assert read(tmp_path, case(transformers=text)).size == 3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(head=HEAD.replace("33", "35")), DataError, "made.raw is .*version 35; .*32 and 33"),
        (dict(head=HEAD.replace("0, 100", "1, 100")), DataError, "IC is 1"),
        (dict(buses=BUSES.replace("20.0  1 ", "20.0  x ")), DataError, r"line 6: field 4 \(IDE\)"),
        (dict(buses=BUSES.replace("110.0, 2,", "110.0, ,")), GridError, r"bus 2 .*line 5\) has no"),
        (dict(buses=BUSES.replace("110.0, 2,", "110.0, 7,")), GridError, "bus 2 .*has the type 7"),
        (dict(buses=BUSES.replace(" 2,'B'", " 1,'B'")), GridError, "bus number 1 appears twice"),
        (dict(buses=BUSES.replace("110.0, 3", "110.0, 2")), GridError, "made has no slack bus"),
        (dict(loads=LOADS.replace("10.0, 0,0", "10.0, 3,0")), GridError,
         r"load at bus 30 \(made.raw, line 9\) has a constant-current part"),
        (dict(loads=LOADS.replace("30,'1'", "31,'1'")), GridError, "line 9 is at bus 31"),
        (dict(branches=BRANCHES.replace("0.01, 0.1,", "0, 0,")), GridError, r"1–2 \(.*zero imped"),
        (dict(branches=BRANCHES.replace("0.1,", "zz,")), DataError, r"field 5 \(X\) is 'zz'"),
        (dict(branches=BRANCHES.replace("-2", "5")), GridError, "at bus 5|ends at bus 5"),
        (dict(transformers=""), GridError, r"bus 30 \('C'\) is cut off"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(cw=4))), GridError, "2–30 .*CW = 4"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(cz=0))), GridError, "2–30 .*CZ = 0"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(cm=3, mag2=-1))), GridError,
         "2–30 .*CM = 3"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(windv1=0))), GridError,
         "2–30 .*turns ratio of 0"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(r=0, x=0))), GridError,
         r"branch 2–30 \(made.raw, line 20\) has zero impedance"),
        (dict(transformers=" 2,30,0,'1'\n"), DataError, "has 1 of its 4 lines"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, change, error, message):
    with pytest.raises(error, match=message):
        read(tmp_path, case(**change))


def test_a_file_cut_short(tmp_path):
    with pytest.raises(DataError, match="ends in its load data; the file is cut short"):
        read(tmp_path, HEAD + BUSES + "0 / end\n" + LOADS)
    with pytest.raises(DataError, match="does not begin with the three title lines"):
        read(tmp_path, "1\n")


def test_what_is_ignored_is_said(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pnde.grids")
    rest = "0 / end\n 1,1,0.1,5,400,0,0,0,'I',0,0\n 1\n 2\n" + "0 / end\n" * 9
    generators = GENERATORS.replace("1.01, 0, 100", "1.01, 30, 100").replace(" 2,'2'", " 30,'2'")
    text = case(generators=generators, rest=rest + " 30,1,0,1,1.1,0.9,0,100,'', 12.0, 1, 12.0\n")
    grid = read(tmp_path, text)
    assert "ignored its two-terminal DC data" in caplog.text
    assert "generator at bus 2 regulates bus 30" in caplog.text
    assert "generator at bus 30 is ignored" in caplog.text
    assert "1 switched shunts stay" in caplog.text
    assert grid.buses.shunt[2] == pytest.approx(0.06 + 0.17j)
    assert grid.buses.voltage[1] == 1.0
