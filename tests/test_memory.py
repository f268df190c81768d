"""Compiled programs, and how many of them are kept."""

import jax
import pytest

from pnde.engines.jax import memory


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
