"""What the engine asks of the operating system."""

import ctypes
import platform

import jax
import pytest

from pnde.engines.jax import memory


@pytest.fixture
def calls(monkeypatch):
    """The calls of mallopt, which are not made."""
    made = []

    class Library:
        def mallopt(self, parameter, value):
            made.append((parameter, value))

    for name in ("GLIBC_TUNABLES", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library())
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    return made


def test_freed_memory_is_kept(calls):
    memory.keep_freed()
    assert calls == [(-3, 2**30), (-1, 2**31 - 1), (-8, 1)]


@pytest.mark.parametrize("name", ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "LD_PRELOAD"])
def test_settings_of_the_environment_stand(calls, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    memory.keep_freed()
    assert calls == []


def test_other_libraries_are_left_alone(calls, monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    memory.keep_freed()
    assert calls == []


@pytest.mark.parametrize(("most", "compiled"), [(10, 2), (10**9, 1)])
def test_programs_are_forgotten_when_they_hold_half_of_the_maps(
    tmp_path, monkeypatch, most, compiled
):
    monkeypatch.setattr(memory, "_MAPS", tmp_path / "maps")
    monkeypatch.setattr(memory, "_MOST_MAPS", tmp_path / "most")
    (tmp_path / "maps").write_text("a map\n" * 6)
    (tmp_path / "most").write_text(str(most))
    traced = []

    @jax.jit
    def double(x):
        traced.append(x)
        return 2 * x

    double(1.0)
    memory.make_room_for_programs()
    double(1.0)
    assert len(traced) == compiled


def test_without_proc_nothing_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_MAPS", tmp_path / "none")
    monkeypatch.setattr(memory, "_MOST_MAPS", tmp_path / "none")
    memory.make_room_for_programs()
