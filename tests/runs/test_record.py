"""The record of a run: what it refuses, and what has to be passed again."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from plain_engine import PlainTraining

import pnde
from pnde.errors import RunError, SolveError
from pnde.runs import folder as disk
from pnde.runs.record import Record

pytestmark = pytest.mark.usefixtures("plain_engine")

SETTINGS = {"epochs": 3, "width": 8, "batch_size": 64, "learning_rate": 1e-2, "progress": False}


@pytest.fixture
def trained(data, plain_engine, tmp_path):
    return pnde.train(data, folder=tmp_path / "trained", **SETTINGS), tmp_path / "trained"


@pytest.fixture
def folder(trained):
    return trained[1]


def scale(u):
    return np.stack([1.0, 1.0 + u[0] ** 2])


def other_scale(u):
    return np.stack([1.0 + u[0] ** 2, 1.0])


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("weights.safetensors", b"garbage", "weights.safetensors is not the file"),
        ("weights.safetensors", None, "weights.safetensors is missing"),
        ("run.json", b"{}", "run.json cannot be read"),
        ("run.json", b"[" * 100_000, "run.json cannot be read"),
        ("run.json", b"\xff\xfe", "run.json cannot be read"),
        ("run.json", None, "not a run folder"),
        ("config.toml", b'method = "nde"', "config.toml is not the file"),
        ("config.toml", None, "config.toml is missing"),
        ("history.csv", b"", "history.csv is not the file"),
        ("data.nc", None, "the data of the run are not at"),
        ("data.nc", b"other", "is not the file that the run"),
        ("report.json", b"{}", "report.json is not the file"),
    ],
)
def test_a_damaged_folder_is_named(folder, file, content, words):
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    for use in (pnde.load, pnde.resume):
        with pytest.raises(RunError, match=words) as error:
            use(folder)
        assert len(str(error.value)) <= 300


@pytest.mark.parametrize("file", ["config.toml", "run.json", "weights.safetensors"])
def test_a_file_cut_short_anywhere_is_never_another_one(folder, file):
    whole = (folder / file).read_bytes()
    for length in range(0, len(whole) - 1, max(1, len(whole) // 100)):
        (folder / file).write_bytes(whole[:length])
        with pytest.raises(RunError):
            pnde.load(folder)


def test_a_record_of_a_newer_format(folder):
    content = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(content | {"format": 2}))
    with pytest.raises(RunError, match="has the format 2, but this version of pnde knows 1"):
        pnde.load(folder)


def test_a_record_that_was_edited(folder):
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"order": 1', '"order": 2'))
    with pytest.raises(RunError, match="checksum"):
        pnde.load(folder)


def test_a_folder_of_the_version_before(tmp_path):
    (tmp_path / "model.json").write_text("{}")
    (tmp_path / "config.toml").write_text('method = "nde"')
    for use in (pnde.load, pnde.resume):
        with pytest.raises(RunError, match=r"was written by pnde 0\.1"):
            use(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "model.json"]


def test_weights_of_another_network_are_refused(folder):
    disk.write_arrays(folder / "weights.safetensors", {"layers.0.weight": np.zeros((2, 5))})
    with pytest.raises(RunError, match="not the file that the run was written with"):
        pnde.load(folder)
    record = Record.read(folder)
    sums = record.files | disk.checksums(folder, "weights.safetensors")
    record.model_copy(update={"files": sums}).write(folder)
    with pytest.raises(
        RunError, match=r"layers.0.weight has the shape \(2, 5\), where .* \(2, 8\)"
    ):
        pnde.load(folder)


def test_the_data_of_the_user_are_found_again_and_known_again(data, tmp_path):
    path = tmp_path / "mine.nc"
    pnde.data.save_data(data, path)
    run = pnde.train(path, folder=tmp_path / "run", **SETTINGS)
    assert not (tmp_path / "run" / "data.nc").exists()
    moved = shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-moved")
    np.testing.assert_array_equal(pnde.load(moved / "run").rollout()["u"], run.rollout()["u"])
    pnde.data.save_data(data.isel(trajectory=slice(1, None)), path)
    with pytest.raises(RunError, match=r"mine.nc is not the file that the run"):
        pnde.load(tmp_path / "run")


def test_a_function_metric_has_to_be_passed_again(data, tmp_path):
    """It was loaded without, and forecast something else."""
    run = pnde.train(data, metric=scale, folder=tmp_path / "run", **SETTINGS)
    with pytest.raises(RunError, match=r"uses the metric 'scale', a function.*pass it again"):
        pnde.load(tmp_path / "run")
    with pytest.raises(RunError, match="what was passed is 'other_scale'"):
        pnde.load(tmp_path / "run", metric=other_scale)
    again = pnde.load(tmp_path / "run", metric=scale)
    np.testing.assert_array_equal(again.rollout()["u"], run.rollout()["u"])
    assert pnde.resume(tmp_path / "run", metric=scale).report == run.report


def test_a_constant_metric_is_stored(data, tmp_path):
    run = pnde.train(data, metric=[1.0, 100.0], folder=tmp_path / "run", **SETTINGS)
    again = pnde.load(tmp_path / "run")
    np.testing.assert_array_equal(again.rollout()["u"], run.rollout()["u"])
    with pytest.raises(RunError, match="another metric, which is stored"):
        pnde.load(tmp_path / "run", metric=[1.0, 2.0])


def test_another_law_is_refused(data, tmp_path):
    def sum_of_both(u):
        return 0.0 * (u[0] + u[1])

    def product(u):
        return 0.0 * u[0] * u[1]

    bare = data.drop_attrs()
    pnde.train(bare, sum_of_both, method="nde", folder=tmp_path / "run", **SETTINGS)
    with pytest.raises(RunError, match="keeps the law 'sum_of_both', which is not stored"):
        pnde.load(tmp_path / "run")
    with pytest.raises(RunError, match="but the one that was passed is 'product'"):
        pnde.load(tmp_path / "run", product)
    two = pnde.Constraint(lambda u: 0.0 * u, names=("a", "b"))
    two.h.__name__ = "sum_of_both"
    with pytest.raises(RunError, match=r"a law of 1 row\(s\) \(sum_of_both\).* has 2 \(a, b\)"):
        pnde.load(tmp_path / "run", two)
    assert pnde.load(tmp_path / "run", sum_of_both).label == "NDE"


def test_a_law_of_the_users_own_on_data_of_a_built_in_system_is_not_replaced(data, tmp_path):
    def product(u):
        return 0.0 * u[0] * u[1]

    pnde.train(data, product, method="nde", folder=tmp_path / "run", **SETTINGS)
    with pytest.raises(RunError, match="keeps the law 'product', which is not stored"):
        pnde.load(tmp_path / "run")


def test_a_saved_run_is_complete(trained, tmp_path):
    """It was trained anew by resume."""
    run = trained[0]
    path = run.save(tmp_path / "saved")
    before = {p.name: p.read_bytes() for p in path.iterdir()}
    again = pnde.resume(path)
    for name, weight in run.weights.items():
        np.testing.assert_array_equal(again.weights[name], weight)
    assert {p.name: p.read_bytes() for p in path.iterdir()} == before


def test_a_run_goes_on_as_it_began(data, tmp_path, monkeypatch):
    """With its engine, but on as many devices as those who go on with it have."""
    from pnde.runs import lifecycle

    calls = iter(range(100))

    def stop(*_):
        if next(calls) == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        write = _then(lifecycle.disk.write_progress, stop)
        patched.setattr(lifecycle.disk, "write_progress", write)
        pnde.train(data, folder=tmp_path / "run", **SETTINGS)
    monkeypatch.setenv("PNDE_ENGINE", "julia")
    with pytest.raises(RunError, match="began with the engine 'jax' and goes on with it"):
        pnde.resume(tmp_path / "run", engine="julia")
    seen = []
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(lifecycle, "together", lambda: True)
        patched.setattr(lifecycle, "batches_of", lambda _, model, __: _stop(seen, model.config))
        pnde.resume(tmp_path / "run", progress=False)
    assert [config.devices for config in seen] == ["all"]
    assert pnde.resume(tmp_path / "run", progress=False).report["engine"] == "jax"


def _stop(seen, config):
    seen.append(config)
    raise KeyboardInterrupt


def _then(first, second):
    def both(*arguments):
        first(*arguments)
        second()

    return both


@pytest.mark.parametrize("failing", [0, 5])
def test_a_failing_loss_keeps_the_last_checkpoint(data, tmp_path, monkeypatch, failing):
    """And where there is none, nothing is left behind."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    step = PlainTraining.step
    for folder in (tmp_path / "new" / "run", tmp_path / "mine"):
        calls = iter(range(100))

        def fails(self, index, rate, calls=calls):
            done = step(self, index, rate)
            return done if next(calls) != failing else replace(done, loss=np.nan)

        monkeypatch.setattr(PlainTraining, "step", fails)
        settings = SETTINGS | {"batch_size": 10, "epochs": 9}
        with pytest.raises(SolveError, match="training loss is not finite in epoch"):
            pnde.train(data, folder=folder, **settings)
        if failing:
            assert not Record.read(folder).complete
            assert disk.read_progress(folder).epoch == 1
            monkeypatch.setattr(PlainTraining, "step", step)
            assert pnde.resume(folder, progress=False).report["complete"]
    assert (tmp_path / "new").exists() == bool(failing)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
    assert len(list((tmp_path / "mine").iterdir())) == (8 if failing else 1)


def test_files_of_the_user_are_never_written_over(data, tmp_path):
    (tmp_path / "data.nc").write_bytes(b"mine")
    with pytest.raises(RunError, match=r"holds data.nc already"):
        pnde.train(data, folder=tmp_path, **SETTINGS)
    assert (tmp_path / "data.nc").read_bytes() == b"mine"
    assert [p.name for p in tmp_path.iterdir()] == ["data.nc"]


def test_a_run_and_its_law_fit_three_lines(trained):
    run = trained[0]
    for thing in (run, run.model.constraint):
        assert len(repr(thing).splitlines()) <= 3 and len(repr(thing)) < 300
    assert "PNDE" in repr(run)
