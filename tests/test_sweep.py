"""Sweeps: their files, their runs, and what is left of them when a process is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import tasks
from click.testing import CliRunner

import pnde
from pnde.cli.main import main
from pnde.errors import ConfigError, EngineError
from pnde.sweep import Sweep, spread, sweep, sweeping


@pytest.fixture
def file(tmp_path, orbits):
    """A sweep of 2 × 2 runs on a data file beside it."""
    pnde.data.save_data(pnde.split_data(orbits, 2, 2, 2), tmp_path / "orbits.nc")
    path = tmp_path / "some.toml"
    path.write_text(
        """source = "orbits.nc"
epochs = 2
network = { layers = 1, width = 4 }
model = "nde"

[grid]
learning_rate = [1e-3, 1e-2]
seed = [1, 2]
"""
    )
    return path


@pytest.mark.usefixtures("plain_engine")
def test_every_combination_is_a_run_with_a_row(file, tmp_path):
    table = sweep(file, tmp_path / "out")
    assert table.index.tolist() == [
        f"learning_rate={rate},seed={seed}" for rate in (0.001, 0.01) for seed in (1, 2)
    ]
    for name, row in table.iterrows():
        run = pnde.load(tmp_path / "out" / name)
        assert run.model.config.optimiser.learning_rate == row["learning_rate"]
        assert run.model.config.seed == row["seed"]
        assert run.report["best_loss"] == row["best loss"]
        assert run.model.config.method == "nde"
    written = pd.read_csv(tmp_path / "out" / "table.csv", index_col="run")
    assert written["best loss"].tolist() == table["best loss"].tolist()
    assert (tmp_path / "out" / "sweep.png").stat().st_size > 1000


@pytest.mark.usefixtures("plain_engine")
def test_what_is_done_stays_and_what_was_begun_goes_on(file, tmp_path, monkeypatch):
    whole = sweep(file, tmp_path / "whole")
    real, trained = sweeping.train, []

    def train(*arguments, folder, **settings):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(folder.name)
        return real(*arguments, folder=folder, **settings)

    monkeypatch.setattr(sweeping, "train", train)
    with pytest.raises(KeyboardInterrupt):
        sweep(file, tmp_path / "out")
    monkeypatch.setattr(sweeping, "train", lambda *a, **k: trained.append("again") or real(*a, **k))
    table = sweep(file, tmp_path / "out")
    assert trained[2:] == ["again", "again"]
    assert table["best loss"].tolist() == whole["best loss"].tolist()
    # More seeds may be added, and other settings are another sweep.
    file.write_text(file.read_text().replace("[1, 2]", "[1, 2, 3]"))
    assert len(sweep(file, tmp_path / "out")) == 6 and len(trained) == 6
    file.write_text(file.read_text().replace("epochs = 2", "epochs = 3"))
    with pytest.raises(ConfigError, match=r"seed=1 with other settings: name another folder"):
        sweep(file, tmp_path / "out")


def test_all_that_is_wrong_is_told_with_its_line_before_anything_runs(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(
        """source = "quartic"
learning_rat = 1e-3

[grid]
model = ["nde", "pnd"]
width = [8, -16]
"""
    )
    done = CliRunner().invoke(main, ["sweep", str(path), "-o", str(tmp_path / "out")])
    told = done.stderr.splitlines()
    assert done.exit_code == 2 and not (tmp_path / "out").exists()
    assert len(told) == 3 and all(line.startswith(f"pnde: {path}, line ") for line in told)
    assert "line 2: unknown setting 'learning_rat' (did you mean 'learning_rate'?)" in told[0]
    assert any("line 5: there is no model 'pnd' (did you mean 'pnde'?)" in line for line in told)
    assert any("line 6: network.width = -16: Input should be greater" in line for line in told)


@pytest.mark.parametrize(
    "text, says",
    [
        ("[grid]\nseed = 3", "line 2: seed of the grid has to be a list"),
        ("[[run]]\nseed = 1\n[[run]]\nseed = 1", r"runs 1 and 2 are the same"),
        ("[grid]\nseed = [[1]", "is not valid TOML"),
        ("run = 3", r"write each run of a list as a table \[\[run\]\]"),
    ],
)
def test_files_that_are_no_sweep_are_refused(text, says, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        Sweep.read(path)


def test_a_model_without_a_law_is_told_before_it_is_trained(file):
    unlabelled = pnde.open_data(file.parent / "orbits.nc")
    unlabelled.attrs.clear()
    pnde.data.save_data(unlabelled, file.parent / "orbits.nc")
    file.write_text(file.read_text().replace('"nde"', '"pnde"'))
    with pytest.raises(ExceptionGroup) as caught:
        Sweep.read(file)
    (error,) = caught.value.exceptions
    assert "needs a law: name one with --law FILE.py:NAME" in str(error)


def test_a_list_of_runs_is_combined_with_the_grid(tmp_path):
    path = tmp_path / "list.toml"
    path.write_text(
        """preset = "quick"
[[run]]
source = "quartic"
[[run]]
source = "pendulum"
p.n = 2
model = "snde:20"
[grid]
seed = [1, 2]
"""
    )
    runs = Sweep.read(path).runs
    assert [run.name for run in runs] == [
        "source=quartic,seed=1",
        "source=quartic,seed=2",
        "source=pendulum,n=2,model=snde:20,seed=1",
        "source=pendulum,n=2,model=snde:20,seed=2",
    ]
    assert runs[2].parameters == {"n": 2} and runs[2].config().gamma == 20


@pytest.mark.slow
def test_tasks_of_a_process_that_is_killed_are_done_by_others(tmp_path):
    given = [(number, str(tmp_path)) for number in range(12)]
    done = dict(spread(tasks.square, given, jobs=2))
    assert done == {task: task[0] ** 2 for task in given} and (tmp_path / "killed").exists()


@pytest.mark.slow
def test_processes_end_with_the_one_that_gave_them_tasks(tmp_path):
    given = [(number, str(tmp_path)) for number in range(2)]
    giver = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import tasks; from pnde.sweep import spread; list(spread(tasks.wait_long, {given}, jobs=2))",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        _until(lambda: len(_numbers(tmp_path)) == 2)
    finally:
        giver.kill()
        giver.wait()
    _until(lambda: not any(map(_is_alive, _numbers(tmp_path))))


def _numbers(folder):
    return [int(text) for path in folder.glob("*.pid") if (text := path.read_text())]


def _is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    # Ended, but nobody has asked how: so it stays in a container without an init process.
    status = Path(f"/proc/{number}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def _until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_tasks_of_a_worker_that_is_killed_are_done_by_others(tmp_path):
    distributed = pytest.importorskip("distributed", reason="pip install 'pnde[cluster]'")
    given = [(number, str(tmp_path)) for number in range(12)]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"
    ) as cluster:
        done = dict(spread(tasks.square, given, scheduler=cluster.scheduler_address))
    assert done == {task: task[0] ** 2 for task in given} and (tmp_path / "killed").exists()


def test_a_cluster_that_is_not_there_is_told(monkeypatch):
    try:
        import distributed  # noqa: F401

        kind, says = ConfigError, "there is no scheduler of dask at 'tcp://127.0.0.1:1'"
        monkeypatch.setattr("distributed.Client", _no_client)
    except ImportError:
        kind, says = EngineError, r"pip install 'pnde\[cluster\]'"
    with pytest.raises(kind, match=says):
        list(spread(abs, [1, 2], scheduler="tcp://127.0.0.1:1"))


def _no_client(*_, **__):
    raise OSError("Timed out")
