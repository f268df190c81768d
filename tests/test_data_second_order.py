"""Positions and velocities: told from each other, and one from the other."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pnde
from pnde.data import check_velocities, differentiate, make_dataset
from pnde.errors import ConfigError, DataError, PndeError

T = np.linspace(0, 6, 61)


def springs(t=T, count=4, noise=0.0, order=("x", "y", "vx", "vy")):
    """Two springs: x = cos 2t, y = sin 3t, and their velocities."""
    p = np.arange(count)[:, None]
    columns = {
        "x": np.cos(2 * t + p),
        "y": np.sin(3 * t + p),
        "vx": -2 * np.sin(2 * t + p),
        "vy": 3 * np.cos(3 * t + p),
    }
    rng = np.random.default_rng(0)
    u = np.stack(
        [columns[name] + noise * rng.standard_normal((count, len(t))) for name in order], -1
    )
    units = ["m/s" if name.startswith("v") else "m" for name in order]
    return make_dataset(u, t, order, units, time_units="s")


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_velocities_are_accepted(noise):
    check_velocities(springs(noise=noise))


@pytest.mark.parametrize("step", [0.01, 0.3, 0.6])
def test_any_sampling_is_accepted(step):
    check_velocities(springs(np.arange(0, 6, step), noise=0.02))


def test_uneven_times_and_gaps_are_accepted():
    t = np.sort(np.random.default_rng(1).uniform(0, 6, 80))
    ds = springs(t)
    ds["u"][:, 20:40] = np.nan
    ds["u"][1, 45:47, 0] = np.nan
    ds["u"][2, 50, 2] = np.nan
    check_velocities(ds)


def test_built_in_systems_of_second_order_are_accepted():
    check_velocities(pnde.systems.pendulum(2).simulate(trajectories=3, t_end=2.0, seed=1))


@pytest.mark.parametrize("factor", [1000.0, 1.5, -1.0, 0.0, 180 / np.pi])
def test_another_unit_is_refused_with_the_two_numbers(factor):
    ds = springs()
    ds["u"][:, :, 2] *= factor
    with pytest.raises(DataError) as caught:
        check_velocities(ds)
    sentence = str(caught.value)
    assert len(sentence) <= 300
    assert "takes 'vx' for the velocity of 'x'" in sentence and "differentiate" in sentence
    velocity, rate = (
        float(sentence.split(word)[1].split()[0].rstrip(";")) for word in ("it is ", "changes at ")
    )
    assert rate == pytest.approx(velocity / factor if factor else 2.0, rel=0.05)


@pytest.mark.parametrize("names", [None, ("a", "b", "c", "d")])
@pytest.mark.parametrize("order", [("x", "vx", "y", "vy"), ("vx", "vy", "x", "y")])
def test_other_orders_are_recognised(order, names):
    ds = springs(order=order)
    if names:
        ds = ds.assign_coords(state=list(names))
    with pytest.raises(DataError, match="takes all positions, then their velocities") as caught:
        check_velocities(ds)
    sentence = str(caught.value)
    assert len(sentence) <= 300
    # The remedy works.
    columns = json.loads(sentence.partition("data.isel(state=")[2].rstrip(")"))
    check_velocities(ds.isel(state=columns))


def test_names_tell_the_order_where_numbers_do_not():
    ds = springs(order=("x", "vx", "y", "vy"))
    ds["u"][:, :, 3] = 0.0  # a broken sensor
    with pytest.raises(DataError, match="reorder them as x, y, vx, vy"):
        check_velocities(ds)


def test_positions_alone_are_offered_velocities():
    ds = springs(order=("x", "y"))
    with pytest.raises(DataError, match=r"'y' for the velocity of 'x'.*pnde\.data\.differentiate"):
        check_velocities(ds)
    check_velocities(differentiate(ds))


def test_an_odd_number_of_states_names_the_parameter():
    ds = springs(order=("x", "vx"))
    length = np.broadcast_to(np.arange(1.0, 5)[:, None, None], (4, 61, 1))
    ds = make_dataset(np.concatenate([ds["u"].values, length], -1), T, ["x", "vx", "L"])
    with pytest.raises(ConfigError, match="there are 3 states; 'L' is constant in each trajectory"):
        check_velocities(ds)


def test_jumps_of_an_angle_are_named():
    theta = np.stack([(2 + k) * T for k in range(3)])
    wrapped = (theta + np.pi) % (2 * np.pi) - np.pi
    ds = make_dataset(
        np.stack([wrapped, np.gradient(wrapped, T, axis=1)], -1), T, ["theta", "omega"]
    )
    with pytest.raises(DataError, match=r"unwrap=\['theta'\]"):
        check_velocities(ds)


def test_train_refuses():
    with pytest.raises(PndeError, match="takes 'y' for the velocity of 'x'"):
        pnde.train(springs(order=("x", "y")), method="nde", order=2, epochs=1, progress=False)


def test_derivatives_without_noise():
    out = differentiate(springs(order=("x", "y")))
    assert out["state"].values.tolist() == ["x", "y", "x_dot", "y_dot"]
    assert out["units"].values.tolist() == ["m", "m", "m/s", "m/s"]
    np.testing.assert_allclose(out["u"], springs()["u"], atol=5e-3)
    np.testing.assert_array_equal(out["u"][..., :2], springs()["u"][..., :2])
    exact = differentiate(springs(order=("x", "y")), noise=0)
    np.testing.assert_allclose(exact["u"], springs()["u"], atol=1e-3)


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("noise", [1e-3, 1e-2])
def test_derivatives_of_noisy_positions(noise, uneven):
    t = np.linspace(0, 6, 600)
    if uneven:
        t = np.sort(np.random.default_rng(2).uniform(0, 6, 600))
    ds = springs(t, noise=noise, order=("x", "y"))
    error = differentiate(ds)["u"].values[..., 2:] - springs(t)["u"].values[..., 2:]
    plain = np.stack([np.gradient(ds["u"].values[k], t, axis=0) for k in range(4)])
    plain = plain - springs(t)["u"].values[..., 2:]
    # Times at random have a few gaps, of which one may leave too short a stretch.
    assert np.isnan(error).mean() < 0.01
    size = np.sqrt(np.nanmean(error**2))
    assert size < 20 * noise
    assert size < 0.3 * np.sqrt((plain**2).mean())


def test_units_and_times_do_not_matter():
    one = differentiate(springs(order=("x",)))["u"].values[..., 1]
    ds = springs(order=("x",))
    tiny = ds.assign(u=ds["u"] * 1e-9).assign_coords(time=ds["time"] * 1e6 + 1.7e9)
    two = differentiate(tiny)["u"].values[..., 1] * 1e15
    np.testing.assert_allclose(two, one, atol=1e-3)


def test_gaps_are_not_bridged():
    ds = springs(order=("x", "y"))
    ds["u"][:, 20:40] = np.nan
    ds["u"][0, 10, 0] = np.nan
    out = differentiate(ds)
    assert np.isnan(out["u"][:, 20:40]).all()
    assert (
        np.isnan(out["u"].values[0, 10, [0, 2]]).all()
        and np.isfinite(out["u"].values[0, 10, [1, 3]]).all()
    )
    known = np.isfinite(out["u"].values)
    np.testing.assert_array_equal(known[..., 2:], known[..., :2])
    np.testing.assert_allclose(out["u"].values[known], springs()["u"].values[known], atol=5e-3)


def test_chosen_positions_splits_and_extras_stay():
    ds = pnde.split_data(springs(), 2, 1, 1).assign(L=("trajectory", np.arange(4.0)))
    out = differentiate(ds, "y")
    assert out["state"].values.tolist() == ["y", "y_dot"]
    assert out["split"].values.tolist() == ["train", "train", "valid", "test"]
    np.testing.assert_array_equal(out["L"], np.arange(4))


def test_differentiate_refuses():
    ds = springs(order=("x", "y"))
    with pytest.raises(DataError, match="no state 'z'"):
        differentiate(ds, ["z"])
    with pytest.raises(DataError, match="the noise of positions is a standard deviation, not -1"):
        differentiate(ds, noise=-1)
    wrapped = (4 * T + np.pi) % (2 * np.pi) - np.pi
    with pytest.raises(DataError, match=r"unwrap=\['theta'\]"):
        differentiate(make_dataset(wrapped[None, :, None], T, ["theta"]))


def test_measured_positions_of_a_pendulum_train():
    u = [
        solve_ivp(
            lambda s, y: [y[1], -np.sin(y[0])], (0, 6), [a, 0], t_eval=T, rtol=1e-9, atol=1e-9
        ).y[0]
        for a in (0.4, 0.6, 0.8, 1.0, 1.2)
    ]
    ds = differentiate(make_dataset(np.array(u)[..., None], T, ["theta"]))
    run = pnde.train(ds, method="nde", order=2, epochs=3, width=8, progress=False)
    assert np.isfinite(run.history["loss"]).all()
