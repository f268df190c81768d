"""Named arrays: NPZ and MATLAB files."""

import h5py
import numpy as np
import pytest
import scipy.io

from pnde import open_data
from pnde.data import time_label, time_matrix
from pnde.errors import DataError

T = 0.1 * np.arange(7)
U = np.random.default_rng(0).standard_normal((3, 7, 2))


def write(path, arrays):
    """Arrays as NPZ, or as MATLAB writes them in version 5 or 7.3."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.stem == "old":
        scipy.io.savemat(path, arrays)
    else:
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, value in arrays.items():
                write_73(file, name, value)
        with path.open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file")
    return path


def write_73(file, name, value):
    """One variable as MATLAB 7.3 has it: axes turned round, at least two of them, text as numbers."""
    if isinstance(value, str):
        data, kind = np.array([[ord(letter)] for letter in value], np.uint16), "char"
    elif isinstance(value, np.ndarray) and value.dtype == object:
        references = [write_73(file, f"#refs#/{name}{k}", part).ref for k, part in enumerate(value)]
        data, kind = np.array([references], h5py.ref_dtype).T, "cell"
    elif np.iscomplexobj(value):
        data, kind = (
            np.empty(np.atleast_2d(value).T.shape, [("real", "f8"), ("imag", "f8")]),
            "double",
        )
        data["real"], data["imag"] = np.atleast_2d(value).T.real, np.atleast_2d(value).T.imag
    else:
        data, kind = np.atleast_2d(value).T, "double"
    item = file.create_dataset(name, data=data)
    item.attrs["MATLAB_class"] = np.bytes_(kind)
    return item


KINDS = pytest.mark.parametrize("name", ["a.npz", "old.mat", "new.mat"])


@KINDS
def test_trajectories(tmp_path, name):
    ds = open_data(write(tmp_path / name, {"t": T, "u": U}))
    np.testing.assert_array_equal(ds["u"].values, U)
    np.testing.assert_allclose(ds["time"].values, T)
    assert list(ds["state"].values) == ["u0", "u1"]


@KINDS
def test_own_times(tmp_path, name):
    times = T + np.arange(3)[:, None] ** 2
    ds = open_data(write(tmp_path / name, {"time": times, "u": U}))
    np.testing.assert_array_equal(time_matrix(ds), times)


@KINDS
def test_a_matrix_and_columns(tmp_path, name):
    # HDF5 lists its variables by name, so a choice tells the order.
    path = write(tmp_path / name, {"t": T, "q": U[0], "F": U[1, :, 0]})
    ds = open_data(path, states=["q", "F"])
    assert list(ds["state"].values) == ["q1", "q2", "F"]
    assert set(open_data(path)["state"].values) == {"q1", "q2", "F"}
    np.testing.assert_array_equal(ds["u"].values[0, :, :2], U[0])
    np.testing.assert_array_equal(ds["u"].values[0, :, 2], U[1, :, 0])


@KINDS
def test_an_array_for_each_state_with_a_row_for_each_trajectory(tmp_path, name):
    times = np.stack([T, T, T])
    ds = open_data(write(tmp_path / name, {"t": times, "x1": U[..., 0], "x2": U[..., 1]}))
    assert list(ds["state"].values) == ["x1", "x2"]
    np.testing.assert_array_equal(ds["u"].values, U)


@KINDS
def test_what_does_not_run_over_time_is_left_out_with_a_note(tmp_path, name, caplog):
    ds = open_data(write(tmp_path / name, {"t": T, "x": U[0, :, 0], "mass": np.array([1.5])}))
    assert list(ds["state"].values) == ["x"]
    assert "'mass' does not run over the times" in caplog.text


def test_names_and_facts(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, u=U, t=T, state=["x", "v"], units=["m", "m/s"], split=["train", "val", "test"],
             trajectory=[4.0, 5.0, 6.0], time_units="s")  # fmt: skip
    ds = open_data(path)
    assert list(ds["state"].values) == ["x", "v"]
    assert list(ds["units"].values) == ["m", "m/s"]
    assert ds["split"].values.tolist() == ["train", "valid", "test"]
    assert ds["trajectory"].values.tolist() == [4, 5, 6]
    assert time_label(ds) == "s"
    chosen = open_data(path, states=["v"], rename={"v": "speed"})
    assert list(chosen["state"].values) == ["speed"]
    np.testing.assert_array_equal(chosen["u"].values, U[..., 1:])


@pytest.mark.parametrize("name", ["old.mat", "new.mat"])
def test_cells_are_trajectories_of_unequal_length(tmp_path, name):
    cells, times = np.empty(2, object), np.empty(2, object)
    cells[:], times[:] = [U[0], U[1, :4]], [T, T[:4] + 1]
    ds = open_data(write(tmp_path / name, {"t": times, "x": cells}))
    assert list(ds["state"].values) == ["x1", "x2"]
    np.testing.assert_array_equal(ds["u"].values[0], U[0])
    np.testing.assert_array_equal(ds["u"].values[1, :4], U[1, :4])
    assert np.isnan(ds["u"].values[1, 4:]).all()
    np.testing.assert_allclose(time_matrix(ds)[1, :4], T[:4] + 1)


def test_a_structure_is_its_fields(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"run": {"t": T, "x": U[0, :, 0]}})
    with h5py.File(tmp_path / "b.mat", "w") as file:
        group = file.create_group("run")
        write_73(group, "t", T)
        write_73(group, "x", U[0, :, 0])
    for name in ("a.mat", "b.mat"):
        np.testing.assert_array_equal(open_data(tmp_path / name)["u"].values[0, :, 0], U[0, :, 0])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"t": T, "u": U[0].T}, r"times have shape \(7,\), but the array 'u' has \(2, 7\)"),
        (
            {"t": T, "x": U[0].T, "v": U[0, :, 0]},
            r"the array 'x' has \(2, 7\); it must be \(time, state\)",
        ),
        ({"t": T, "u": U.transpose(0, 2, 1)}, r"'u' has \(3, 2, 7\)"),
        ({"t": T, "u": U + 1j}, "'u' is complex; stack its real and imaginary parts"),
        ({"t": T + 1j, "u": U}, "the times are complex"),
        ({"t": T}, "no array beside the 7 times|no states"),
        ({"x": U[0]}, "no array 't' or 'time'"),
        ({"t": T, "u": np.where(U > 2, np.inf, U) * np.inf}, "is infinite|is NaN"),
        ({"t": np.zeros((2, 2, 2)), "u": U}, r"times have shape \(2, 2, 2\)"),
    ],
)
@KINDS
def test_refused(tmp_path, name, arrays, message):
    with pytest.raises(DataError, match=message) as caught:
        open_data(write(tmp_path / name, arrays))
    assert str(caught.value).startswith(str(tmp_path))
    assert len(str(caught.value)) <= 300


def test_python_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", u=np.array([{"a": 1}, None], object), t=[0.0, 1.0])
    with pytest.raises(DataError, match="holds Python objects, which are never loaded"):
        open_data(tmp_path / "a.npz")


def test_a_header_that_asks_for_more_than_there_is(tmp_path):
    import zipfile

    header = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("u.npy", header + text.ljust(117) + b"\n")
    with pytest.raises(DataError, match="shorter than its shape"):
        open_data(tmp_path / "a.npz")


def test_a_damaged_array_is_noticed(tmp_path):
    np.savez(tmp_path / "a.npz", u=U, t=T)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.find(U.tobytes()) + 40] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as NPZ"):
        open_data(tmp_path / "a.npz")
