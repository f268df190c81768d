"""A training that is killed, at any moment, and resumed."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import pnde
from pnde.errors import RunError
from pnde.runs import folder as disk

RESUMED = """
import sys, pnde
from pathlib import Path
data, folder = sys.argv[1:]
if (Path(folder) / "run.json").exists():
    pnde.resume(folder, progress=False)
else:
    pnde.train(data, folder=folder, progress=False, epochs=150, width=8, batch_size=64)
"""


@pytest.mark.slow
def test_killed_three_times_and_resumed_a_run_ends_with_the_same_weights(data, tmp_path):
    """SIGKILL at three epochs, not told in advance to the run."""
    path = tmp_path / "data.nc"
    pnde.data.save_data(data, path)
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    folder = tmp_path / "killed"
    command = [sys.executable, "-c", RESUMED, str(path), str(folder)]
    killed_at = []
    for at_least in (3, 40, 80):
        process = subprocess.Popen(command, env=environment)
        while process.poll() is None and _epochs(folder) < at_least:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"
        killed_at.append(_epochs(folder))
    assert len(set(killed_at)) == 3
    subprocess.run(command, env=environment, check=True)
    straight = tmp_path / "straight"
    subprocess.run([*command[:-1], str(straight)], env=environment, check=True)
    assert (folder / disk.WEIGHTS).read_bytes() == (straight / disk.WEIGHTS).read_bytes()
    ours, theirs = disk.read_progress(folder), disk.read_progress(straight)
    for mine, other in ((ours.weights, theirs.weights), (ours.state, theirs.state)):
        assert mine.keys() == other.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], other[name])
    assert [row[:5] for row in ours.history] == [row[:5] for row in theirs.history]
    assert not list(folder.glob(".*"))


def _epochs(folder):
    try:
        progress = disk.read_progress(folder)
    except RunError:
        return 0
    return 0 if progress is None else progress.epoch
