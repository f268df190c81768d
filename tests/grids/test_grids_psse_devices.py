"""PSS/E raw data: three windings, tables of impedances, DC lines, FACTS and what takes power."""

import numpy as np
import pytest
from raw_files import BUSES, GENERATORS, PLAIN, TRANSFORMER, case, read

from pnde.errors import DataError, GridError
from pnde.grids import load_flow

THREE = """ 1,2,30,'1',1,1,1, 0.0, 0.0, 2,'T',{status}
 {z}, 1.0, 0.0
 1.0, 0, 0.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
 1.0, 0, 0.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
 1.0, 0, 0.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,0
"""


def test_a_leg_without_impedance_gets_the_threshold(tmp_path, caplog):
    text = THREE.format(status=1, z="0,0.1,100,0,0.1,100,0,0.2,100")
    grid = read(tmp_path, case(transformers=text))
    z = 1 / grid.branches.admittance[1:]
    np.testing.assert_allclose(z, [0.1j, 1e-4j, 0.1j], atol=1e-12)
    assert "1 windings of three-winding transformers have no impedance in the star" in caplog.text
    load_flow(grid)


def test_a_star_at_a_bus_out_of_service(tmp_path):
    """The star is there while two windings carry current, and is never cut off by itself."""
    text = THREE.format(status=1, z="0,0.1,100,0,0.2,100,0,0.2,100")
    isolated = BUSES.replace("1  1 1 1 1.0 0.0", "4  1 1 1 1.0 0.0")
    grid = read(tmp_path, case(buses=isolated, transformers=text))
    np.testing.assert_array_equal(grid.buses.number, [1, 2, 31])
    isolated = isolated.replace("110.0, 2,", "110.0, 4,")
    grid = read(tmp_path, case(buses=isolated, transformers=text))
    np.testing.assert_array_equal(grid.buses.number, [1])


def test_impedances_corrected_by_tables(tmp_path):
    """Factors between the points of a table: over the ratio, or over the angle."""
    tables = " 1, 0.9, 1.2, 1.0, 1.0, 1.1, 0.8\n 2, -30, 1.5, 30, 0.5\n"
    rest = "0 / end\n" * 3 + tables  # after areas, two-terminal and converter lines
    for number, expected in ((1, 1.04), (2, 0.5), (3, 1.0)):
        text = TRANSFORMER.format(**PLAIN).replace("33,0", f"33,{number}")
        grid = read(tmp_path, case(transformers=text, rest=rest))
        assert 1 / grid.branches.admittance[-1] == pytest.approx(expected * (0.002 + 0.08j))
    head, sections = of_version(35)
    sections[6] = sections[6].replace("33,0,0,0,0", "33,1,0,0,0")
    six = "".join(f"{0.8 + 0.02 * k:.2f},1.0,0.0," for k in range(6))
    sections[10] = (
        f"1,{six}\n0.98,1.0,0.0,1.00,1.0,0.0,1.04,3.0,0.4,0,0,0\n2,0.9,1,0,1.1,1,0,0,0,0\n"
    )
    grid = read(tmp_path, head + "".join(f"{section}0 / end\n" for section in sections))
    factor = 1 / grid.branches.admittance[-1] / (0.002 + 0.05j)
    assert factor == pytest.approx(2 + 0.2j)  # halfway between 1.00 and 1.04


def test_a_dc_line_draws_what_the_300_bus_case_says(tmp_path):
    """The line of the IEEE 300-bus case, at its solved voltages: P and Q at its inverter (bus 120)."""
    buses = (
        BUSES.replace("110.0, 2, 1, 1, 1, 1.0, 0.0", "115.0, 2, 1, 1, 1, 1.0435, 0.0")
        .replace("20.0  1  1 1 1 1.0 0.0", "115.0 1 1 1 1 0.99819 0.0")
    )  # fmt: skip
    line = (
        "'1',1,6.2,-100.0,460.0,300.0,0.0,0.1,I\n"
        "2,4,20.0,15.0,0,6.8,115.0,0.7478,0.99365,1.5,0.51,0.00625\n"
        "30,4,18.0,20.0,0,6.8,115.0,0.7478,0.935,1.5,0.51,0.00625\n"
    )
    plain = read(tmp_path, case(buses=buses))
    grid = read(tmp_path, case(buses=buses, rest="0 / end\n" + line))
    change = grid.buses.active - plain.buses.active
    current = 100 / 460
    np.testing.assert_allclose(change[1:], [-(460 + 6.2 * current) * current / 100, 1.0])
    np.testing.assert_allclose(grid.buses.reactive[2] - plain.buses.reactive[2], -0.4025, atol=1e-4)
    blocked = read(tmp_path, case(buses=buses, rest="0 / end\n" + line.replace("'1',1", "'1',0")))
    np.testing.assert_array_equal(blocked.buses.active, plain.buses.active)


def test_vsc_lines_and_facts_devices(tmp_path, caplog):
    """One converter sets its power, the other the balance; losses in kW, resistance in ohms."""
    line = (
        "'V',1,2.0,1,1\n"
        "30,2,2,-20.0,0.8,100.0,0.0,0.0,400,1200,0.1,100,-110,0,100\n"
        "2,1,1,100.0,0.99,0.0,0.5,0.0,400,1200,0.1,15,-14,0,100\n"
    )
    rest = "0 / end\n" * 2 + line + "0 / end\n" * 7 + "'F',30,0,1,0,0,1.01,25\n'G',30,1,0,0,0,1,1\n"
    grid, plain = read(tmp_path, case(rest=rest)), read(tmp_path, case())
    change = grid.buses.active - plain.buses.active
    # 20 MW from the grid, less 0.1 MW: -19.9 MW = (100 - 2 I) I; then I² R and 0.5 kW/A are lost.
    current = -(-100 + np.sqrt(100**2 + 8 * 19.9)) / 4
    given = -100 * current - 0.5 * abs(current)
    np.testing.assert_allclose(change[1:], [given / 100, -0.2], atol=1e-12)
    # The power factor of 0.8 gives the first one reactive power of the sign of its power.
    assert grid.buses.kind == ("slack", "source", "source")
    assert grid.buses.voltage[1] == 1.01 and grid.buses.voltage[2] == 1.01
    np.testing.assert_allclose(grid.buses.reactive_max[2], 0.25 + (-10 - 15) / 100, atol=1e-15)
    assert "1 FACTS devices are sources of reactive power" in caplog.text
    load_flow(grid)


@pytest.mark.parametrize(
    ("section", "lines", "message"),
    [
        (3, "'V',1,2.0\n30,2,1,-20,1\n2,2,1,20,1\n", "converters of type 2 and 2"),
        (2, "'V',1,6.2,100,0\n2,1,1,1,0,1,1\n30,1,1,1,0,1,1\n", "VSCHD = 0 kV"),
        (2, "'V',1,6.2,100,460\n2,1,1,1,0,1,1\n", "has 2 of its 3 lines"),
        (2, "'V',1,6.2,100,460\n2,0,1,1,0,1,1\n30,1,1,1,0,1,1\n", "NB = 0"),
        (5, "'M',1,0,0,1\n 2\n", "multi-terminal DC line of .* is in service"),
        (10, "'F',30,2,1,0,0,1,25\n", r"FACTS device of .* has a series element"),
        (12, "'G','model',1,30,0,0,0\n", r"generic network element \(GNE\)"),
        (13, "30,'1',1,1\n", "induction machine of .* is in service"),
    ],
)
def test_what_takes_power_and_is_not_modelled_is_refused(tmp_path, section, lines, message):
    rest = "0 / end\n" * (section - 1) + lines
    with pytest.raises((GridError, DataError), match=message) as caught:
        read(tmp_path, case(rest=rest))
    assert "made.raw, line" in str(caught.value) and len(str(caught.value)) <= 300


def test_machines_of_a_fixed_power_factor(tmp_path):
    """WMOD 3 is an injection, WMOD 2 a machine within what its power factor allows."""
    machine = " 30,'1', 10.0, 0, 50, -50, 1.0, 0, 100, 0,1,0,0,1,1,100,20,0,1,1,0,1,0,1,0,1,{},{}\n"
    buses = BUSES.replace("20.0  1  1 1 1", "20.0  2  1 1 1")
    text = GENERATORS + machine.format(3, -0.8)
    grid = read(tmp_path, case(buses=buses, generators=text))
    assert grid.buses.kind[2] == "load"
    assert grid.buses.active[2] + 1j * grid.buses.reactive[2] == pytest.approx(-0.3 - 0.175j)
    grid = read(tmp_path, case(buses=buses, generators=GENERATORS + machine.format(2, 0.8)))
    assert grid.buses.kind[2] == "source"
    np.testing.assert_allclose(
        [grid.buses.reactive_min[2], grid.buses.reactive_max[2]], [-0.175, -0.025]
    )
