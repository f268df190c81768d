"""Damaged run folders: every file of one, damaged in every way, is refused or gives the run that was written."""

import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from campaign import Wrong, run
from damage import damage

FILES = ("config.toml", "run.json", "weights.safetensors", "history.csv", "report.json", "data.nc")


@functools.cache
def whole():
    """A complete run, and one that was stopped; the same in every process."""
    import plain_engine

    import pnde
    from pnde.runs import folder, lifecycle

    lifecycle.get = lambda name="auto": plain_engine.PlainEngine()
    times = np.linspace(0, 2, 21)
    angles = np.linspace(0, 3, 12)[:, None] + times
    data = pnde.data.make_dataset(
        np.stack([np.cos(angles), -np.sin(angles)], -1), times, ["x", "v"]
    )
    data = pnde.split_data(data, 6, 3, 3)
    place = Path(tempfile.mkdtemp())
    settings = {"epochs": 3, "width": 4, "batch_size": 30, "method": "nde", "progress": False}
    complete = pnde.train(data, folder=place / "complete", **settings)
    write = folder.write_progress

    def stop(path, progress):
        write(path, progress)
        if progress.epoch == 2:
            raise KeyboardInterrupt

    folder.write_progress = stop
    try:
        pnde.train(data, folder=place / "stopped", **settings)
    except KeyboardInterrupt:
        folder.write_progress = write
    return complete, place


def _damaged(name, file, seed, place):
    target = Path(place) / "run"
    shutil.copytree(whole()[1] / name, target)
    before = (target / file).read_bytes()
    (target / file).write_bytes(damage(before, np.random.default_rng(seed)))
    return target


def _same(run):
    complete = whole()[0]
    for key, weight in complete.weights.items():
        if not np.array_equal(run.weights[key], weight):
            raise Wrong(f"{key} is not what was written")
    if not run.history.drop(columns="seconds").equals(complete.history.drop(columns="seconds")):
        raise Wrong("the history is not what was written")


def load_damaged(seed, file):
    import pnde

    with tempfile.TemporaryDirectory() as place:
        _same(pnde.load(_damaged("complete", file, seed, place)))


def resume_damaged(seed, file):
    import pnde

    with tempfile.TemporaryDirectory() as place:
        folder = _damaged("stopped", file, seed, place)
        (folder / "notes.txt").write_text("mine")
        names = {path.name for path in folder.iterdir()}
        try:
            _same(pnde.resume(folder, progress=False))
        finally:
            if not names <= {path.name for path in folder.iterdir()}:
                raise Wrong("a file is gone")


@pytest.mark.parametrize("file", FILES)
def test_a_complete_run(file, campaign_size):
    run(functools.partial(load_damaged, file=file), campaign_size, name=file).assert_clean()


@pytest.mark.parametrize("file", ["checkpoint/state.safetensors", "run.json", "config.toml"])
def test_a_stopped_run(file, campaign_size):
    run(functools.partial(resume_damaged, file=file), campaign_size, name=file).assert_clean()
