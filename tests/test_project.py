"""Measured data put on the manifold of a law."""

import jax.numpy as jnp
import numpy as np
import pytest

import pnde
from pnde.data import make_dataset, segments
from pnde.engines import get
from pnde.errors import ConfigError, ConstraintError
from pnde.laws import UNDRIVEN
from pnde.laws.projecting import onto_manifold

T = np.linspace(0, 6, 61)


def energy(u):
    return 0.5 * u[1] ** 2 + 2 * u[0] ** 2


def springs(noise=0.02, scale=1.0, seed=0):
    phase = 2 * T + np.arange(4)[:, None]
    size = np.array([0.8, 1.0, 1.2, 1.4])[:, None]
    u = np.stack([size * np.cos(phase), -2 * size * np.sin(phase)], -1)
    noisy = u + noise * np.random.default_rng(seed).standard_normal(u.shape)
    return make_dataset(scale * noisy, T, ["x", "v"]), 2 * size[:, 0] ** 2 * scale**2, scale * u


def test_samples_are_put_on_the_manifold():
    ds, true_energy, truth = springs()
    out = pnde.project(ds, energy)
    u = out["u"].values
    h = energy(np.moveaxis(u, -1, 0))
    # All samples of a trajectory have one energy: the median of the measured ones.
    measured = np.median(energy(np.moveaxis(ds["u"].values, -1, 0)), axis=1)
    np.testing.assert_allclose(h, np.broadcast_to(measured[:, None], h.shape), rtol=1e-14)
    np.testing.assert_allclose(measured, true_energy, rtol=0.03)
    # Only the noise across the manifold goes, which is half of it.
    before, after = (np.sqrt(((x - truth) ** 2).mean()) for x in (ds["u"].values, u))
    assert after < 0.85 * before
    np.testing.assert_array_equal(out["moved_by_state"], u - ds["u"].values)
    std = ds["u"].values.reshape(-1, 2).std(axis=0, ddof=1)
    np.testing.assert_allclose(
        out["moved"], np.linalg.norm((u - ds["u"].values) / std, axis=-1), rtol=1e-9
    )
    assert out["moved"].dims == ("trajectory", "time")


def test_the_first_sample_may_set_the_target():
    ds, _, _ = springs()
    out = pnde.project(ds, energy, initial="first")
    first = ds["u"].values[:, 0]
    h = energy(np.moveaxis(out["u"].values, -1, 0))
    np.testing.assert_allclose(h, np.broadcast_to(energy(first.T)[:, None], h.shape), rtol=1e-14)
    np.testing.assert_allclose(out["moved"][:, 0], 0, atol=1e-12)
    with pytest.raises(ConfigError, match="initial is"):
        pnde.project(ds, energy, initial="mean")


def test_units_do_not_matter():
    one, other = (pnde.project(springs(scale=s)[0], energy) for s in (1.0, 1e6))
    np.testing.assert_allclose(other["u"], 1e6 * one["u"], rtol=1e-9)
    np.testing.assert_allclose(other["moved"], one["moved"], rtol=1e-6, atol=1e-9)


def test_fixed_targets_stay():
    ds, _, _ = springs()
    out = pnde.project(ds, pnde.Constraint(energy, target=2.0))
    np.testing.assert_allclose(energy(np.moveaxis(out["u"].values, -1, 0)), 2.0, rtol=1e-14)


def metric_function(u):
    return jnp.stack([1e8 + 0 * u[0], 1.0 + 0 * u[0]])


@pytest.mark.parametrize("metric", [[1e8, 1.0], np.diag([1e8, 1.0]), metric_function])
def test_the_metric_says_what_moves(metric):
    ds, _, _ = springs()
    # A sample with v = 0 cannot be moved by v alone.
    ds["u"].values[np.abs(ds["u"].values[..., 1]) < 0.5] = np.nan
    out = pnde.project(ds, energy, metric=metric)
    step = np.abs(out["moved_by_state"].values)
    assert np.nanmax(step[..., 0]) < 1e-6 < 1e-3 < np.nanmax(step[..., 1])


def test_unknown_samples_stay_and_laws_of_time_work():
    ds, _, _ = springs()
    ds["u"][1, 5] = np.nan
    ds["u"][2, 7, 0] = np.nan

    def growing(u, t):
        return energy(u) / (1 + t)

    ds = ds.assign(u=ds["u"] * np.sqrt(1 + ds["time"]))
    law = pnde.Constraint(growing, time_dependent=True, target=2.0)
    out = pnde.project(ds, law)
    known = np.isfinite(ds["u"].values)
    np.testing.assert_array_equal(np.isfinite(out["u"].values), known)
    assert np.isnan(out["moved"].values[[1, 2], [5, 7]]).all()
    h = energy(np.moveaxis(out["u"].values, -1, 0))[known.all(axis=-1)]
    np.testing.assert_allclose(
        h, 2 * (1 + np.broadcast_to(T, (4, 61)))[known.all(axis=-1)], rtol=1e-13
    )


def test_samples_that_do_not_converge_are_named():
    ds, _, _ = springs()
    ds["u"][1, 10] = 0.0  # the energy has no gradient there
    with pytest.raises(ConstraintError) as caught:
        pnde.project(ds, energy)
    assert (
        "1 of 244 samples cannot be put on the manifold of 'energy': trajectory 1 at t = 1"
        in str(caught.value)
    )
    with pytest.raises(ConstraintError, match=r"244 of 244 samples .* and 241 more"):
        pnde.project(ds, pnde.Constraint(energy, target=-1.0))


def test_there_has_to_be_a_law():
    with pytest.raises(ConstraintError, match="no law to project on"):
        pnde.project(springs()[0])


def test_a_rod_that_a_camera_measured():
    angle = 0.5 * np.cos(3 * T)
    rate = -1.5 * np.sin(3 * T)
    u = np.stack([np.sin(angle), -np.cos(angle), rate * np.cos(angle), rate * np.sin(angle)], -1)
    noisy = u + 0.01 * np.random.default_rng(0).standard_normal(u.shape)
    out = pnde.project(make_dataset(noisy, T, ["x", "y", "vx", "vy"]), pnde.laws.Rods([1.0]))
    x, y, vx, vy = np.moveaxis(out["u"].values[0], -1, 0)
    np.testing.assert_allclose(x**2 + y**2, 1, rtol=1e-14)
    np.testing.assert_allclose(x * vx + y * vy, 0, atol=1e-14)


def test_starts_of_segments_are_put_on_the_law_though_no_sample_is_complete():
    ds, true_energy, _ = springs(noise=0.0)
    ds["u"].values[:, ::2, 0] = np.nan
    ds["u"].values[:, 1::2, 1] = np.nan
    law = pnde.Conserved(energy)
    cut = segments(ds, 4, onto_manifold(get("jax"), law, None, UNDRIVEN))
    h = energy(cut.u[:, 0].T)
    own = np.array([h[cut.trajectory == k][0] for k in range(4)])
    np.testing.assert_allclose(h, own[cut.trajectory], rtol=1e-14)
    np.testing.assert_allclose(own, true_energy, rtol=2e-3)
