"""Files written in one step, on disks that do not take them."""

import os
import resource
import signal

import pytest

import pnde
from pnde.errors import PndeError, RunError
from pnde.files import checksum, read_bytes, read_json, write_bytes
from pnde.runs import folder as disk

pytestmark = pytest.mark.usefixtures("plain_engine")

SETTINGS = {"epochs": 4, "width": 4, "batch_size": 64, "method": "nde", "progress": False}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"No space left on device.: free space on the disk"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("place", ["/dev/zero", "pipe", "folder"])
def test_what_is_no_file_is_not_read(tmp_path, place):
    path = tmp_path / place
    if place == "pipe":
        os.mkfifo(path)
    elif place == "folder":
        path.mkdir()
    for read in (read_bytes, read_json, checksum):
        with pytest.raises(RunError, match="cannot be read"):
            read(path)


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_numbers_in_json_are_finite(tmp_path, number):
    path = tmp_path / "record.json"
    path.write_text(f'{{"best_loss": {number}}}')
    with pytest.raises(RunError, match="cannot be read"):
        read_json(path)


def test_a_limit_on_the_size_of_files_keeps_the_last_checkpoint(data, tmp_path):
    """The kernel refuses to write past it; what is there stays usable, and no temporary file is left."""
    folder = tmp_path / "run"
    pnde.train(data, folder=folder, **SETTINGS | {"epochs": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, hard))
    try:
        with pytest.raises(PndeError, match="raise the limit on the size of files") as error:
            pnde.train(data, folder=tmp_path / "small", **SETTINGS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert len(str(error.value)) <= 300
    assert not (tmp_path / "small").exists()


def test_a_folder_that_is_removed_while_training(data, tmp_path, monkeypatch):
    import shutil

    folder, write = tmp_path / "run", disk.write_progress

    def removed(path, progress):
        if progress.epoch == 2:
            shutil.rmtree(path)
        write(path, progress)

    monkeypatch.setattr(disk, "write_progress", removed)
    with pytest.raises(RunError, match="put the folder back") as error:
        pnde.train(data, folder=folder, **SETTINGS)
    assert "\n" not in str(error.value)
    assert not folder.exists()


def test_a_disk_that_fills_up_keeps_the_last_checkpoint(data, tmp_path, monkeypatch):
    folder, sync, calls = tmp_path / "run", os.fsync, iter(range(1000))

    def full(descriptor):
        if next(calls) > 12:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(RunError, match="free space on the disk"):
            pnde.train(data, folder=folder, **SETTINGS | {"epochs": 20})
    assert not [p for p in folder.rglob(".*")]
    whole = pnde.train(data, **SETTINGS | {"epochs": 20})
    resumed = pnde.resume(folder, progress=False)
    for name, weight in whole.weights.items():
        assert (resumed.weights[name] == weight).all()
