"""The one door, and pandapower behind it."""

from pathlib import Path

import numpy as np
import pytest

from pnde.errors import DataError, GridError
from pnde.grids import from_pandapower, ieee14, load_flow, read_grid

DATA = Path(__file__).parent / "data"


def test_names_paths_and_grids():
    assert read_grid("ieee14").buses.voltage[7] == 1.0
    assert read_grid("ieee14-published").buses.voltage[7] == 0.1548724573182038
    assert read_grid(str(DATA / "ieee14.m")).size == 14
    assert read_grid(DATA / "ieee39.raw").size == 40
    grid = ieee14()
    assert read_grid(grid) is grid


def test_other_things_are_refused():
    with pytest.raises(DataError, match=r"'ieee41'.*did you mean 'ieee14'.*\.m, \.raw, \.json"):
        read_grid("ieee41")
    with pytest.raises(DataError, match=r"cannot read .*none\.raw: No such file"):
        read_grid("none.raw")
    with pytest.raises(DataError, match="cannot read a grid from int"):
        read_grid(14)


def test_pypower_case():
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    assert read_grid(pypower.case9()).size == 9


@pytest.fixture(scope="module")
def pandapower():
    module = pytest.importorskip("pandapower", reason="pandapower is not installed")
    pytest.importorskip("pandapower.networks", reason="pandapower is not installed")
    return module


@pytest.mark.parametrize("name", ["case14", "case_ieee30", "case39", "case57", "case118"])
def test_agrees_with_pandapower(pandapower, name):
    net = getattr(pandapower.networks, name)()
    grid = from_pandapower(net)
    pandapower.runpp(net, tolerance_mva=1e-10, init="flat", calculate_voltage_angles=True,
                     trafo_model="t", numba=False)  # fmt: skip
    inside = net["_ppc"]["internal"]["Ybus"]
    lookup = net["_pd2ppc_lookups"]["bus"][grid.buses.number]
    difference = inside.tocsr()[lookup][:, lookup] - grid.admittance()
    assert abs(difference).max() < 1e-8
    result = net.res_bus.loc[grid.buses.number]
    expected = result.vm_pu.to_numpy() * np.exp(1j * np.deg2rad(result.va_degree.to_numpy()))
    assert np.abs(load_flow(grid).voltage - expected).max() < 1e-8


def test_a_net_with_switches_and_three_windings(pandapower):
    """Fused buses keep the lowest index; the star of a three-winding transformer is a new bus."""
    net = pandapower.create_empty_network(name="built")
    high, joined, middle, low, off = (
        pandapower.create_bus(net, kv, name=name)
        for kv, name in [(110, "high"), (110, "joined"), (20, "middle"), (10, "low"), (10, "off")]
    )
    net.bus.loc[off, "in_service"] = False
    pandapower.create_ext_grid(net, high, vm_pu=1.01)
    pandapower.create_switch(net, high, joined, et="b")
    pandapower.create_transformer3w(net, joined, middle, low, "63/25/38 MVA 110/20/10 kV")
    pandapower.create_load(net, middle, 10.0, 2.0)
    pandapower.create_gen(net, low, 5.0, vm_pu=1.0)
    before = set(net.keys()), net.bus.copy()
    grid = read_grid(net)
    assert set(net.keys()) == before[0] and net.bus.equals(before[1])  # the net is left alone
    assert grid.name == "built"
    np.testing.assert_array_equal(grid.buses.number[:3], [high, middle, low])
    assert grid.buses.name[:3] == ("high", "middle", "low")
    assert grid.buses.kind == ("slack", "load", "source", "load")
    pandapower.runpp(net, tolerance_mva=1e-10, calculate_voltage_angles=True, numba=False)
    expected = net.res_bus.vm_pu.loc[[high, middle, low]]
    np.testing.assert_allclose(np.abs(load_flow(grid).voltage[:3]), expected, atol=1e-8)


def test_pandapower_file(pandapower, tmp_path):
    path = tmp_path / "nine.json"
    pandapower.to_json(pandapower.networks.case9(), str(path))
    assert read_grid(path).size == 9 and read_grid(path).name == "nine"
    with pytest.raises(DataError, match="no such file"):
        read_grid(tmp_path / "ten.json")
    path.write_text("{}")
    with pytest.raises(DataError, match="pandapower cannot"):
        read_grid(path)


def test_a_direction_dependent_impedance_is_refused(pandapower):
    net = pandapower.networks.case9()
    pandapower.create_impedance(
        net, 0, 1, rft_pu=0.01, xft_pu=0.1, rtf_pu=0.02, xtf_pu=0.1, sn_mva=9
    )
    with pytest.raises(
        GridError, match=r"impedance between buses 0 and 1 .*differs with its direc"
    ):
        from_pandapower(net)


def test_an_island_of_a_net_is_named(pandapower):
    net = pandapower.networks.case9()
    alone = pandapower.create_bus(net, 345, name="alone")
    pandapower.create_load(net, alone, 1.0)
    with pytest.raises(GridError, match=r"bus 9 \('alone'\) is cut off"):
        from_pandapower(net)
