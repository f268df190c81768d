"""The `pnde` command: one sentence and exit code 2 for what a user can mend, and nothing half-written."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import pnde
from pnde.cli.main import main

pytestmark = pytest.mark.slow

LAW = """
import jax.numpy as np

def conserved(u):
    x, y = u
    return x - 3 * np.log(x) + y - 1.5 * np.log(y)

def with_numpy(u):
    import numpy
    return numpy.log(u[0])
"""
SETTINGS = ["-s", "epochs=2", "-s", "width=8", "-s", "batch_size=64", "--no-progress"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data files good and bad, and a law."""
    path = tmp_path_factory.mktemp("cli")
    ds = pnde.systems.lotka_volterra().simulate(trajectories=10, t_end=2.0)
    own = ds.drop_attrs()
    pnde.data.save_data(own, path / "good.nc")
    pnde.data.save_data(own.isel(trajectory=[0, 1]), path / "few.nc")
    own.rename(time="zeit").to_netcdf(path / "no-time.nc")
    empty = own.copy(deep=True)
    empty["u"][:] = float("nan")
    empty.to_netcdf(path / "empty.nc")
    pnde.data.save_data(ds.assign_coords(state=["x", "z"]), path / "names.nc")
    negative = ds.copy(deep=True)
    negative["u"][2, 5] = [-1.0, 2.0]
    pnde.data.save_data(negative, path / "negative.nc")
    (path / "law.py").write_text(LAW)
    return path


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.chdir(folder)

    def invoke(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return invoke


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.nc"], "'nothing.nc' is neither a file nor a built-in system"),
        (["lotka-voltera"], "did you mean 'lotka-volterra'?"),
        (["no-time.nc", "--law", "law.py:conserved"], "no dimension 'time'"),
        (["empty.nc", "--law", "law.py:conserved"], "state 'x' is NaN everywhere"),
        (["names.nc"], "knows the states x, y: the data have a state 'z'"),
        (["negative.nc"], "state (-1, 2), trajectory 2 at t = 0.5"),
        (
            ["few.nc", "--law", "law.py:conserved", "-s", "data.train=5", "-s", "data.valid=2"],
            "fractions",
        ),
        (["few.nc", "--law", "law.py:conserved"], "2 trajectories but 3 are needed"),
        (["good.nc"], "needs a law"),
        (["good.nc", "--law", "law.py:conservd"], "did you mean 'conserved'?"),
        (["good.nc", "--law", "law.py"], "FILE.py:NAME"),
        (["good.nc", "--law", "law.py:with_numpy"], "calls a NumPy function"),
        (["good.nc", "-s", "epoch=2"], "did you mean 'epochs'?"),
        (["good.nc", "-s", "epochs=0"], "optimiser.epochs = 0"),
        (["good.nc", "--models", "nde,snde"], "snde needs its γ"),
        (["quartic", "--models", "angular-nde"], "no angular coordinates"),
        (["quartic", "-p", "colour=3"], "colour"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(run, folder, arguments, words):
    result = run("train", *SETTINGS, *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert "Traceback" not in result.output
    assert not (folder / "runs").exists() or not any((folder / "runs").iterdir())


def test_too_few_trajectories_are_counted(run):
    wanted = ["-s", "data.train=6", "-s", "data.valid=3", "-s", "data.test=3"]
    result = run("train", "few.nc", "--law", "law.py:conserved", *wanted, *SETTINGS)
    assert result.exit_code == 2
    assert "the data set has 2 trajectories but 12 are needed" in result.output


def test_from_a_file_to_figures_and_back(run, folder):
    """train, evaluate, rollout, plot and resume on one experiment."""
    trained = run("train", "good.nc", "--law", "law.py:conserved", "-o", "out", *SETTINGS)
    assert trained.exit_code == 0, trained.output
    out = folder / "out"
    files = {path.name for path in out.iterdir()}
    assert {"nde", "pnde", "table.csv", "errors.png", "phase.png", "experiment.json"} <= files
    assert "PNDE" in trained.output and "NDE" in trained.output

    refused = run("train", "good.nc", "--law", "law.py:conserved", "-o", "out", *SETTINGS)
    assert refused.exit_code == 2 and "pnde resume out" in refused.output
    forgotten = run("evaluate", "out")
    assert forgotten.exit_code == 2 and "--law" in forgotten.output

    evaluated = run("evaluate", "out/pnde", "--law", "law.py:conserved", "--t-end", "2")
    assert evaluated.exit_code == 0 and "constraint error, max" in evaluated.output
    rolled = run("rollout", "out/pnde", "--law", "law.py:conserved", "--t-end", 4, "-o", "f.nc")
    assert rolled.exit_code == 0, rolled.output
    forecast = pnde.open_data(folder / "f.nc")
    assert float(forecast["time"].max()) == 4
    assert float(forecast["constraint_error"].max()) < 1e-13
    drawn = run("plot", "out/pnde", "--law", "law.py:conserved", "-o", "pictures")
    assert drawn.exit_code == 0, drawn.output
    assert {p.name for p in (folder / "pictures").iterdir()} == {
        "errors.png",
        "phase.png",
        "history.png",
    }
    # A model that is missing is trained again, what is there is kept.
    before = (out / "nde" / "weights.safetensors").read_bytes()
    for path in sorted((out / "pnde").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    resumed = run("resume", "out", "--law", "law.py:conserved", "--no-progress")
    assert resumed.exit_code == 0, resumed.output
    assert (out / "pnde" / "weights.safetensors").exists()
    assert (out / "nde" / "weights.safetensors").read_bytes() == before


@pytest.mark.parametrize("command", ["evaluate", "rollout", "plot", "resume"])
def test_a_folder_that_is_none(run, command):
    result = run(command, "nowhere")
    assert result.exit_code == 2 and "nowhere" in result.output


def test_simulate_and_check(run, folder):
    made = run("simulate", "quartic", "-n", 4, "--t-end", 1, "-o", "q.csv")
    assert made.exit_code == 0, made.output
    assert Path(folder / "q.csv").read_text().startswith("trajectory")
    checked = run("check", "good.nc", "--law", "law.py:conserved", "-o", "check.png")
    assert checked.exit_code == 0 and "conserved" in checked.output
    assert (folder / "check.png").stat().st_size > 1000


def test_doctor(run):
    plain, machine = run("doctor"), run("doctor", "--json")
    assert plain.exit_code == 0 and "engine jax" in plain.output
    findings = json.loads(machine.output[machine.output.index("{") :])
    assert findings["solve"].startswith("ok"), findings
    assert "engine julia" in findings
