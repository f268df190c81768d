"""pandapower nets: the same voltages as pandapower's own load flow, and files as tables only."""

import json
import sys

import numpy as np
import pytest

from pnde.errors import DataError, GridError
from pnde.grids import from_pandapower, load_flow, read_grid


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


def ring(pandapower):
    """Five buses, a generator with limits, two loads."""
    net = pandapower.create_empty_network(name="ring", sn_mva=100)
    for _ in range(5):
        pandapower.create_bus(net, 110.0)
    pandapower.create_ext_grid(net, 0, vm_pu=1.02)
    for a, b in ((0, 1), (1, 2), (2, 3), (0, 3), (3, 4)):
        pandapower.create_line_from_parameters(net, a, b, 20, 0.06, 0.14, 260, 0.6)
    pandapower.create_load(net, 2, 30, 10)
    pandapower.create_load(net, 3, 15, 5)
    pandapower.create_gen(
        net, 1, 20, vm_pu=1.01, min_q_mvar=-5, max_q_mvar=5, sn_mva=30, slack_weight=0
    )
    return net


def parts(net, row=0):
    columns = ["const_z_p_percent", "const_i_p_percent", "const_z_q_percent", "const_i_q_percent"]
    net.load.loc[row, columns] = [30.0, 20.0, 50.0, 10.0]


ELEMENTS = {
    "constant power": lambda pp, net: None,
    "three parts": lambda pp, net: parts(net),
    "sgen": lambda pp, net: pp.create_sgen(net, 3, 5, 2, scaling=0.5),
    "sgen beyond its limits": lambda pp, net: pp.create_sgen(net, 3, 5, 2, max_q_mvar=1),
    "motor": lambda pp, net: pp.create_motor(
        net, 4, 2, 0.85, efficiency_percent=95, loading_percent=80
    ),
    "storage": lambda pp, net: pp.create_storage(net, 4, 3, 10, q_mvar=1),
    "ward": lambda pp, net: pp.create_ward(net, 4, 1, 2, 3, 4),
    "xward": lambda pp, net: pp.create_xward(net, 4, 1, 2, 3, 4, 1.0, 10.0, 1.01),
    "shunt in steps": lambda pp, net: pp.create_shunt(net, 4, -10, 1, vn_kv=100, step=2),
    "impedance": lambda pp, net: pp.create_impedance(net, 2, 4, 0.01, 0.05, 100, gf_pu=0.01),
    "DC line": lambda pp, net: pp.create_dcline(net, 2, 4, 10, 1.0, 0.2, 1.01, 1.0),
    "DC line backwards": lambda pp, net: pp.create_dcline(net, 2, 4, -10, 1.0, 0.2, 1.0, 1.0),
    "SVC": lambda pp, net: pp.create_svc(net, 4, 10.0, -80.0, 1.0, 145.0),
    "fixed SVC": lambda pp, net: pp.create_svc(net, 4, 10.0, -80.0, 1.0, 145.0, controllable=False),
    "SSC": lambda pp, net: pp.create_ssc(net, 4, 0.0, 12.0, 1.0),
    "open line": lambda pp, net: pp.create_switch(net, 0, 3, "l", closed=False),
    "asymmetric load": lambda pp, net: pp.create_asymmetric_load(net, 4, 1, 2, 3, 0.1, 0.2, 0.3),
    "second slack": lambda pp, net: pp.create_ext_grid(net, 4, vm_pu=1.0, va_degree=-2.0),
    "bus with nothing": lambda pp, net: pp.create_bus(net, 110.0),
    "constant power asked for": lambda pp, net: (
        parts(net),
        pp.set_user_pf_options(net, voltage_depend_loads=False),
    ),
    "warm lines": lambda pp, net: (
        net.line.__setitem__("temperature_degree_celsius", 60.0),
        pp.set_user_pf_options(net, consider_line_temperature=True),
    ),
    "limited sgen": lambda pp, net: (
        pp.create_sgen(net, 3, 5, 2, max_q_mvar=1),
        pp.set_user_pf_options(net, enforce_q_lims=True),
    ),
    "transformer": lambda pp, net: with_transformer(pp, net),
    "transformer as pi": lambda pp, net: with_transformer(pp, net, trafo_model="pi"),
    "without shifts": lambda pp, net: with_transformer(pp, net, calculate_voltage_angles=False),
}


def with_transformer(pp, net, **options):
    pp.create_bus(net, 20.0)
    pp.create_transformer(net, 4, 5, "25 MVA 110/20 kV", tap_pos=3)
    pp.create_load(net, 5, 5, 1)
    pp.set_user_pf_options(net, **options)


@pytest.mark.parametrize("element", ELEMENTS)
def test_every_element_agrees_with_pandapower(pandapower, element):
    net = ring(pandapower)
    ELEMENTS[element](pandapower, net)
    before = {key: table.copy() for key, table in net.items() if hasattr(table, "columns")}
    grid = from_pandapower(net)
    for key, table in before.items():
        assert net[key].equals(table), key  # the net is left alone
    limited = bool(net.user_pf_options.get("enforce_q_lims"))
    voltage = load_flow(grid, reactive_limits=limited).voltage
    pandapower.runpp(net, numba=False, tolerance_mva=1e-9, max_iteration=100)
    known = [int(n) for n in grid.buses.number if n in net.bus.index]
    result = net.res_bus.loc[known]
    expected = result.vm_pu.to_numpy() * np.exp(1j * np.deg2rad(result.va_degree.to_numpy()))
    assert np.abs(voltage[[grid.index(n) for n in known]] - expected).max() < 1e-8


def test_ratings_limits_and_stored_voltages(pandapower):
    net = ring(pandapower)
    grid = from_pandapower(net)
    np.testing.assert_allclose(grid.buses.rating, [np.nan, 0.3, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(grid.buses.reactive_max, [np.nan, 0.05, np.nan, np.nan, np.nan])
    assert np.isnan(grid.buses.stored[1:]).all()
    pandapower.runpp(net, numba=False, tolerance_mva=1e-9)
    flow = load_flow(from_pandapower(net))
    assert flow.start == "stored" and flow.iterations <= 1


def test_each_load_has_its_own_parts(pandapower):
    """Two loads at a bus: what is drawn is the sum, not the mean of their percentages."""
    net = ring(pandapower)
    parts(net)
    pandapower.create_load(net, 2, 4, 2, const_i_p_percent=100, const_i_q_percent=100, scaling=0.5)
    bus = from_pandapower(net).buses
    assert bus.active[2] + 1j * bus.reactive[2] == pytest.approx(-(15 + 4j) / 100)
    assert bus.current[2] == pytest.approx(-(6 + 2 + 1j + 1j) / 100)
    assert bus.shunt[2] == pytest.approx((9 - 5j) / 100)
    net.load.loc[0, "const_z_p_percent"] = 90.0
    with pytest.raises(GridError, match="ring: the load 0 draws more than 100 %"):
        from_pandapower(net)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pp, net: pp.create_tcsc(net, 2, 4, 5.0, -10.0, -5.0, 144.0), "ring has the TCSC 0"),
        (lambda pp, net: pp.create_ssc(net, 4, 1.0, 12.0, 1.0), "ring has the SSC 0 .*with losses"),
        (lambda pp, net: pp.set_user_pf_options(net, distributed_slack=True), "distributed_slack"),
        (lambda pp, net: pp.set_user_pf_options(net, trafo3w_losses="star"), "trafo3w_losses"),
        (lambda pp, net: net.load.__setitem__("bus", 77), "the load 0 stands at bus '77'"),
        (lambda pp, net: net.line.__setitem__("to_bus", -1), r"the line 0 .*'-1' \(to_bus\)"),
        (lambda pp, net: pp.create_bus(net, 110.0, index=10**9), "create_continuous_bus_index"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(pandapower, change, message):
    net = ring(pandapower)
    change(pandapower, net)
    with pytest.raises(GridError, match=message) as caught:
        from_pandapower(net)
    assert len(str(caught.value)) <= 300


def test_what_stays_as_it_is_is_said(pandapower, caplog):
    from pandapower.control import DiscreteTapControl

    net = ring(pandapower)
    with_transformer(pandapower, net, made_up=1)
    DiscreteTapControl(net, 0, 0.99, 1.01)
    pandapower.create_asymmetric_load(net, 4, 1, 2, 3, 0.1, 0.2, 0.3)
    from_pandapower(net)
    assert "ring: 1 controllers are left out" in caplog.text
    assert "ring: its 1 asymmetric loads count" in caplog.text
    assert "ignored the stored options made_up" in caplog.text


# Files


def json_of(pandapower, net, tmp_path, name="ring.json"):
    path = tmp_path / name
    pandapower.to_json(net, str(path))
    return path


def same(one, two):
    for key in ("number", "active", "reactive", "voltage", "shunt", "current"):
        np.testing.assert_array_equal(getattr(one.buses, key), getattr(two.buses, key))
    assert one.buses.kind == two.buses.kind and one.buses.name == two.buses.name
    assert abs(one.admittance() - two.admittance()).max() == 0
    assert one.base_mva == two.base_mva


@pytest.mark.parametrize("suffix", [".json", ".xlsx"])
def test_a_file_is_the_net(pandapower, tmp_path, suffix):
    net = ring(pandapower)
    with_transformer(pandapower, net, trafo_model="pi")
    parts(net)
    if suffix == ".json":
        path = json_of(pandapower, net, tmp_path)
    else:
        pytest.importorskip("xlsxwriter", reason="pandapower's to_excel needs it")
        path = tmp_path / "ring.xlsx"
        pandapower.to_excel(net, str(path))
    same(read_grid(path), from_pandapower(net))


def test_files_of_older_versions_are_brought_up_to_date(pandapower, tmp_path):
    """The package's own cases are stored in formats of several versions."""
    from pathlib import Path

    folder = Path(pandapower.networks.__file__).parent / "power_system_test_case_jsons"
    for name in ("case9", "iceland"):
        net = pandapower.from_json(str(folder / f"{name}.json"))
        same(read_grid(folder / f"{name}.json"), from_pandapower(net))


def changed(path, change):
    content = json.loads(path.read_text())
    change(content["_object"])
    path.write_text(json.dumps(content))
    return path


def named(module, name, value="x", **more):
    return {"_module": module, "_class": name, "_object": value, **more}


@pytest.fixture
def tripwire(tmp_path, monkeypatch):
    """A module whose import leaves a mark, as its function would."""
    mark = tmp_path / "mark"
    (tmp_path / "tripwire.py").write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\n\ndef run(*a, **k):\n    return 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield mark
    sys.modules.pop("tripwire", None)


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.update(bus=named("tripwire", "run", "touch")),
        lambda net: net.update(extra=named("tripwire", "run", "touch")),
        lambda net: net.update(extra=named("tripwire", "function", "run")),
        lambda net: net.update(extra=named("os", "system", "touch")),
        lambda net: net.update(name=named("builtins", "eval", "1")),
        lambda net: net.update(sn_mva=named("subprocess", "getoutput", "true")),
        lambda net: net.update(load=named("pandas", "read_pickle", "/tmp/x")),
    ],
)
def test_a_file_that_names_another_function_runs_nothing(pandapower, tmp_path, tripwire, change):
    path = changed(json_of(pandapower, ring(pandapower), tmp_path), change)
    with pytest.raises(DataError, match="takes tables only and calls nothing"):
        read_grid(path)
    assert not tripwire.exists() and "tripwire" not in sys.modules


@pytest.mark.parametrize(
    "cell",
    [
        named("tripwire", "run", "touch"),
        json.dumps(named("tripwire", "run", "touch")),
        named("tripwire", "function", "run"),
    ],
)
def test_objects_in_cells_are_left_where_they_are(pandapower, tmp_path, tripwire, caplog, cell):
    """Where pandapower has controllers, a cell may name any class: it is counted, and not made."""
    net = ring(pandapower)
    path = json_of(pandapower, net, tmp_path)

    def change(tables):
        frame = {"columns": ["object", "in_service"], "index": [0], "data": [[cell, True]]}
        tables["controller"] = named("pandas.core.frame", "DataFrame", json.dumps(frame))
        bus = json.loads(tables["bus"]["_object"])
        bus["data"][0][0] = cell
        tables["bus"]["_object"] = json.dumps(bus)

    grid = read_grid(changed(path, change))
    np.testing.assert_array_equal(grid.buses.active, from_pandapower(net).buses.active)
    assert not tripwire.exists() and "tripwire" not in sys.modules
    assert "1 controllers are left out" in caplog.text


def test_a_table_is_never_read_from_another_file(pandapower, tmp_path):
    """pandapower takes a table's text for a path where it looks like one."""
    net = ring(pandapower)
    path = json_of(pandapower, net, tmp_path)
    other = tmp_path / "table.json"
    other.write_text(json.loads(path.read_text())["_object"]["load"]["_object"])
    changed(path, lambda tables: tables["load"].update(_object=str(other)))
    with pytest.raises(DataError, match="table 'load' is no JSON"):
        read_grid(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda net: net.pop("bus"), "holds no pandapower net"),
        (lambda net: net.update(sn_mva="100"), "sn_mva is '100'; write a positive number"),
        (lambda net: net.update(sn_mva=-1), "sn_mva is '-1'"),
        (lambda net: net["load"].update(_object="{"), "table 'load' is no JSON"),
        (lambda net: net["load"].update(_object='{"columns": ["a"], "index": [0, 1], "data": [[1]]}'),
         "table 'load' is damaged"),
        (lambda net: net["bus"].update(_object=net["bus"]["_object"].replace("[0,1,", "[1,1,")),
         "has the row '1' twice"),
        (lambda net: net["load"].update(_object=net["load"]["_object"].replace("30.0", '"much"')),
         "column 'p_mw' is not of numbers"),
    ],
)  # fmt: skip
def test_damaged_files_are_one_sentence(pandapower, tmp_path, change, message):
    path = changed(json_of(pandapower, ring(pandapower), tmp_path), change)
    with pytest.raises(DataError, match=message) as caught:
        read_grid(path)
    assert len(str(caught.value)) <= 300


def test_a_data_set_holds_tables_of_a_grid_never_a_path(pandapower, tmp_path):
    """The attributes of a data file are a file's contents."""
    import xarray as xr

    from pnde.systems.of_data import system_of

    path = json_of(pandapower, ring(pandapower), tmp_path)
    for value in (
        str(path),
        [str(path)],
        {"path": str(path)},
        {"buses": str(path), "branches": {}},
    ):
        ds = xr.Dataset(
            {"u": (("trajectory", "time", "state"), np.zeros((1, 2, 2)))},
            attrs={"system": "grid", "parameters": json.dumps({"grid": value})},
        )
        with pytest.raises(DataError):
            system_of(ds)
