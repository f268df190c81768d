"""The one door to every kind of grid."""

from pathlib import Path

import pytest

from pnde.errors import DataError
from pnde.grids import ieee14, is_grid_file, read_grid
from pnde.grids.read import READERS

DATA = Path(__file__).parent / "data"


def test_names_paths_and_grids():
    assert read_grid("ieee14").buses.voltage[7] == 1.0
    assert read_grid("ieee14-published").buses.voltage[7] == 0.1548724573182038
    assert read_grid(str(DATA / "ieee14.m")).size == 14
    assert read_grid(DATA / "ieee39.raw").size == 40
    grid = ieee14()
    assert read_grid(grid) is grid


def test_other_things_are_refused():
    with pytest.raises(
        DataError, match=r"'ieee41'.*did you mean 'ieee14'.*\.m, \.mat, \.raw, \.json, \.xlsx"
    ):
        read_grid("ieee41")
    with pytest.raises(DataError, match=r"cannot read .*none\.raw: No such file"):
        read_grid("none.raw")
    with pytest.raises(DataError, match=r"cannot read net\.p: a pickle can run any code"):
        read_grid("net.p")
    with pytest.raises(DataError, match="cannot read a grid from int"):
        read_grid(14)


def test_pypower_case():
    pypower = pytest.importorskip("pypower.api", reason="pypower is not installed")
    assert read_grid(pypower.case9()).size == 9


@pytest.mark.parametrize("suffix", [".m", ".mat", ".raw", ".json", ".xlsx"])
def test_what_has_no_end_is_refused(tmp_path, suffix):
    path = tmp_path / f"grid{suffix}"
    path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="it is no regular file"):
        read_grid(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match="it is no regular file"):
        read_grid(path)


@pytest.mark.parametrize("suffix", [".m", ".mat", ".raw", ".json", ".xlsx"])
@pytest.mark.parametrize("content", [b"", b"\x00" * 2000, b"\xff\xfe\x00", b"[" * 100_000, b"{}"])
def test_what_is_no_grid_is_one_sentence(tmp_path, suffix, content):
    path = tmp_path / f"grid{suffix}"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_grid(path)
    assert len(str(caught.value)) <= 300 and "\n" not in str(caught.value)


def test_grid_files_are_told_from_data(tmp_path):
    import numpy as np
    import scipy.io

    assert is_grid_file("case.m") and is_grid_file("CASE.RAW") and is_grid_file("net.xlsx")
    assert not is_grid_file("data.csv") and not is_grid_file(tmp_path / "none.mat")
    scipy.io.savemat(tmp_path / "case.mat", {"mpc": {"bus": np.zeros((1, 13))}})
    scipy.io.savemat(tmp_path / "data.mat", {"t": np.zeros(3), "u": np.zeros((3, 2))})
    assert is_grid_file(tmp_path / "case.mat") and not is_grid_file(tmp_path / "data.mat")


def test_a_grid_beyond_the_memory_is_one_sentence(tmp_path, monkeypatch):
    def all_of_it(path):
        raise MemoryError

    monkeypatch.setitem(READERS, ".m", all_of_it)
    with pytest.raises(DataError, match="holds more than the memory can take"):
        read_grid(tmp_path / "case.m")
