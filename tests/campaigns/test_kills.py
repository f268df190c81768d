"""A kill before every file operation of a training and of its resumption: all end with the same weights.

A kill is an exception at the n-th event that Python's audit hook reports of files (open for writing, rename, remove,
make and remove folders), after which nothing more is done to files: neither clean-up nor the release of the lock. The
process that is killed is then one that has ended.
"""

import json
import shutil
import sys

import numpy as np
import pytest

import pnde
from pnde.runs import folder as disk
from pnde.runs.lock import NAME

pytestmark = pytest.mark.usefixtures("plain_engine")

SETTINGS = {"epochs": 3, "width": 4, "batch_size": 30, "method": "nde", "progress": False}
EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}
WRITING = 0o3 | 0o100  # O_WRONLY, O_RDWR, O_CREAT


class Killed(BaseException):
    pass


class Hook:
    """Counts the file operations inside a folder, and kills before one of them."""

    def __init__(self):
        self.folder, self.at, self.count = None, None, 0
        sys.addaudithook(self)

    def __call__(self, event, arguments):
        if self.folder is None or not self._writes(event, arguments):
            return
        self.count += 1
        if self.at is not None and self.count > self.at:
            raise Killed

    def _writes(self, event, arguments):
        if event == "open":
            path, _, flags = arguments
            return isinstance(path, str) and path.startswith(self.folder) and flags & WRITING
        return event in EVENTS and str(arguments[0]).startswith(self.folder)

    def run(self, action, folder, at=None):
        """How many operations the action did; `None` if it was killed."""
        self.folder, self.at, self.count = str(folder), at, 0
        try:
            action()
            return self.count
        except Killed:
            return None
        finally:
            self.folder = None


@pytest.fixture(scope="module")
def hook():
    return Hook()


def ended(folder):
    """The process that has the lock is no longer there."""
    lock = folder / NAME
    if lock.exists() and lock.read_text():
        lock.write_text(json.dumps(json.loads(lock.read_text()) | {"began": "long ago"}))
    elif lock.exists():
        import os

        os.utime(lock, (0, 0))


def begin(data, folder):
    pnde.train(data, folder=folder, **SETTINGS)


def go_on(data, folder):
    """What a user does: resume, or begin again where nothing was begun."""
    if (folder / "run.json").exists():
        return pnde.resume(folder, progress=False)
    return pnde.train(data, folder=folder, **SETTINGS)


def check(folder, whole):
    run = pnde.load(folder)
    assert run.report["complete"]
    for name, weight in whole.weights.items():
        np.testing.assert_array_equal(run.weights[name], weight)
    left = [path.name for path in folder.rglob("*") if path.name.startswith(".")]
    assert left == [], left
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine") / "run"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    return folder


def test_every_kill_of_a_training(data, hook, mine, tmp_path):
    whole = pnde.train(data, **SETTINGS)
    straight = shutil.copytree(mine, tmp_path / "straight")
    count = hook.run(lambda: begin(data, straight), straight)
    assert count > 30
    for at in range(count):
        folder = shutil.copytree(mine, tmp_path / str(at))
        assert hook.run(lambda folder=folder: begin(data, folder), folder, at) is None
        ended(folder)
        if disk.has_weights(folder) and (folder / "run.json").exists():
            pnde.load(folder)  # usable as it is
        go_on(data, folder)
        check(folder, whole)


def test_every_kill_of_a_resumption(data, hook, mine, tmp_path):
    """Killed in the middle, then killed while it goes on, then resumed."""
    whole = pnde.train(data, **SETTINGS)
    half = shutil.copytree(mine, tmp_path / "half")
    straight = shutil.copytree(mine, tmp_path / "straight")
    count = hook.run(lambda: begin(data, straight), straight)
    assert hook.run(lambda: begin(data, half), half, count // 2) is None
    ended(half)
    resumed = shutil.copytree(half, tmp_path / "resumed")
    second = hook.run(lambda: go_on(data, resumed), resumed)
    assert second > 10
    for at in range(second):
        folder = shutil.copytree(half, tmp_path / f"second-{at}")
        assert hook.run(lambda folder=folder: go_on(data, folder), folder, at) is None
        ended(folder)
        go_on(data, folder)
        check(folder, whole)
