"""One process at a time in a folder, and links that lead out of it."""

import json
import os
import socket
import subprocess
import sys

import pytest

import pnde
from pnde.errors import RunError
from pnde.files import sweep, write_bytes
from pnde.runs.lock import NAME, locked

pytestmark = pytest.mark.usefixtures("plain_engine")

SETTINGS = {"epochs": 2, "width": 4, "batch_size": 64, "method": "nde", "progress": False}


def test_a_second_process_is_refused_and_named(data, tmp_path):
    code = "import sys, time; from pathlib import Path; from pnde.runs.lock import locked\n"
    code += "with locked(Path(sys.argv[1])): print('in', flush=True); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(RunError, match=f"in use by process {other.pid}"):
            pnde.train(data, folder=tmp_path, **SETTINGS)
    finally:
        other.kill()
        other.wait()
    assert [p.name for p in tmp_path.iterdir()] == [NAME]
    pnde.train(data, folder=tmp_path, **SETTINGS)  # the killed one's lock is taken over
    assert not (tmp_path / NAME).exists()


def test_a_process_on_another_host_may_still_be_there(tmp_path):
    (tmp_path / NAME).write_text(json.dumps({"process": 1, "host": "elsewhere", "began": None}))
    with (
        pytest.raises(RunError, match=r"in use by process 1 on elsewhere.*remove"),
        locked(tmp_path),
    ):
        pass


def test_the_number_of_a_process_that_went_to_another_one(tmp_path):
    content = {"process": os.getpid(), "host": socket.gethostname(), "began": "1"}
    (tmp_path / NAME).write_text(json.dumps(content))
    with locked(tmp_path):
        pass


def test_links_are_not_followed(data, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    (run / "checkpoint").symlink_to(outside)
    with pytest.raises(RunError, match="checkpoint is a link"):
        pnde.train(data, folder=run, **SETTINGS)
    assert [p.name for p in outside.iterdir()] == ["precious"]
    # A link in the place of a file is replaced, not written through.
    (run / "file").symlink_to(outside / "precious")
    write_bytes(run / "file", b"new")
    assert (outside / "precious").read_text() == "mine" and (run / "file").read_bytes() == b"new"


def test_temporary_files_of_a_killed_process_are_swept_up(tmp_path):
    code = "import os, sys; from pathlib import Path; from pnde.files import write_aside\n"
    code += "write_aside(Path(sys.argv[1]) / 'a.nc', lambda p: (p.write_bytes(b'x'), os._exit(9)))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    sweep(tmp_path)
    assert not list(tmp_path.iterdir())
