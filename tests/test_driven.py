"""What drives a forecast, from whatever it is given as; models are not needed for it."""

from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import pnde
from pnde.cli.main import main
from pnde.data import make_dataset
from pnde.driven import conditions_of
from pnde.errors import ConfigError, DataError
from pnde.experiment import angular_twin
from pnde.forecast import _note_conditions

T = np.linspace(0.0, 2.0, 5)
MODEL = SimpleNamespace(inputs=("F",), parameters=("L",))
TRUTH = make_dataset(
    np.zeros((1, 5, 1)), T, ["x"], w=T[:, None], inputs="F", p=[2.0], parameters="L"
)


def conditions(**given):
    return conditions_of(MODEL, TRUTH, TRUTH, T[None], **given)


def table(values):
    return make_dataset(np.stack([values, 0 * T], axis=-1), T, ["F", "note"])


def test_columns_become_inputs_that_may_jump():
    values = np.where(T < 1.0, 0.0, 3.0)
    slope = conditions(inputs=table(values)).inputs
    step = conditions(inputs=table(values), jumps=[1.0]).inputs
    t = np.array([[0.75, 1.0, 1.5]])
    np.testing.assert_allclose(slope.at(t)[0, :, 0], [1.5, 3, 3])
    np.testing.assert_allclose(step.at(t)[0, :, 0], [0, 3, 3])


def test_what_columns_and_jumps_may_not_be():
    gap = np.where(T == 1.0, np.nan, T)
    with pytest.raises(DataError, match="input 'F' is missing at t = 1 "):
        conditions(inputs=table(gap))
    with pytest.raises(DataError, match="jump at t = 5 lies in no trajectory"):
        conditions(inputs=table(T), jumps=[5.0])
    with pytest.raises(DataError, match="the inputs have their own"):
        conditions(inputs=TRUTH, jumps=[1.0])
    with pytest.raises(DataError, match=r"'F', which is not there: name a column so"):
        conditions(inputs=make_dataset(T[:, None], T, ["G"]))


def test_a_function_with_a_corner():
    with pytest.raises(DataError, match=r"jumps, or has a corner, near t = 0\.7"):
        conditions(inputs=lambda t: [min(t, 0.7)])
    found = conditions(inputs=lambda t: [min(t, 0.7)], jumps=[0.7]).inputs
    np.testing.assert_allclose(found.at(T[None])[0, :, 0], np.minimum(T, 0.7), atol=1e-12)


def test_a_forecast_has_the_jumps_that_lie_in_it(tmp_path):
    truth = TRUTH.assign(jumps=(("trajectory", "jump"), [[0.75, 1.5]]))
    short = T[None, :3]
    out = make_dataset(np.zeros((1, 3, 1)), short[0], ["x"])
    _note_conditions(out, MODEL, truth, short, conditions_of(MODEL, truth, truth, short))
    np.testing.assert_array_equal(out["jumps"], [[0.75]])
    pnde.data.save_data(out, tmp_path / "forecast.nc")
    assert pnde.open_data(tmp_path / "forecast.nc").identical(out)


def test_a_driven_pendulum_has_no_angular_model():
    with pytest.raises(ConfigError, match="driven-pendulum has no angular coordinates"):
        angular_twin(pnde.systems.driven_pendulum())


def test_inputs_and_parameters_on_the_command_line(tmp_path, monkeypatch):
    seen = {}

    def rollout(initial, t_end, dt, **given):
        seen.update(given)
        return TRUTH.assign(
            status=("trajectory", [0]), constraint_error=(("trajectory", "time"), np.zeros((1, 5)))
        )

    kind = SimpleNamespace(slug="pnde")
    run = SimpleNamespace(label="PNDE", rollout=rollout, model=SimpleNamespace(kind=kind))
    monkeypatch.setattr("pnde.experiment.runs_in", lambda folder, law: [run])
    pnde.data.save_data(table(T), tmp_path / "plan.csv")
    arguments = ["rollout", str(tmp_path), "--inputs-from", str(tmp_path / "plan.csv")]
    done = CliRunner().invoke(main, [*arguments, "--jumps", "0.5,1", "-p", "L=1.5"])
    assert done.exit_code == 0, done.output
    assert seen["jumps"] == [0.5, 1.0] and seen["parameters"] == {"L": 1.5}
    assert list(seen["inputs"]["state"].values) == ["F", "note"]
    alone = CliRunner().invoke(main, ["rollout", str(tmp_path), "--jumps", "0.5"])
    assert alone.exit_code == 2 and "Name them by --initial" in alone.output
