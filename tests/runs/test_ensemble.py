"""Ensembles: folders, kills, bands; with the plain engine, whose members are trained one after another."""

import numpy as np
import pytest

import pnde
from pnde.errors import ConfigError, DataError, RunError
from pnde.runs import folder as disk
from pnde.runs.bands import add_bands, band_widths

pytestmark = pytest.mark.usefixtures("plain_engine")

SETTINGS = {"epochs": 3, "layers": 1, "width": 4, "members": 3, "seed": 5, "progress": False}


class Stopped(Exception):
    pass


def same(a, b):
    assert a.keys() == b.keys()
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_members_are_the_ordinary_runs_of_their_seeds(data, tmp_path):
    ensemble = pnde.train(data, folder=tmp_path / "run", **SETTINGS)
    assert isinstance(ensemble, pnde.Ensemble)
    assert sorted(p.name for p in (tmp_path / "run").glob("member-*")) == [
        "member-1",
        "member-2",
        "member-3",
    ]
    for k, member in enumerate(ensemble.members):
        alone = pnde.train(data, **SETTINGS | {"members": 1, "seed": 5 + k})
        same(member.weights, alone.weights)
        again = pnde.load(tmp_path / "run" / f"member-{k + 1}")
        assert type(again) is pnde.Run
        same(again.weights, alone.weights)
    loaded = pnde.load(tmp_path / "run")
    assert isinstance(loaded, pnde.Ensemble) and "Ensemble of 3" in repr(loaded)
    centre = loaded.rollout()
    each = [member.rollout()["u"].values for member in ensemble.members]
    np.testing.assert_allclose(centre["u"], np.mean(each, axis=0), rtol=1e-14)
    np.testing.assert_allclose(centre["spread"], np.std(each, axis=0), atol=1e-14)
    copy = pnde.load(ensemble.save(tmp_path / "copy"))
    same(copy.members[2].weights, ensemble.members[2].weights)
    with pytest.raises(ConfigError, match=r"a member at a time: ensemble.members\[0\].export"):
        loaded.export(tmp_path / "x")


def test_where_the_mean_does_not_come_back_the_nearest_member_stands_for_it(data, monkeypatch):
    ensemble = pnde.train(data, **SETTINGS)
    each = np.stack([member.rollout()["u"].values for member in ensemble.members])
    mean = each.mean(axis=0)
    away = np.linalg.norm((each - mean) / ensemble.model.std, axis=-1)
    nearest = np.take_along_axis(each, away.argmin(axis=0)[None, ..., None], axis=0)[0]

    def back(way):
        def retract(self, constraint, metric, u, at, c, bounds=None):
            return way(u), np.arange(len(u)) % 2 == 0

        return retract

    rows = np.arange(mean[..., 0].size).reshape(mean.shape[:2]) % 2 == 0
    for way, found in ((lambda u: u + 1e-12, mean + 1e-12), (lambda u: u + 9, nearest)):
        monkeypatch.setattr("plain_engine.PlainEngine.retract", back(way))
        centre = ensemble.rollout()
        expected = np.where(rows[..., None] & (away.min(axis=0) > 1e-9)[..., None], found, nearest)
        np.testing.assert_allclose(centre["u"], expected, rtol=1e-14)
        assert (centre["status"] == 0).all()


def test_an_ensemble_that_was_stopped_ends_with_the_same_weights(data, tmp_path, monkeypatch):
    whole = pnde.train(data, **SETTINGS)
    write, written = disk.write_members, []

    def stop(folder, done):
        write(folder, done)
        written.append(done)
        if len(written) == 2:
            raise Stopped

    monkeypatch.setattr(disk, "write_members", stop)
    with pytest.raises(Stopped):
        pnde.train(data, folder=tmp_path / "run", **SETTINGS)
    half = pnde.load(tmp_path / "run")
    assert [len(member.history) for member in half.members] == [2, 2, 2]
    resumed = pnde.resume(tmp_path / "run", progress=False)
    for member, other in zip(resumed.members, whole.members, strict=True):
        same(member.weights, other.weights)
    assert len(pnde.resume(tmp_path / "run").members) == 3


def test_a_folder_with_members_is_left_as_it_is(data, tmp_path, monkeypatch):
    run = pnde.train(data, **SETTINGS)
    run.members[1].save(tmp_path / "run" / "member-2")
    with pytest.raises(RunError, match="holds member-2 already"):
        pnde.train(data, folder=tmp_path / "run", **SETTINGS)
    same(pnde.load(tmp_path / "run" / "member-2").weights, run.members[1].weights)

    def full(folder, report):
        raise RunError("no space")

    monkeypatch.setattr(disk, "write_report", full)
    with pytest.raises(RunError, match="no space"):
        run.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def made(u, **more):
    times = np.arange(u.shape[1]) / 4
    return pnde.data.make_dataset(u, times, ["x", "y"], **more)


def test_bands_cover_what_they_say():
    rng, sizes = np.random.default_rng(1), np.array([[0, 0], [1, 5], [2, 7], [3, 9.0]])
    truth = made(rng.normal(size=(500, 4, 2)) * sizes)
    zero = made(np.zeros((500, 4, 2)))
    for level in (0.5, 0.9):
        widths, clock = band_widths(truth, zero, level)
        new = made(rng.normal(size=(2000, 4, 2)) * sizes)
        forecast = add_bands(made(np.zeros((2000, 4, 2))), widths, clock, level)
        shares = pnde.metrics.coverage(new, forecast).values
        assert shares[0] == 1 and np.abs(shares[1:] - level).max() < 0.04
        normal = {0.5: 0.674, 0.9: 1.645}[level]
        np.testing.assert_allclose(widths[1:], normal * sizes[1:], rtol=0.15)


def test_the_rank_is_that_of_finite_samples():
    """Of nine errors the largest covers 90 %: ⌈10 · 0.9⌉ = 9; a missing value leaves eight, and no band."""
    errors = np.arange(1.0, 10)[:, None, None] * np.ones((9, 2, 2))
    errors[3, 1, 1] = np.nan
    widths, _ = band_widths(made(errors), made(np.zeros((9, 2, 2))), 0.9)
    assert widths.tolist() == [[9, 9], [9, np.inf]]
    failed = np.zeros((9, 2, 2))
    failed[0, 1] = np.nan
    widths, _ = band_widths(made(errors), made(failed), 0.9)
    assert widths.tolist() == [[9, 9], [np.inf, np.inf]]


def test_bands_of_a_run(data, tmp_path):
    run = pnde.train(data, **SETTINGS | {"members": 1})
    with pytest.raises(DataError, match=r"bands of 0.9 need 9 trajectories .* has 3: give it more"):
        run.rollout(bands=0.9)
    with pytest.raises(ConfigError, match="is not a share between 0 and 1"):
        run.rollout(bands=90)
    forecast = run.rollout(bands=0.5)
    assert forecast.attrs["bands"] == 0.5
    assert (forecast["lower"] <= forecast["u"]).all()
    table = run.evaluate(bands=0.5)
    assert 0 <= table.loc["PNDE", "coverage of 0.5 bands"] <= 1
    assert table.loc["PNDE", "width of bands"] > 0
    with pytest.raises(ConfigError, match="bands are known for 2 from the start"):
        run.rollout(t_end=4.0, bands=0.5)
    axes = pnde.plot.trajectories({"truth": pnde.select(data, "test"), "PNDE": forecast})
    assert [len(panel.collections) for panel in axes] == [1, 1]
