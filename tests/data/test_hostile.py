"""Files that are cut, foreign, endless or far too large: one sentence, and nothing else."""

import gzip
import json
import os
import zipfile

import h5py
import numpy as np
import pytest
import xarray as xr

from pnde import open_data
from pnde.data import make_dataset, save_data
from pnde.errors import DataError, RunError
from pnde.systems import pendulum, quartic, system_of


def refused(source, message, **settings):
    """Assert that a source is refused by one short line that says so."""
    with pytest.raises(DataError, match=message) as caught:
        open_data(source, **settings)
    assert len(str(caught.value)) <= 300
    assert "\n" not in str(caught.value)


@pytest.fixture
def data():
    return make_dataset(
        np.random.default_rng(0).standard_normal((4, 9, 2)), np.arange(9.0), ["x", "v"]
    )


def test_netcdf_3_cut_short(tmp_path, data):
    ds = xr.Dataset(
        {"x": (("time", "trajectory"), data["u"].values[..., 0].T)}, {"time": np.arange(9.0)}
    )
    ds.to_netcdf(tmp_path / "a.nc", engine="scipy", unlimited_dims=["time"])
    ds.to_netcdf(tmp_path / "b.nc", engine="scipy")
    for name in ("a.nc", "b.nc"):
        whole = (tmp_path / name).read_bytes()
        assert open_data(tmp_path / name).sizes["time"] == 9
        for length in range(4, len(whole) - 1, 7):
            (tmp_path / "cut.nc").write_bytes(whole[:length])
            refused(tmp_path / "cut.nc", "cut.nc: ")


def test_netcdf_4_cut_short(tmp_path, data):
    whole = save_data(data, tmp_path / "a.nc").read_bytes()
    # The last 77 bytes are the checksum: without them, the data are still whole.
    for length in range(4, len(whole) - 78, 97):
        (tmp_path / "cut.nc").write_bytes(whole[:length])
        refused(tmp_path / "cut.nc", "cut.nc: ")


def test_a_bit_that_a_disk_has_changed_is_noticed(tmp_path, data):
    content = bytearray(save_data(data, tmp_path / "a.nc").read_bytes())
    content[content.find(data["u"].values.tobytes()) + 20] ^= 1
    (tmp_path / "a.nc").write_bytes(content)
    refused(tmp_path / "a.nc", "has changed since it was written")
    # Without the checksum of the file, HDF5 still knows that of the block.
    (tmp_path / "a.nc").write_bytes(content[:-77])
    refused(tmp_path / "a.nc", "cannot be read")


@pytest.mark.parametrize("attribute", ["scale_factor", "add_offset", "_FillValue", "units"])
@pytest.mark.parametrize("value", ["two", np.array([1.0, 2.0]), b"\xff\xfe", 1e999])
def test_foreign_attributes_of_variables(tmp_path, attribute, value):
    """Whatever stands there, the result is a sentence or numbers."""
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file["time"] = np.arange(3.0)
        file["time"].make_scale("time")
        file["x"] = np.arange(3.0)
        file["x"].dims[0].attach_scale(file["time"])
        for name in ("x", "time"):
            file[name].attrs[attribute] = value
    try:
        assert open_data(tmp_path / "a.nc").sizes["state"] == 1
    except DataError as error:
        assert len(str(error)) <= 300


def test_a_scale_factor_is_applied(tmp_path):
    ds = xr.Dataset({"x": ("time", [1.5, 2.0, np.nan])}, {"time": [0.0, 1.0, 2.0]})
    encoding = {"x": {"dtype": "int16", "scale_factor": 0.5, "_FillValue": -9}}
    ds.to_netcdf(tmp_path / "a.nc", engine="scipy", encoding=encoding)
    np.testing.assert_array_equal(
        open_data(tmp_path / "a.nc")["u"].values[0, :, 0], [1.5, 2.0, np.nan]
    )


def test_devices_pipes_and_folders(tmp_path):
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    refused(tmp_path / "zero.csv", "this is a pipe or a device")
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "this is a pipe or a device")
    (tmp_path / "folder.csv").mkdir()
    refused(tmp_path / "folder.csv", "this is a folder")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    refused(tmp_path / "loop.csv", "cannot be read")
    refused("a\0b.csv", "this is no path")
    refused("x" * 5000 + ".csv", "cannot be read")
    refused(tmp_path / "none.csv", "there is no such file")


def test_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr("pnde.data._text._SMALL", 1 << 20)
    with gzip.open(tmp_path / "rows.csv.gz", "wb") as file:
        file.write(b"1" * (1 << 24))
    refused(tmp_path / "rows.csv.gz", "decompresses to more than 300 times its size")
    with gzip.open(tmp_path / "zeros.csv.gz", "wb") as file:
        file.write(bytes(1 << 22))
    refused(tmp_path / "zeros.csv.gz", "zero bytes")
    with (tmp_path / "sparse.csv").open("wb") as file:
        file.truncate(1 << 40)
    refused(tmp_path / "sparse.csv", "more than half of this machine's memory|zero bytes")
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("u", (1 << 20, 1 << 20, 1 << 10), "f8", chunks=(1, 1024, 128))
    refused(tmp_path / "a.nc", r"would take \d+.* more than half of this machine's memory")
    with h5py.File(tmp_path / "a.mat", "w") as file:
        file.create_dataset("t", (1 << 50,), "f8", chunks=(1024,))
    refused(tmp_path / "a.mat", "more than half of this machine's memory")
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("u.npy", b"\x93NUMPY" + bytes(1 << 24))
    refused(tmp_path / "a.npz", "cannot be read as NPZ")


def test_a_long_and_many_short_trajectories_do_not_fill_the_memory():
    long = np.ones((3_000_000, 1))
    short = [np.ones((2, 1))] * 30_000
    with pytest.raises(DataError, match=r"an array of shape \(30001, 3000000"):
        make_dataset([long, *short], [np.arange(3e6), *[np.arange(2.0)] * 30_000])


class TestAttributes:
    """What a file's attributes may be."""

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (lambda: None, "of type function"),
            ({"a": object()}, "JSON has no word for"),
            (b"\xff", "not text in UTF-8"),
            (1j, "of type complex"),
        ],
    )
    def test_other_things_are_refused(self, data, value, message):
        with pytest.raises(DataError, match=f"'note'.*{message}"):
            make_dataset(data["u"].values, np.arange(9.0), attrs={"note": value})

    def test_a_table_that_holds_itself_or_is_deep(self, data):
        loop, deep = {}, []
        loop["loop"] = loop
        for _ in range(100_000):
            deep = [deep]
        for value in (loop, deep):
            with pytest.raises(DataError, match=r"'note' (holds itself|is nested too deep)"):
                make_dataset(data["u"].values, np.arange(9.0), attrs={"note": value})

    @pytest.mark.parametrize("suffix", [".nc", ".npz"])
    def test_plain_ones_are_kept(self, tmp_path, data, suffix):
        attributes = {"a": 1, "b": 2.5, "c": "é", "d": {"e": [1, 2]}, "f": np.arange(3), "g": 2**70}
        data = make_dataset(data["u"].values, np.arange(9.0), attrs=attributes)
        back = open_data(save_data(data, tmp_path / f"a{suffix}")).attrs
        assert json.loads(back["d"]) == {"e": [1, 2]}
        assert json.loads(back["f"]) == [0, 1, 2]
        assert (back["a"], back["b"], back["c"], back["g"]) == (1, 2.5, "é", str(2**70))

    def test_deep_ones_in_a_file(self, tmp_path, data):
        np.savez(tmp_path / "a.npz", u=data["u"].values, t=np.arange(9.0), attributes="[" * 100_000)
        refused(tmp_path / "a.npz", "'attributes' is no table in JSON")

    @pytest.mark.parametrize(
        ("system", "parameters", "message"),
        [
            ("grid", {"grid": "case.m"}, "a path or a name is not taken from a data file"),
            ("grid", {"grid": "ieee14"}, "a path or a name is not taken from a data file"),
            ("grid", {"grid": ["case.json"]}, "no tables of buses and branches"),
            ("grid", {"grid": {"bus": [[1]]}}, "no tables of buses and branches"),
            ("grid", {"grid": {"buses": {}, "branches": {}}}, "does not fit the system 'grid'"),
            ("grid", {"grid": {"buses": {"number": "x"}, "branches": {}}}, "does not fit"),
            ("pendulum", {"n": 10**9}, "says n = 1000000000, but the data have 2 states"),
            ("pendulum", {"n": "2"}, "a path or a name is not taken"),
            ("pendulum", {"n": [1]}, "says n = "),
            ("pendulum", {"n": 1, "rope": 3}, "do not fit: pendulum"),
            ("quartic", 5, "'parameters' is '5', no table"),
            ("quartic", "[1, 2]", "no table in JSON"),
            ("quartic", "[" * 100_000, "no table in JSON"),
            ("quartic", "not JSON", "no table in JSON"),
        ],
    )
    def test_a_system_s_parameters_are_tables_and_never_paths(
        self, tmp_path, monkeypatch, data, system, parameters, message
    ):
        opened = []
        monkeypatch.setattr(
            "pnde.grids.read.READERS", dict.fromkeys((".m", ".json"), opened.append)
        )
        data.attrs.update(system=system, parameters=parameters)
        with pytest.raises(DataError, match=message) as caught:
            system_of(data)
        assert len(str(caught.value)) <= 300
        assert opened == []

    @pytest.mark.parametrize("system", [5, None, "unknown", ["quartic"], np.arange(3)])
    def test_other_systems_are_none(self, data, system):
        data.attrs["system"] = system
        assert system_of(data) is None

    def test_built_in_systems_are_found_again(self, tmp_path):
        for system in (quartic(0.2), pendulum(n=2)):
            attributes = {"system": system.name, "parameters": system.parameters}
            u = np.ones((3, len(system.states)))
            ds = make_dataset(u, np.arange(3.0), system.states, attrs=attributes)
            found = system_of(open_data(save_data(ds, tmp_path / "a.nc")))
            assert found.parameters == system.parameters


def test_complex_states_are_refused(tmp_path, data):
    u = data["u"].values + 1j
    np.savez(tmp_path / "a.npz", u=u, t=np.arange(9.0))
    refused(tmp_path / "a.npz", "complex; stack its real and imaginary parts")
    with pytest.raises(DataError, match="u is complex"):
        make_dataset(u, np.arange(9.0))
    with pytest.raises(DataError, match="complex"):
        make_dataset([[1 + 0j, 2], [3, 4]], [0.0, 1.0])
    refused(data.assign(u=data["u"] * 1j), "complex")


def test_masked_values_are_missing_ones():
    u = np.ma.masked_greater(np.arange(8.0).reshape(4, 2), 5)
    ds = make_dataset(u, np.arange(4.0))
    np.testing.assert_array_equal(np.isnan(ds["u"].values[0]), u.mask)


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("trajectory", "time"),
        ("split", "split"),
        ("newline", "a\nb"),
        ("comment", "#a"),
        ("blank", " a"),
    ],
)
def test_names_that_a_text_table_would_not_give_back(tmp_path, data, name, states):
    data = data.assign_coords(state=[states, "v"])
    with pytest.raises(DataError, match="a CSV file cannot hold a state called"):
        save_data(data, tmp_path / f"{name}.csv")
    assert list(tmp_path.iterdir()) == []
    assert list(open_data(save_data(data, tmp_path / "a.npz"))["state"].values) == [states, "v"]


def test_a_folder_that_may_not_be_written(tmp_path, data, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(RunError, match=r"No space left on device.* free space"):
        save_data(data, tmp_path / "a.nc")
    assert list(tmp_path.iterdir()) == []
