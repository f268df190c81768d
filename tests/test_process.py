"""What the command line asks of the operating system."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

from pnde.cli import process


@pytest.fixture
def calls(monkeypatch):
    """The calls of mallopt, which are not made."""
    made = []

    class Library:
        def mallopt(self, parameter, value):
            made.append((parameter, value))

    # Other packages may have set some: dask does, for its workers.
    for name in [*filter(lambda name: name.startswith("MALLOC_"), os.environ)]:
        monkeypatch.delenv(name)
    for name in ("GLIBC_TUNABLES", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library())
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    return made


def test_freed_memory_is_kept(calls):
    process.keep_freed()
    assert calls == [(-3, 2**30), (-1, 2**31 - 1), (-8, 1)]
    assert os.environ["MALLOC_ARENA_MAX"] == "1"  # for workers


def test_the_command_prepares_before_threads_are_there():
    """glibc gives the threads that are there heaps of their own, whatever it is told later."""
    program = "import sys, pnde.cli; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("name", ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "LD_PRELOAD"])
def test_settings_of_the_environment_stand(calls, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    process.keep_freed()
    assert calls == []


def test_other_libraries_are_left_alone(calls, monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    process.keep_freed()
    assert calls == []
