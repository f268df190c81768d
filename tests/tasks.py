"""What the processes of tests/test_sweep.py do."""

import os
import signal
from pathlib import Path


def square(task):
    """Of a number; the process that is the first to have a 5 is killed."""
    number, folder = task
    mark = Path(folder) / "killed"
    if number == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2
