"""Forecasts that are written in blocks are those of one rollout, and go on where they were stopped."""

import sys

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import pnde
from pnde.cli.main import main
from pnde.errors import DataError, RunError
from pnde.runs import streaming

pytestmark = pytest.mark.usefixtures("plain_engine")


@pytest.fixture
def run(data, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "_MOST", 4)
    return pnde.train(data, epochs=1, layers=1, width=4, progress=False, folder=tmp_path / "run")


def states(count=10):
    return np.random.default_rng(1).uniform(1, 3, (count, 2))


class Stopped(Exception):
    pass


@pytest.fixture(params=[".nc", ".zarr"])
def path(request, tmp_path):
    if request.param == ".zarr":
        pytest.importorskip("zarr")
    return tmp_path / f"forecast{request.param}"


def test_a_stream_that_was_stopped_ends_as_one_rollout(run, path, monkeypatch):
    whole = run.rollout(states(), t_end=3.0)
    fill, filled = pnde.data.Store.fill, []

    def interrupted(store, block, first):
        if first == 4 and len(filled) == 1:
            raise Stopped
        filled.append(first)
        fill(store, block, first)

    monkeypatch.setattr(pnde.data.Store, "fill", interrupted)
    with pytest.raises(Stopped):
        run.rollout_to(path, states(), t_end=3.0, progress=False)
    assert not path.exists()
    with pytest.raises(RunError, match="has the beginning of another forecast"):
        run.rollout_to(path, states() + 0.1, t_end=3.0, progress=False)
    filled.append(None)
    assert run.rollout_to(path, states(), t_end=3.0, progress=False) == path
    assert filled == [0, None, 4, 8]
    assert [entry.name for entry in path.parent.iterdir() if "part" in entry.name] == []
    xr.testing.assert_equal(pnde.open_data(path), pnde.open_data(whole))
    assert "rollout_seconds" not in pnde.open_data(path).attrs
    with pytest.raises(RunError, match="is there already"):
        run.rollout_to(path, states(), t_end=3.0)


def test_by_the_command_line(run, tmp_path, monkeypatch):
    from pnde import experiment

    monkeypatch.setattr(experiment, "runs_in", lambda *_: [run])
    np.save(tmp_path / "states.npy", states())
    words = ["rollout", tmp_path, "--initial", tmp_path / "states.npy", "--to", tmp_path / "f.nc"]
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    assert "f.nc: 10 of 10 trajectories, 00:00 left" in result.output
    assert pnde.open_data(tmp_path / "f.nc").sizes["trajectory"] == 10
    (tmp_path / "states.npy").write_bytes(b"no array")
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 2 and "is no array of NumPy" in result.output


def test_what_cannot_be_streamed_is_refused_in_a_sentence(run, data, tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"unknown kind of file '.csv'; forecasts are streamed to"):
        run.rollout_to(tmp_path / "f.csv", states())
    late = data.copy(deep=True)
    late["u"][0, 0] = np.nan
    with pytest.raises(DataError, match="start together"):
        run.rollout_to(tmp_path / "f.nc", late)
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(DataError, match=r"pip install 'pnde\[zarr\]'"):
        run.rollout_to(tmp_path / "f.zarr", states())
    (tmp_path / "f.nc.part").mkdir()
    (tmp_path / "f.nc.part" / "data.nc").write_text("mine")
    with pytest.raises(RunError, match="holds no forecast of pnde"):
        run.rollout_to(tmp_path / "f.nc", states())
    assert (tmp_path / "f.nc.part" / "data.nc").read_text() == "mine"
