"""Columns that are read as inputs and parameters."""

import numpy as np
import pandas as pd
import pytest
import scipy.io
import xarray as xr

from pnde import open_data
from pnde.data import assign_roles, make_dataset, time_matrix
from pnde.errors import DataError

T = np.array([0.0, 0.5, 1.0, 1.5])
FRAME = pd.DataFrame(
    {
        "run": ["b"] * 4 + ["a"] * 4,
        "time": np.tile(T, 2),
        "x": np.arange(8.0),
        "L": [2.0, np.nan, 2.0, 2.0, np.nan, 3.0, 3.0, 3.0],
        "F": np.arange(8.0) + 10,
        "G": np.arange(8.0) + 20,
        "v": -np.arange(8.0),
    }
)
ROLES = {"inputs": ["G", "F"], "parameters": "L"}


def refused(message, call, *arguments, **keywords):
    with pytest.raises(DataError, match=message) as caught:
        call(*arguments, **keywords)
    assert len(str(caught.value)) <= 300 and " … " not in str(caught.value)


def assert_read(ds, states=("x", "v")):
    """What every form of `FRAME` comes to."""
    assert ds["state"].values.tolist() == [*states]
    assert ds["input"].values.tolist() == ["G", "F"]
    np.testing.assert_array_equal(ds["w"].values[1], [[24, 14], [25, 15], [26, 16], [27, 17]])
    np.testing.assert_array_equal(ds["u"].sel(state="v").values, -np.arange(8.0).reshape(2, 4))
    assert ds["parameter"].values.tolist() == ["L"]
    np.testing.assert_array_equal(ds["parameters"], [[2], [3]])


def test_columns_of_a_frame_and_a_file(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    for source in (FRAME, tmp_path / "a.csv"):
        assert_read(open_data(source, **ROLES))
        assert_read(open_data(source, states=["v"], **ROLES), states=["v"])
        ds = open_data(source, **ROLES, interpolation={"F": "held"}, jumps={"a": [1.0]})
        assert ds["interpolation"].values.tolist() == ["linear", "held"]
        np.testing.assert_array_equal(ds["jumps"], [[np.nan], [1.0]])


def test_units_follow(tmp_path):
    (tmp_path / "a.csv").write_text("time [s],x [m],F [N],L (m)\n0,1,2,3\n1,1,2,3\n")
    ds = open_data(tmp_path / "a.csv", inputs="F", parameters="L")
    assert (*ds["units"].values, *ds["input_units"].values, *ds["parameter_units"].values) == (
        "m",
        "N",
        "m",
    )


def test_a_column_that_could_be_another_thing_is_what_it_is_said_to_be():
    frame = FRAME.rename(columns={"run": "trajectory", "L": "id", "G": "set"})
    ds = open_data(frame, inputs="set", parameters="id")
    assert ds["input"].values == ["set"] and ds["parameter"].values == ["id"]


def test_wide_with_one_row_for_each_trajectory(tmp_path):
    cells = {"trajectory": ["b", "a"], "L": [2.0, 3.0]}
    for name in ("x", "v", "F", "G"):
        for sample, time in enumerate(T):
            cells[f"{name}@{time}"] = FRAME[name].to_numpy().reshape(2, 4)[:, sample]
    pd.DataFrame(cells).to_csv(tmp_path / "a.csv", index=False)
    for source in (pd.DataFrame(cells), tmp_path / "a.csv"):
        assert_read(open_data(source, **ROLES))
        assert_read(open_data(source, states=["v"], **ROLES), states=["v"])


def test_wide_with_one_row_for_each_time():
    cells = {"time": T}
    for name in ("x", "v", "L", "F", "G"):
        for k, label in enumerate("ba"):
            cells[f"{name}@{label}"] = FRAME[name].to_numpy()[4 * k : 4 * k + 4]
    assert_read(open_data(pd.DataFrame(cells), **ROLES))
    common = {name: cells[name] for name in ("time", "x@b", "x@a")} | {"F": T**2}
    ds = open_data(pd.DataFrame(common), inputs="F")
    np.testing.assert_array_equal(ds["w"].values[..., 0], [T**2, T**2])


def variables():
    table = {name: FRAME[name].to_numpy().reshape(2, 4) for name in ("x", "v", "F", "G")}
    return xr.Dataset(
        {name: (("trajectory", "time"), values, {"units": name}) for name, values in table.items()}
        | {"L": ("trajectory", [2.0, 3.0], {"units": "m"})},
        {"time": T, "trajectory": ["b", "a"]},
    )


def test_variables_of_xarray(tmp_path):
    ds = variables()
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    stacked = make_dataset(
        np.stack([ds["x"], ds["v"]], axis=-1), T, ["x", "v"], trajectory=["b", "a"]
    ).assign(F=ds["F"], G=ds["G"], L=ds["L"])
    for source in (ds, tmp_path / "a.nc", ds.set_coords("L"), stacked):
        opened = open_data(source, **ROLES)
        assert_read(opened)
        assert opened["parameter_units"].values == ["m"]
        assert not {"F", "G", "L"} & {*opened.variables}
        assert_read(open_data(source, states=["v"], **ROLES), states=["v"])
    one = open_data(ds.isel(trajectory=0), **ROLES)
    np.testing.assert_array_equal(one["parameters"], [[2]])


@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
def test_named_arrays(tmp_path, name):
    def write(**arrays):
        (np.savez if name == "a.npz" else scipy.io.savemat)(
            tmp_path / name, **({"mdict": arrays} if name == "a.mat" else arrays)
        )
        return tmp_path / name

    ds = variables()
    u = np.stack([ds["x"], ds["v"]], axis=-1)
    own = {"t": np.tile(T, (2, 1)), "F": ds["F"].values, "G": ds["G"].values, "L": [2.0, 3.0]}
    assert_read(open_data(write(**own, u=u, states=["x", "v"]), **ROLES))
    assert_read(open_data(write(**own, u=u, states=["x", "v"]), states=["v"], **ROLES), ["v"])
    assert_read(
        open_data(write(**own, x=ds["x"].values, v=ds["v"].values), states=["x", "v"], **ROLES)
    )
    # An array of two columns stands for both.
    both = write(t=T, q=u[0], F=np.stack([T, T**2], axis=1), c=[1.0, 2.0, 3.0])
    opened = open_data(both, states=["q"], inputs="F", parameters="c")
    assert opened["input"].values.tolist() == ["F1", "F2"]
    assert opened["state"].values.tolist() == ["q1", "q2"]
    np.testing.assert_array_equal(opened["parameters"], [[1, 2, 3]])


@pytest.mark.parametrize("count", [1, 2], ids=["one trajectory", "two"])
@pytest.mark.parametrize("columns", [1, 2], ids=["one column", "two columns"])
@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
def test_arrays_of_the_standard_layout(tmp_path, name, columns, count):
    """MATLAB drops axes of length one."""
    u, w = np.random.default_rng(1).standard_normal((2, count, 4, columns))
    p, jumps = np.arange(1.0, 1 + count * columns).reshape(count, columns), [[1.0]] * count
    names = {"inputs": ["F", "G"][:columns], "parameter": ["L", "m"][:columns]}
    arrays = {"t": np.tile(T, (count, 1)), "u": u, "w": w, "parameters": p, "jumps": jumps, **names}
    if name == "a.npz":
        np.savez(tmp_path / name, **arrays, interpolation="held")
    else:
        squeezed = {key: np.squeeze(np.asarray(value)) for key, value in arrays.items()}
        scipy.io.savemat(tmp_path / name, squeezed | {"interpolation": "held"})
    ds = open_data(tmp_path / name)
    np.testing.assert_array_equal(ds["w"], w)
    np.testing.assert_array_equal(ds["parameters"], p)
    np.testing.assert_array_equal(ds["jumps"], jumps)
    assert ds["input"].values.tolist() == names["inputs"]
    assert ds["interpolation"].values.tolist() == ["held"] * columns
    assert ds["parameter"].values.tolist() == names["parameter"]


def test_arrays_called_like_those_of_the_layout_that_are_others(tmp_path):
    np.savez(tmp_path / "a.npz", t=T, x=T, w=T**2, input=T**3, p=-T)
    ds = open_data(tmp_path / "a.npz", inputs="input")
    assert ds["state"].values.tolist() == ["x", "w", "p"] and ds["input"].values == ["input"]


def test_an_input_with_a_clock_of_its_own():
    """A valve that was logged when it moved, and a force that was measured less often than the state."""
    ds = xr.Dataset(
        {
            "x": ("time_x", np.arange(5.0)),
            "valve": ("time_valve", [1.0, 3.0]),
            "F": ("time_F", [0.0, 4.0, 2.0]),
        },
        {"time_x": np.arange(5.0), "time_valve": [0.0, 1.5], "time_F": [0.0, 2.0, 4.0]},
    )
    opened = open_data(ds, inputs=["valve", "F"], interpolation={"valve": "held"})
    np.testing.assert_array_equal(opened["time"], [0, 1, 1.5, 2, 3, 4])
    np.testing.assert_array_equal(opened["w"].values[0, :, 0], [1, 1, 3, 3, 3, 3])
    np.testing.assert_allclose(opened["w"].values[0, :, 1], [0, 2, 3, 4, 3, 2], rtol=1e-12)
    jumping = open_data(ds, inputs=["valve", "F"], interpolation={"valve": "held"}, jumps=[2.0])
    np.testing.assert_allclose(jumping["w"].values[0, :, 1], [0, 0, 0, 4, 3, 2], rtol=1e-12)
    late = ds.assign_coords(time_F=[0.5, 2.0, 4.0])
    refused("input 'F' is missing at t = 0", open_data, late, inputs=["valve", "F"])
    refused("input 'valve' is missing at t = 2", open_data, ds, inputs="valve")


def test_files_of_several_runs(tmp_path):
    for label, rows in FRAME.groupby("run"):
        rows.drop(columns="run").to_csv(tmp_path / f"{label}.csv", index=False)
    ds = open_data(str(tmp_path / "*.csv"), **ROLES, jumps={"b": [1.0]}, interpolation="held")
    assert ds["trajectory"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(ds["parameters"], [[3], [2]])
    np.testing.assert_array_equal(ds["jumps"], [[np.nan], [1]])
    assert set(ds["interpolation"].values) == {"held"}


def test_roles_are_added_to_those_that_there_are():
    u = np.random.default_rng(2).standard_normal((2, 4, 4))
    u[..., 3] = 7
    units = {"x": "m", "y": "m", "G": "V", "m": "kg"}
    ds = make_dataset(
        u,
        T,
        list(units),
        units,
        {"note": 1},
        ["train", "test"],
        w=u[..., :1],
        inputs="F",
        jumps=[1.0],
        p=[2.0],
        parameters="L",
    )
    ds["status"] = ("trajectory", [0, 1])
    ds["moved_by_state"] = ds["u"]
    out = assign_roles(ds, "G", "m", "held", [0.5, 1.0])
    assert out["state"].values.tolist() == ["x", "y"]
    assert out["input"].values.tolist() == ["F", "G"]
    assert out["interpolation"].values.tolist() == ["linear", "held"]
    assert out["input_units"].values.tolist() == ["", "V"]
    np.testing.assert_array_equal(out["w"], u[..., [0, 2]])
    np.testing.assert_array_equal(out["parameters"], [[2, 7]] * 2)
    assert out["parameter_units"].values.tolist() == ["", "kg"]
    np.testing.assert_array_equal(out["jumps"], [[0.5, 1.0]] * 2)
    assert out["split"].values.tolist() == ["train", "test"] and out.attrs == {"note": 1}
    assert "status" in out and "moved_by_state" not in out
    held = assign_roles(out, interpolation={"F": "held"})
    assert held["interpolation"].values.tolist() == ["held", "held"]
    linear = assign_roles(held, interpolation="linear")
    assert linear["interpolation"].values.tolist() == ["linear", "linear"]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"inputs": "f"},
            r"no state 'f' \(did you mean 'F'\?\) to take as an input or a parameter",
        ),
        ({"inputs": ["F", "F"]}, "'F' is named twice in inputs= and parameters="),
        ({"inputs": "F", "parameters": "F"}, "'F' is named twice"),
        ({"inputs": 3}, "inputs= is a name or a list of names"),
        ({"inputs": ["x", "F", "G", "v"], "parameters": "L"}, "a state at least is to be left"),
        (
            {"parameters": "F"},
            "trajectory b: 'F' is 10 at t = 0 and 11 at t = 0.5, but a parameter is the same .* make it an input",
        ),
        ({"inputs": "L"}, r"trajectory b: input 'L' is missing at t = 0.5 \(sample 1\)"),
        ({"inputs": "F", "interpolation": {"G": "held"}}, "interpolation= names 'G', no input"),
        (
            {"inputs": "F", "interpolation": "hold"},
            r"'hold', which is unknown \(did you mean 'held'",
        ),
        ({"interpolation": "held"}, "there are no inputs; name them by inputs="),
        ({"jumps": [1.0]}, "there are jumps, but no inputs"),
        ({"inputs": "F", "jumps": [9.0]}, "the jump at t = 9 lies in no trajectory"),
    ],
)
def test_refused_roles(keywords, message):
    refused(message, assign_roles, open_data(FRAME), **keywords)
    again = assign_roles(open_data(FRAME), "F")
    refused("'F' .it is an input or a parameter already", assign_roles, again, "F")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"inputs": "f"}, r"no column 'f' \(did you mean 'F'"),
        ({"states": ["x"], "inputs": "f"}, r"no column 'f' \(did you mean 'F'"),
        ({"states": ["x"], "inputs": "x"}, "the column 'x' is asked for twice"),
        ({"inputs": "time", "time": "time"}, "the column 'time' is asked for twice"),
        ({"parameters": 3}, "parameters= is a name or a list"),
    ],
)
def test_refused_columns(keywords, message):
    refused(message, open_data, FRAME, **keywords)


def test_a_parameter_that_rounding_has_touched():
    frame = FRAME.assign(L=FRAME["L"] * (1 + 1e-12 * np.arange(8)))
    np.testing.assert_allclose(open_data(frame, **ROLES)["parameters"], [[2], [3]], rtol=1e-11)


def test_times_of_their_own():
    frame = FRAME.assign(time=[*T, *(2 * T)])
    ds = open_data(frame, **ROLES, jumps=[0.75, 2.0])
    np.testing.assert_array_equal(time_matrix(ds)[1], 2 * T)
    np.testing.assert_array_equal(ds["jumps"], [[0.75, np.nan], [0.75, 2.0]])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"w": np.float64(1.0)}, r"w has the shape \(1, 1\)"),
        ({"w": np.ones((2, 3, 1))}, r"w has the shape \(2, 3, 1\)"),
        ({"w": np.ones((2, 4, 2)), "jumps": np.ones((2, 1, 1))}, "jumps= is a list of times for"),
        ({"parameters": np.ones((3, 1))}, r"p has the shape \(3, 1\)"),
        ({"F": np.ones((3, 4, 2))}, "the array 'u' has 2 trajectories, but others have 3"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", t=T, u=np.ones((2, 4, 2)), **arrays)
    refused(message, open_data, tmp_path / "a.npz", inputs="F" if "F" in arrays else ())


def test_empty_jumps_of_a_file_are_none(tmp_path):
    np.savez(
        tmp_path / "a.npz", t=T, u=np.ones((2, 4, 2)), w=np.ones((2, 4, 1)), jumps=np.zeros((0, 0))
    )
    assert "jumps" not in open_data(tmp_path / "a.npz")


def test_variables_of_xarray_whose_trajectories_are_in_the_inputs_alone():
    w = np.arange(8.0).reshape(2, 4, 1)
    ds = xr.Dataset({"x": ("time", T), "w": (("trajectory", "time", "input"), w)}, {"time": T})
    opened = open_data(ds)
    np.testing.assert_array_equal(opened["u"].values[..., 0], [T, T])
    np.testing.assert_array_equal(opened["w"], w)
