"""What the processes of tests/test_sweep.py do."""

import os
import signal
import time
from pathlib import Path


def square(task):
    """Of a number; the process that is the first to have a 5 is killed."""
    number, folder = task
    mark = Path(folder) / "killed"
    if number == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


def wait_long(task):
    """Leave the number of this process in the folder of the task, and take longer than any test."""
    number, folder = task
    (Path(folder) / f"{number}.pid").write_text(str(os.getpid()))
    time.sleep(600)
