"""The process that reads foreign files first."""

import h5py
import numpy as np
import pytest

from pnde import open_data
from pnde.data import _trial, make_dataset, save_data
from pnde.errors import DataError


@pytest.fixture
def foreign(tmp_path):
    """A NetCDF file that somebody else wrote."""
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as file:
        file["time"], file["x"] = np.arange(3.0), np.arange(3.0)
        file["time"].make_scale("time")
        file["x"].dims[0].attach_scale(file["time"])
    return path


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Puts another program in the place of the process; `process(text)`."""
    monkeypatch.setattr(_trial, "_kept", None)

    def put(text):
        path = tmp_path / "process.py"
        path.write_text(text)
        monkeypatch.setattr(_trial, "_PROCESS", path)

    yield put
    if _trial._kept is not None:
        _trial._kept[1].kill()


def test_one_process_reads_all_foreign_files(foreign, process):
    open_data(foreign)
    first = _trial._kept[1].pid
    open_data(foreign)
    assert _trial._kept[1].pid == first


def test_a_process_that_crashes_is_one_sentence_and_is_started_again(foreign, process, monkeypatch):
    right = _trial._PROCESS
    process("import os, sys\nsys.stdin.readline()\nos.abort()\n")
    for _ in range(2):
        with pytest.raises(
            DataError, match=r"a\.nc: the file is damaged: reading it ends the process"
        ):
            open_data(foreign)
    monkeypatch.setattr(_trial, "_PROCESS", right)
    assert open_data(foreign).sizes["time"] == 3


def test_a_file_whose_reading_does_not_end(foreign, process, monkeypatch):
    monkeypatch.setattr(_trial, "_SECONDS", 0.5)
    process("import time\ntime.sleep(600)\n")
    with pytest.raises(DataError, match="or does not end"):
        open_data(foreign)


def test_what_the_process_says_is_told(foreign, process):
    process("import sys\nsys.stdin.readline()\nprint('\"bad B-tree\"', flush=True)\n")
    with pytest.raises(DataError, match=r"cannot be read \(bad B-tree\)"):
        open_data(foreign)


def test_an_own_file_with_its_checksum_is_read_at_once(tmp_path, process):
    process("raise SystemExit(1)\n")
    ds = make_dataset(np.ones((3, 1)), np.arange(3.0))
    assert open_data(save_data(ds, tmp_path / "own.nc")).sizes["time"] == 3


def test_a_module_beside_the_data_is_not_imported(foreign, process, monkeypatch):
    (foreign.parent / "h5py.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(foreign.parent)
    assert open_data(foreign).sizes["time"] == 3
