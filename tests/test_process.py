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
    assert calls == [(-4, 0), (-1, -1), (-8, 1)]
    assert os.environ["MALLOC_ARENA_MAX"] == "1"  # for workers


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc")
@pytest.mark.parametrize("by", ["calls", "environment"])
def test_a_large_block_stays_with_the_process(by):
    """As a step of a large network frees it; glibc would return it to Linux."""
    program = """if True:
        import ctypes, os, pathlib, sys
        from pnde.cli import process
        if sys.argv[1] == "calls":
            process.keep_freed()
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        libc.malloc.argtypes = [ctypes.c_size_t]
        block = libc.malloc(2**30)
        ctypes.memset(block, 1, 2**30)
        libc.free(block)
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        print(pages * os.sysconf("SC_PAGE_SIZE") >= 2**30)
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MALLOC_") and name not in ("GLIBC_TUNABLES", "LD_PRELOAD")
    }
    if by == "environment":
        environment |= {name: str(value) for name, (_, value) in process.MALLOC.items()}
    done = subprocess.run(
        [sys.executable, "-c", program, by], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "True\n", done.stderr


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
