"""Grids that follow a load profile, in Python and on the command line."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import pnde
from pnde.cli.main import main
from pnde.errors import DataError
from pnde.systems import driven_by

PROFILE = pd.DataFrame(
    {
        "time": [0.0, 0.3, 0.65, 1.0],
        "P load 4": [47.8, 60.0, 60.0, 50.0],
        "Q load 9": [16.6, 16.6, 20.0, 20.0],
    }
)
INPUTS = ("P load 4", "P load 9", "Q load 4", "Q load 9")


@pytest.fixture(scope="module")
def grid():
    return pnde.systems.ieee14()


def test_what_is_named_is_driven_and_the_rest_keeps_its_set_point(grid):
    system, driving = driven_by(grid, PROFILE)
    assert system.inputs == INPUTS and grid.inputs == ()
    assert (system.name, system.t_end, system.dt) == ("ieee14", 1.0, 0.1)
    assert driving.w.shape == (11, 4) and driving.jumps == []
    np.testing.assert_allclose(driving.w[:4, 0], [47.8, 51.8667, 55.9333, 60], atol=1e-4)
    np.testing.assert_allclose(driving.w[:, 1], 29.5)
    np.testing.assert_allclose(driving.w[:, 2], 0)


def test_a_held_profile_jumps_where_it_changes(grid):
    _, driving = driven_by(grid, PROFILE, interpolation="held")
    # 0.3 is the sample 3 * 0.1, whatever the rounding; 0.65 lies between two.
    np.testing.assert_allclose(driving.jumps, [0.3, 0.65, 1.0])
    np.testing.assert_array_equal(driving.w[:, 0], [47.8] * 3 + [60] * 7 + [50])
    np.testing.assert_array_equal(driving.w[:, 3], [16.6] * 7 + [20] * 4)


def test_declared_jumps_and_a_profile_for_each(grid):
    two = pd.concat([PROFILE.assign(trajectory=name) for name in "ab"])
    two.loc[two["trajectory"] == "b", "P load 4"] += 1
    _, driving = driven_by(grid, two, t_end=0.6, dt=0.2, jumps=[0.3])
    assert driving.w.shape == (2, 4, 4) and driving.jumps == [[0.3], [0.3]]
    np.testing.assert_allclose(driving.w[1, :, 0], [48.8, 48.8, 61, 61])


@pytest.mark.parametrize(
    ("change", "keywords", "words"),
    [
        ({"P load 4": "Pload 4"}, {}, r"no load of ieee14 \(did you mean 'P load 4'\?\)"),
        ({"P load 4": "P load 2"}, {}, "bus 2 of ieee14, which is a slack"),
        ({"P load 4": "Q load 6"}, {}, "bus 6 of ieee14, which is a source"),
        ({}, {"t_end": 1.5}, "from t = 0 to 1, but the simulation from 0 to 1.5"),
        ({}, {"jumps": [2.0]}, "jump at t = 2 lies in no trajectory"),
        ({}, {"dt": 0.5, "interpolation": "held"}, "at t = 0.65 and at 1, with no sample"),
        ({}, {"interpolation": "hold"}, "did you mean 'held'"),
    ],
)
def test_what_a_profile_may_not_be(grid, change, keywords, words):
    with pytest.raises(DataError, match=words):
        driven_by(grid, PROFILE.rename(columns=change), **keywords)


def test_profiles_with_gaps_late_starts_and_other_units(grid, tmp_path):
    gap = PROFILE.copy()
    gap.loc[1, "Q load 9"] = np.nan
    with pytest.raises(DataError, match=r"'Q load 9' is missing at t = 0\.3"):
        driven_by(grid, gap)
    with pytest.raises(DataError, match=r"goes from t = 0\.3 to 1"):
        driven_by(grid, PROFILE[1:])
    (tmp_path / "kw.csv").write_text("time,P load 4 [kW]\n0,47800\n1,47800\n")
    with pytest.raises(DataError, match="'P load 4' is in 'kW', but a profile has MW"):
        driven_by(grid, tmp_path / "kw.csv")


def test_simulate_on_the_command_line(grid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PROFILE.to_csv("profile.csv", index=False)

    def run(*arguments):
        return CliRunner().invoke(main, ["simulate", *arguments])

    made = run(
        *("ieee14", "--loads", "profile.csv", "--interpolation", "held"), *("-n", "2", "-o", "a.nc")
    )
    assert made.exit_code == 0 and "jumps       3 in each trajectory" in made.output
    ds = pnde.open_data("a.nc")
    assert tuple(ds["input"].values) == INPUTS and set(ds["interpolation"].values) == {"held"}
    system = pnde.systems.system_of(ds)
    # The load follows: what it injects is what the profile says, at the samples after the jumps too.
    injected = system.active_power(ds).sel(bus=4)
    np.testing.assert_allclose(injected, np.tile([-0.478] * 3 + [-0.6] * 7 + [-0.5], (2, 1)))
    assert float(system.bus_error(ds).max()) < 1e-10
    for arguments, words in (
        (["quartic", "--loads", "profile.csv"], "quartic is no power grid"),
        (["ieee14", "--jumps", "3"], "of the profile that --loads names"),
    ):
        refused = run(*arguments, "-o", "b.nc")
        assert refused.exit_code == 2 and words in refused.output
