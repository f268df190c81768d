"""PSS/E raw files: conventions against hand calculation and against a case solved by PSS/E."""

import logging

import numpy as np
import pytest
from raw_files import (
    BRANCHES,
    BUSES,
    DATA,
    GENERATORS,
    HEAD,
    LOADS,
    PLAIN,
    SHUNTS,
    TRANSFORMER,
    case,
    read,
    transformer,
)

from pnde.errors import DataError, GridError
from pnde.grids import load_flow, read_psse
from pnde.grids.psse.record import fields


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
        bus = fields(text)
        if bus[0] == "0":
            break
        stored[int(bus[0])] = float(bus[7]) * np.exp(1j * np.deg2rad(float(bus[8])))
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
    assert fields(" 1,'A, B / C' , 2.5 3,,5 / comment") == ["1", "A, B / C", "2.5", "3", "", "5"]
    assert fields('1,"A, / B","C\'s"') == ["1", "A, / B", "C's"]
    assert fields("'only'") == ["only"] and fields("") == [] and fields("0 / END") == ["0"]


def test_a_line_of_zero_inside_a_transformer(tmp_path):
    text = TRANSFORMER.format(**{**PLAIN, "r": "0"}).replace(", 100\n", ", 100 / base\n")
    assert read(tmp_path, case(transformers=text)).size == 3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(head=HEAD.replace("33", "36")), DataError, "made.raw is .*version '36'; .*29 to 35"),
        (dict(head=HEAD.replace("0, 100", "1, 100")), DataError, "IC is '1'"),
        (dict(buses=BUSES.replace("20.0  1 ", "20.0  x ")), DataError, r"line 6: field 4 \(IDE\)"),
        (dict(buses=BUSES.replace("110.0, 2,", "110.0, ,")), GridError, r"bus 2 .*line 5\) has no"),
        (dict(buses=BUSES.replace("110.0, 2,", "110.0, 7,")), GridError, "bus 2 .*has the type 7"),
        (dict(buses=BUSES.replace(" 2,'B'", " 1,'B'")), GridError, "bus number 1 appears twice"),
        (dict(buses=BUSES.replace("110.0, 3", "110.0, 2")), GridError, "made has no slack bus"),
        (dict(loads=LOADS.replace("40.0, 10.0", "4_0, 10.0")), DataError, r"\(PL\) is '4_0'"),
        (dict(buses=BUSES.replace(" 2,'B'", " 2.5,'B'")), DataError, r"\(I\) is 2.5; .*whole"),
        (dict(buses=BUSES.replace(" 2,'B'", " 0,'B'")), GridError, "the bus I has the number 0"),
        (dict(loads=LOADS.replace("30,'1'", "31,'1'")), GridError, "line 9 is at bus 31"),
        (dict(branches=BRANCHES.replace("0.1,", "zz,")), DataError, r"field 5 \(X\) is 'zz'"),
        (dict(branches=BRANCHES.replace("-2", "5")), GridError, "at bus 5|ends at bus 5"),
        (dict(transformers=""), GridError, r"bus 30 \('C'\) is cut off"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(cw=4))), GridError, "2–30 .*CW = 4"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(cz=0))), GridError, "2–30 .*CZ = 0"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(cm=3, mag2=-1))), GridError,
         "2–30 .*CM = 3"),
        (dict(transformers=TRANSFORMER.format(**PLAIN | dict(windv1=-1))), GridError,
         "2–30 .*turns ratio of -1"),
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
    for text in ("", "1\n", "Header\nHeader\n"):
        with pytest.raises(DataError, match=r"this is not the header of PSS/E raw data"):
            read(tmp_path, text)


def test_what_stays_as_the_file_has_it_is_said_once(tmp_path, caplog):
    generators = GENERATORS.replace("1.01, 0, 100", "1.01, 30, 100").replace(" 2,'2'", " 30,'2'")
    shunt = " 30,1,0,1,1.1,0.9,0,100,'', 12.0, 1, 12.0\n 1,0,0,1,1.1,0.9,0,100,'', 5.0, 1, 5.0\n"
    regulating = TRANSFORMER.format(**PLAIN).replace("30.0,0,0,0,0,0", "30.0,0,0,0,1,2")
    text = case(
        generators=generators, transformers=regulating, rest="0 / end\n" * 10 + shunt
    )  # fmt: skip
    grid = read(tmp_path, text)
    said = caplog.text
    assert "made.raw: 1 machines regulate another bus" in said
    assert "made.raw: 1 machines at buses of type 1 are ignored" in said
    assert "made.raw: 1 switched shunts stay at their initial" in said
    assert "made.raw: 1 windings of transformers that regulate stay" in said
    assert grid.buses.shunt[2] == pytest.approx(0.06 + 0.17j)
    assert grid.buses.voltage[1] == 1.0


# The same grid in every version: fixed shunts with the buses up to 30, switched shunts elsewhere and
# with other fields, names of branches, rates, switches, settings of the system.
def of_version(version):
    rates = "0," * (12 if version >= 34 else 3)
    shunts = "0.0,19.0," if version <= 30 else ""
    buses = (
        f"1,'A',110.0,3,{shunts.replace('19', '0')}1,1,{'' if version <= 30 else '1,'}1.02,0.0\n"
        f"2,'B',110.0,2,{shunts.replace('19', '0')}1,1,{'' if version <= 30 else '1,'}1.0,0.0\n"
        f"3,'C',110.0,1,{shunts}1,1,{'' if version <= 30 else '1,'}1.0,0.0\n"
    )
    loads = "3,'1',1,1,1,60.0,20.0,0,0,0,0,1\n"
    node, base = ("0,", "0,") if version >= 35 else ("", "")
    machines = "".join(
        f"{n},'1',{p},0,300,-300,{v},0,{node}100,0,1,0,0,1,1,100,250,0,{base}1,1\n"
        for n, p, v in ((1, 0, 1.02), (2, 40, 1.01))
    )
    name = "'a line'," if version >= 34 else ""
    met = "" if version <= 30 else "1,"
    branches = "".join(
        f"{i},{j},'1',0.01,0.1,0.02,{name}{rates}0,0,0,0,1,{met}0,1,1\n"
        for i, j in ((1, 2), (2, 3))
    )
    switches = "1,3,'1',0.1," + 12 * "0," + "1,1,1,2,'switch'\n"
    plain = "1,3,'1',0,0.1,0," + name + rates + "0,0,0,0,1\n"
    control = "0,0," + node + "1.1,0.9,1.1,0.9,33,0,0,0,0"
    transformer = (
        f"1,3,0,'1',1,1,1,0,0,2,'T',1,1,1\n0.002,0.05,100\n1.02,0,30,{rates}{control}\n1,0\n"
    )
    switched = {
        29: "3,1,1.1,0.9,0,'',7.0,1,7.0\n", 30: "3,1,1.1,0.9,0,100,'',7.0,1,7.0\n",
        31: "3,1,1.1,0.9,0,100,'',7.0,1,7.0\n", 35: "3,'1',1,0,1,1.1,0.9,0,0,100,'',7.0,1,1,7.0\n",
    }.get(version, "3,1,0,1,1.1,0.9,0,100,'',7.0,1,7.0\n")  # fmt: skip
    fixed = ["3,'1',1,0.0,19.0\n"] if version > 30 else []
    devices = [switches] if version >= 34 else []
    branches += "" if version >= 34 else plain
    dc = ["", "", ""]  # areas, two-terminal lines, converters
    if version <= 30:
        rest = [*dc, switched, "1,0.9,1.1,1.1,0.9\n", *6 * [""]]
    else:
        rest = [*dc, "1,0.9,1.1,1.1,0.9\n", *6 * [""], switched]
    head = f"0,100.0,{version},0,0,50.0\none\ntwo\n"
    if version >= 34:
        head = f'@!IC,SBASE\n{head}GENERAL, THRSHZ=0.0002\nRATING, 1, "R", "r"\n0 / END OF SYSTEM-WIDE DATA\n'
    sections = [buses, loads, *fixed, machines, branches, *devices, transformer, *rest]
    return head, sections


@pytest.mark.parametrize("version", range(29, 36))
def test_every_version_describes_the_same_grid(tmp_path, version):
    head, sections = of_version(version)
    text = head + "".join(f"@! a heading\n{section}0 / end\n" for section in sections) + "Q\n"
    grid, bus = read(tmp_path, text), None
    bus = grid.buses
    np.testing.assert_array_equal(bus.number, [1, 2, 3])
    assert bus.kind == ("slack", "source", "load") and bus.name == ("A", "B", "C")
    np.testing.assert_allclose(bus.active, [np.nan, 0.4, -0.6])
    np.testing.assert_allclose(bus.voltage, [1.02, 1.01, np.nan])
    np.testing.assert_allclose(bus.shunt, [0, 0, 0.26j], atol=1e-15)
    np.testing.assert_allclose(bus.stored, [1.02, 1.0, 1.0])
    np.testing.assert_allclose(np.stack([bus.reactive_min, bus.reactive_max])[:, 1], [-3, 3])
    line = grid.branches
    np.testing.assert_allclose(1 / line.admittance, [0.01 + 0.1j] * 2 + [0.1j, 0.002 + 0.05j])
    np.testing.assert_allclose(line.tap, [1, 1, 1, 1.02])
    np.testing.assert_allclose(np.rad2deg(line.shift), [0, 0, 0, 30])


def test_versions_without_a_number(tmp_path, caplog):
    """From the comment of the header, else from the sections and the fields of a bus."""
    for version in range(29, 36):
        head, sections = of_version(version)
        body = "".join(f"{section}0 / end\n" for section in sections)
        plain = read(tmp_path, head + body)
        first = f"0,100.0,{version},0,0,50.0"
        for stamp in ("PSS/E-{}.3 MON", "PSS(R)E {} RAW created by rawd", "PSS(tm)E-{} RAW"):
            named = read(tmp_path, head.replace(first, f"0,100.0 / {stamp.format(version)}") + body)
            assert abs(named.admittance() - plain.admittance()).max() == 0
    head, sections = of_version(30)
    names = ["BUS", "LOAD", "GENERATOR", "BRANCH", "TRANSFORMER", "AREA"]
    body = "".join(
        f"{section}0 / END OF {a} DATA, BEGIN {b} DATA\n"
        for section, a, b in zip(sections, names, names[1:], strict=False)
    )
    guessed = read(tmp_path, "0,100.0\none\ntwo\n" + body)
    assert "names no version (REV); it reads as version 30" in caplog.text
    assert guessed.buses.shunt[2] == pytest.approx(0.19j)
    with pytest.raises(DataError, match="names no version"):
        read(tmp_path, "0,100.0\none\ntwo\n" + BUSES + "0\n")


@pytest.mark.parametrize("titles", ["", "a title\n", "'3',title, 1, 2\n\n"])
def test_titles_may_be_missing(tmp_path, titles):
    grid = read(tmp_path, case(head="0, 100.0, 33, 0, 1, 60.0\n" + titles))
    np.testing.assert_array_equal(grid.buses.number, [1, 2, 30])


def test_sections_are_known_by_what_ends_them(tmp_path):
    """A file that says which section begins may leave some out, or have them in another order."""
    plain = read(tmp_path, case())
    moved = (
        HEAD + BUSES + "0 / END OF BUS DATA, BEGIN GENERATOR DATA\n" + GENERATORS
        + "0 /End of Generator data, Begin Fixed Bus Shunt data\n" + SHUNTS
        + "0 / END OF X, BEGIN NON-TRANSFORMER BRANCH DATA\n" + BRANCHES
        + "0 / END OF X, BEGIN LOAD DATA\n" + LOADS
        + "0 / END OF X, BEGIN TRANSFORMER DATA\n" + TRANSFORMER.format(**PLAIN) + "0\nQ\n"
    )  # fmt: skip
    grid = read(tmp_path, moved)
    assert abs(grid.admittance() - plain.admittance()).max() < 1e-15
    np.testing.assert_array_equal(grid.buses.active, plain.buses.active)


def test_loads_of_three_parts(tmp_path):
    """Constant power, current and admittance; the generation behind a load is taken off it."""
    loads = " 30,'1',1,1,1, 40.0, 10.0, 8,2, 5.0,-3.0, 1,1,0, 4.0, 1.0, 1\n"
    bus = read(tmp_path, case(loads=loads)).buses
    assert bus.active[2] + 1j * bus.reactive[2] == pytest.approx(-(36 + 9j) / 100)
    assert bus.current[2] == pytest.approx(-(8 + 2j) / 100)
    assert bus.shunt[2] == pytest.approx((1 + 8j + 5 - 3j) / 100)
    flow = load_flow(read(tmp_path, case(loads=loads)))
    v = abs(flow.voltage[2])
    # What the bus injects: the constant power and the current's, its shunts being in Y.
    assert flow.power[2] == pytest.approx(-(36 + 9j) / 100 - v * (8 + 2j) / 100)


def test_branches_without_impedance_join_their_buses(tmp_path, caplog):
    caplog.set_level(logging.INFO, "pnde.grids")
    more = " 30,5,'1', 0, 0.0001, 0.02\n 5,2,'1', 0.01, 0.1, 0\n"
    grid = read(
        tmp_path,
        case(
            buses=BUSES + " 5,'E', 20.0, 1, 1, 1, 1, 1.0, 0.0\n",
            loads=LOADS + " 5,'1',1,1,1, 7.0, 1.0\n",
            branches=BRANCHES + more,
        ),
    )
    np.testing.assert_array_equal(grid.buses.number, [1, 2, 30])
    assert grid.buses.active[2] == pytest.approx(-0.47)
    assert grid.buses.shunt[2] == pytest.approx(0.06 + 0.05j + 0.02j)
    assert grid.branches.end[1] == 1 and grid.branches.start[1] == 2
    assert "no impedance joins the buses 5 to 30" in caplog.text
    with pytest.raises(
        GridError, match=r"transformer of made\.raw, line 21 lies across buses 2 and 30"
    ):
        read(
            tmp_path,
            case(branches=BRANCHES + " 2,30,'1',0,0\n"),
        )
