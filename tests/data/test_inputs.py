"""Inputs, jumps and parameters: made from arrays, checked, written, read and kept wherever a data set is rebuilt."""

import numpy as np
import pytest
import xarray as xr

from pnde import open_data
from pnde.data import (
    complete,
    cut,
    differentiate,
    inputs_of,
    make_dataset,
    save_data,
    segments,
    select,
    split_data,
    summary,
    time_matrix,
    unwrap,
)
from pnde.errors import DataError

T = 0.1 * np.arange(11)
RANDOM = np.random.default_rng(0)
U, W = RANDOM.standard_normal((3, 11, 2)), RANDOM.standard_normal((3, 11, 2))
P = np.array([[1.0, 0.1], [2.0, 0.2], [1 / 3, 0.3]])
DRIVEN = {
    "w": W,
    "inputs": ["F", "G"],
    "input_units": {"F": "N"},
    "interpolation": {"F": "held"},
    "jumps": {0: [0.3, 0.55], 2: [0.7]},
    "p": P,
    "parameters": ["L", "m"],
    "parameter_units": ["m", "kg"],
}
NAMES = ("w", "jumps", "parameters", "input", "input_units", "interpolation", "parameter")


@pytest.fixture(scope="module")
def driven():
    # The attribute `parameters` is that of a built-in system.
    attributes = {"parameters": {"gravity": 9.81}}
    return make_dataset(U, T, ["x", "y"], ["m", "s"], attributes, **DRIVEN, time_units="s")


def refused(message, call, *arguments, **keywords):
    """Assert that a call is refused by one short sentence."""
    with pytest.raises(DataError, match=message) as caught:
        call(*arguments, **keywords)
    assert len(str(caught.value)) <= 300 and " … " not in str(caught.value)


def test_the_standard_layout(driven):
    assert driven["w"].dims == ("trajectory", "time", "input")
    np.testing.assert_array_equal(driven["w"], W)
    assert driven["input"].values.tolist() == ["F", "G"]
    assert driven["input_units"].values.tolist() == ["N", ""]
    assert driven["interpolation"].values.tolist() == ["held", "linear"]
    # 0.3 is the sample at 3 · 0.1 = 0.30000000000000004, which holds the value after the jump.
    np.testing.assert_array_equal(driven["jumps"], [[T[3], 0.55], [np.nan, np.nan], [T[7], np.nan]])
    np.testing.assert_array_equal(driven["parameters"], P)
    assert driven["parameter_units"].values.tolist() == ["m", "kg"]
    assert driven["u"].sizes["state"] == 2


def test_what_is_the_same_in_all_trajectories_and_names_of_their_own():
    ds = make_dataset(U, T, w=W[0], p=[9.81], jumps=[0.5])
    np.testing.assert_array_equal(ds["w"], np.stack([W[0]] * 3))
    np.testing.assert_array_equal(ds["parameters"], [[9.81]] * 3)
    assert ds["input"].values.tolist() == ["w0", "w1"] and ds["parameter"].values == ["p0"]
    np.testing.assert_array_equal(ds["jumps"], [[0.5]] * 3)
    plain = make_dataset(U, T)
    assert not {*NAMES} & {*plain.variables}


@pytest.mark.parametrize("own", [False, True], ids=["one grid", "times of their own"])
def test_trajectories_of_unequal_length(own):
    times = [T, 2 * T[:6] if own else T[:6]]
    ds = make_dataset(
        [U[0], U[1, :6]], times, w=[W[0], W[1, :6]], jumps=[0.4, 0.8], inputs=["F", "G"]
    )
    assert np.isnan(ds["w"][1, 6:]).all() and np.isfinite(ds["w"][1, :6]).all()
    # Each trajectory gets the jumps that lie inside it.
    np.testing.assert_array_equal(ds["jumps"], [[T[4], T[8]], [T[4], 0.8 if own else np.nan]])
    xr.testing.assert_identical(open_data(ds), ds)
    shared = make_dataset([U[0], U[1, :6]], times, w=W[0])
    assert np.isnan(shared["w"][1, 6:]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w": W[:, :9]}, r"w has the shape \(3, 9, 2\); it must be \(trajectory, time, input\)"),
        (
            {"w": [W[0], W[1, :9], W[2]]},
            "trajectory 1 has 11 points, but its inputs have the shape",
        ),
        ({"w": [W[0]]}, "there are inputs for 1 trajectories, but 3 trajectories"),
        ({"w": W * 1j}, "w is complex"),
        ({"w": None}, "inputs= names inputs, but there are no values: pass w="),
        ({"p": None}, "parameters= names parameters, but there are no values: pass p="),
        ({"p": P.T}, r"p has the shape \(2, 3\); it must be \(trajectory, parameter\)"),
        ({"p": [1.0]}, "there are 2 parameter names for 1 parameters"),
        ({"inputs": ["F"]}, "there are 1 input names for 2 inputs"),
        ({"inputs": ["F", "F"]}, "the input name 'F' occurs twice"),
        ({"inputs": ["F", "y"], "input_units": None}, "'y' is both a state and an input; rename"),
        ({"parameters": ["G", "m"]}, "'G' is both an input and a parameter; rename one"),
        ({"input_units": {"f": "N"}}, r"a unit is given for 'f', no input \(did you mean 'F'"),
        ({"interpolation": "hold"}, r"input 'F' is 'hold', which is unknown \(did you mean 'held'"),
        ({"interpolation": {"f": "held"}}, r"names 'f', no input \(did you mean 'F'\?\)"),
        ({"jumps": [0.5, 0.3]}, "the jump at t = 0.3 comes after that at 0.5; put them in order"),
        ({"jumps": {1: [0.3, 0.3]}}, "trajectory 1: the jump at t = 0.3.* comes after that at 0.3"),
        ({"jumps": [0.3, 1.1]}, "jump at t = 1.1 lies in no trajectory: .* go from 0 to 1"),
        (
            {"jumps": {0: [0.0]}},
            "trajectory 0: the jump at t = 0 is outside; .* from 0 to 1: leave",
        ),
        ({"jumps": {7: [0.3]}}, "jumps= names trajectory '7', which is not there"),
        ({"jumps": 0.3}, "jumps= is a list of times"),
        ({"jumps": [[0.3]]}, "there are 1 lists of jumps for 3 trajectories"),
        ({"jumps": [[0.3], [np.nan, 0.4], [np.nan]]}, "trajectory 1: jumps are times, with NaN"),
        (
            {"interpolation": "cubic", "jumps": {1: [0.3, 0.5]}},
            r"trajectory 1: the cubic input 'F' has 2 sample\(s\) between jumps, from t = 0.3 on",
        ),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    refused(message, make_dataset, U, T, ["x", "y"], **DRIVEN | change)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"trajectory b: input 'G' is missing at t = 0.4 \(sample 4\);.* fill it in"),
        (np.inf, r"trajectory b: input 'G' is infinite at t = 0.4 \(sample 4\)"),
    ],
)
def test_a_sample_of_an_input_is_missing(value, message):
    w = W.copy()
    w[1, 4, 1] = value
    refused(message, make_dataset, U, T, **DRIVEN | {"w": w, "jumps": None}, trajectory=list("abc"))


def test_an_input_that_ends_before_its_trajectory():
    w, u = W.copy(), U.copy()
    w[2, 9:] = np.nan
    refused("trajectory 2: input 'w0' is missing at t = 0.9", make_dataset, u, T, w=w)
    u[2, 9:] = np.nan
    assert np.isnan(make_dataset(u, T, w=w)["w"][2, 9:]).all()
    refused(
        "trajectory 2: the jump at t = 0.9.* outside", make_dataset, u, T, w=w, jumps={2: [T[9]]}
    )


def test_a_parameter_is_unknown():
    p = P.copy()
    p[1, 0] = np.nan
    refused("trajectory 1: parameter 'L' is unknown", make_dataset, U, T, **DRIVEN | {"p": p})


def test_jumps_need_an_input():
    refused("there are jumps, but no inputs that could jump", make_dataset, U, T, jumps=[0.3])


@pytest.mark.parametrize("suffix", [".nc", ".npz"])
def test_files_keep_all(tmp_path, driven, suffix):
    opened = open_data(save_data(driven, tmp_path / f"a{suffix}"))
    xr.testing.assert_identical(opened, driven)
    xr.testing.assert_identical(open_data(driven), driven)


def test_a_csv_file_says_how_to_read_it(tmp_path, driven):
    path = save_data(driven, tmp_path / "a.csv")
    comment = path.read_text().partition("\n")[0]
    keywords = comment.partition("…, ")[2].rstrip(")")
    opened = open_data(path, **eval(f"dict({keywords})"))
    for name in ("u", *(name for name in NAMES if "units" not in name)):
        np.testing.assert_array_equal(opened[name], driven[name])
    assert open_data(path)["state"].values.tolist() == ["x", "y", "F", "G", "L", "m"]
    alike = make_dataset(U, T, w=W, jumps=[0.5])
    assert "jumps=[0.5])" in save_data(alike, tmp_path / "b.csv").read_text()
    save_data(make_dataset(U, T), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().startswith("trajectory,time,u0,u1\n")


def test_a_csv_file_cannot_hold_an_input_called_time(tmp_path):
    ds = make_dataset(U, T, w=W, inputs=["time", "G"])
    refused("cannot hold a state called 'time'", save_data, ds, tmp_path / "a.csv")


def test_one_trajectory_without_its_dim(driven):
    one = driven.isel(trajectory=0)
    opened = open_data(one)
    np.testing.assert_array_equal(opened["w"], W[:1])
    np.testing.assert_array_equal(opened["parameters"], P[:1])
    np.testing.assert_array_equal(opened["jumps"], driven["jumps"][:1])
    bare = xr.Dataset(
        {
            "x": ("time", U[0, :, 0]),
            "w": (("time", "input"), W[0]),
            "parameters": ("parameter", P[0]),
            "jumps": ("jump", [0.3]),
        },
        {"time": T, "input": ["F", "G"]},
    )
    opened = open_data(bare)
    assert opened["state"].values == ["x"] and opened["interpolation"].values[0] == "linear"
    assert opened["parameter"].values.tolist() == ["p0", "p1"]
    np.testing.assert_array_equal(opened["w"], W[:1])
    assert opened["jumps"].shape == (1, 1)


def test_selection_and_states_that_are_chosen(driven):
    ds = split_data(driven, 1, 1, 1)
    xr.testing.assert_identical(select(ds, "test").drop_vars("split"), driven.isel(trajectory=[2]))
    chosen = open_data(driven, states=["y"])
    assert chosen["state"].values == ["y"]
    np.testing.assert_array_equal(chosen["w"], W)
    # The jumps of a trajectory that has none are gone.
    assert "jumps" not in open_data(driven.isel(trajectory=[1]))


def test_pieces_keep_the_jumps_inside_them(driven):
    pieces = cut(driven, 4)
    assert pieces["trajectory"].values.tolist() == [f"{k}/{i}" for k in range(3) for i in range(2)]
    np.testing.assert_array_equal(pieces["w"][3], W[1, 4:8])
    np.testing.assert_array_equal(pieces["parameters"], np.repeat(P, 2, axis=0))
    # 0.3 is the last sample of piece 0/0, and 0.7 that of piece 2/1; one at a first sample is over.
    jumps = pieces["jumps"].values[:, 0]
    np.testing.assert_array_equal(jumps, [T[3], 0.55, np.nan, np.nan, np.nan, T[7]])
    started = cut(make_dataset(U, T, w=W, jumps=[0.5, 0.8]), 5)
    np.testing.assert_array_equal(started["jumps"], [[np.nan], [T[8]]] * 3)


def test_one_recording_split_in_time(driven):
    ds = split_data(driven.isel(trajectory=[0]), 0.4, 0.3, 0.3)
    assert ds["split"].values.tolist() == ["train", "valid", "test"]
    np.testing.assert_array_equal(ds["w"].values[2, :3], W[0, -3:])
    np.testing.assert_array_equal(ds["parameters"], P[[0, 0, 0]])
    np.testing.assert_array_equal(ds["jumps"], [[T[3]], [0.55], [np.nan]])


def test_differentiate_unwrap_and_complete_keep_them(driven):
    for made in (differentiate(driven), complete(driven), unwrap(driven, [])):
        for name in NAMES:
            xr.testing.assert_identical(made[name].variable, driven[name].variable)
    assert differentiate(driven)["state"].values.tolist() == ["x", "y", "x_dot", "y_dot"]
    clash = make_dataset(U, T, ["x", "y"], w=W, inputs=["x_dot", "G"])
    refused("'x_dot' is both a state and an input", differentiate, clash)


def test_differentiate_keeps_the_date_of_zero():
    dates = np.datetime64("2020-01-01T00:00") + (1000 * T).astype("timedelta64[ms]")
    ds = make_dataset(U, dates)
    assert differentiate(ds)["time"].attrs == ds["time"].attrs != {}


def test_several_sources_side_by_side(driven):
    one, two = (
        driven.isel(trajectory=[0, 1]),
        driven.isel(trajectory=[2], input=[1, 0], parameter=[1, 0]),
    )
    both = open_data([one, two])
    np.testing.assert_array_equal(both["w"], W)
    np.testing.assert_array_equal(both["parameters"], P)
    np.testing.assert_array_equal(both["jumps"], driven["jumps"])
    for name in NAMES:
        assert both[name].dims == driven[name].dims
    refused(
        "'1' has the inputs F, but '0' has F, G; choose them by inputs=",
        open_data,
        [one, driven.isel(input=[0])],
    )
    refused("'1' has the parameters none", open_data, [one, driven.drop_dims("parameter")])
    other = two.assign_coords(interpolation=("input", ["held", "held"]))
    refused("interpolation of 'G' is 'held' in '1', but 'linear' in '0'", open_data, [one, other])


def test_jumps_move_with_the_clock_of_their_dates():
    def part(start):
        dates = np.datetime64(start) + (1000 * T).astype("timedelta64[ms]")
        return make_dataset(U[:1], dates, w=W[:1], jumps=[0.3])

    both = open_data([part("2020-01-01T00:00:10"), part("2020-01-01T00:00:00")])
    np.testing.assert_allclose(both["jumps"], [[10.3], [0.3]], rtol=1e-12)
    np.testing.assert_array_equal(both["jumps"], time_matrix(both)[:, [3]])


def test_parts_of_one_recording(driven):
    # The first trajectory with its jumps at 0.3 and 0.55, cut into what was recorded before 0.45 and after it.
    before = make_dataset(U[:1, :5], T[:5], w=W[:1, :5], p=P[:1], jumps=[0.3])
    after = make_dataset(U[:1, 5:], T[5:], w=W[:1, 5:], p=P[:1], jumps=[0.55])
    whole = open_data([before, after], concatenate=True)
    np.testing.assert_array_equal(whole["w"], W[:1])
    np.testing.assert_array_equal(whole["parameters"], P[:1])
    np.testing.assert_array_equal(whole["jumps"], [[T[3], 0.55]])
    added = open_data([before, after], concatenate=True, jumps=[0.45])
    np.testing.assert_array_equal(added["jumps"], [[T[3], 0.45, 0.55]])
    other = make_dataset(U[:1, 5:], T[5:], w=W[:1, 5:], p=2 * P[:1])
    refused(
        "parameter 'p0' is 1 in '0' and 2 in '1'; make it an input",
        open_data,
        [before, other],
        concatenate=True,
    )


def test_parts_of_recordings_of_which_one_ends_early():
    early = make_dataset([U[0], U[1, :6]], T, w=[W[0], W[1, :6]])
    late = make_dataset(U[:2], T + 2, w=W[:2])
    whole = open_data([early, late], concatenate=True)
    np.testing.assert_array_equal(whole["w"].values[1, :17], np.concatenate([W[1, :6], W[1]]))


def test_summary_tells_them(driven):
    lines = summary(driven).splitlines()
    assert lines[lines.index("inputs") + 1].split() == [
        "unit",
        "min",
        "max",
        "mean",
        "interpolation",
    ]
    assert lines[lines.index("inputs") + 2].split()[::5] == ["F", "held"]
    assert "jumps       0 to 2 in each trajectory" in lines
    assert lines[lines.index("parameters") + 2].split()[:2] == ["L", "m"]


def test_inputs_and_parameters_are_renamed(driven):
    ds = open_data(driven, rename={"F": "force", "L": "length", "x": "position"})
    assert ds["input"].values.tolist() == ["force", "G"]
    assert ds["parameter"].values.tolist() == ["length", "m"]
    assert ds["state"].values.tolist() == ["position", "y"]
    assert ds["input_units"].values.tolist() == ["N", ""] and ds["units"].values[0] == "m"
    refused("'x' is both a state and an input", open_data, driven, rename={"F": "x"})
    refused(
        "no state 'f' to rename .*did you mean 'F'.*the inputs F, G",
        open_data,
        driven,
        rename={"f": "x"},
    )


def test_an_input_that_is_a_wrapped_angle(caplog):
    angle = 20.0 * T
    wrapped = (angle + np.pi) % (2 * np.pi) - np.pi
    ds = make_dataset(U[:1], T, w=wrapped[:, None], inputs="pivot", input_units=["rad"])
    open_data(ds)
    assert "input 'pivot' jumps by a full turn 3 times, first in trajectory 0" in caplog.text
    for opened in (open_data(ds, unwrap=True), open_data(ds, unwrap=["pivot"])):
        np.testing.assert_allclose(opened["w"][0, :, 0], angle, atol=1e-12)
        np.testing.assert_array_equal(opened["u"], U[:1])
    caplog.clear()
    held = open_data(ds, interpolation="held")
    assert caplog.text == "" and held["interpolation"].values == ["held"]


def test_a_jump_at_a_sample_is_at_it_by_the_clock_of_segments():
    """Their times are means of differences: a jump that came behind by rounding would change the wrong sample."""
    t, seconds = np.linspace(0.0, 10.0, 101), 1.7e9
    for times in (t, t + seconds):
        ds = make_dataset(
            U[:1, np.arange(101) % 11],
            times,
            ["x", "y"],
            w=np.arange(101.0)[:, None],
            inputs="F",
            interpolation="held",
        )
        found = segments(ds, 4)
        inputs = inputs_of(ds).of(found.trajectory)
        inputs = inputs.between(found.start_time, found.t[:, -1] + found.rounding)
        inputs = inputs.since(found.start_time)
        clock = np.broadcast_to(found.grid, found.u.shape[:2])
        assert np.isin(inputs.jumps[:, -1], found.grid).mean() < 0.9
        met = inputs.meeting(clock, found.rounding)
        known = met.jumps[np.isfinite(met.jumps)]
        assert np.isin(known, found.grid).all() and len(known) > 90
        np.testing.assert_array_equal(
            met.at(clock)[:, :, 0], ds["w"].values[0, found.start[:, None] + np.arange(5), 0]
        )
