"""Systems that are driven, and families of them: truth, law and forecast agree."""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.optimize import fsolve

import pnde
from pnde.config import Config
from pnde.engines import get
from pnde.laws import Instant
from pnde.systems import driven_pendulum, ieee14, lotka_volterra_family
from pnde.systems.base import Driving
from pnde.training import batches_of


@cache
def pivot_run():
    ds = driven_pendulum().simulate(5, t_end=1.0, seed=2)
    settings = {
        "epochs": 1,
        "network": {"width": 16, "layers": 1},
        "data": {"train": 3, "valid": 1, "test": 1},
    }
    return pnde.train(ds, progress=False, **settings)


PERIOD = 2 * np.pi / np.sqrt(9.81)


def pivot(t):
    return 0.1 * np.sin(2.0 * t), 0.05 * np.cos(1.7 * t)


def forecast_of_pivot(run, periods):
    at = Instant(0.0, w=np.array([[0.0, 0.05]]), rate=np.array([[0.2, 0.0]]))
    start = driven_pendulum().start(np.array([[np.sin(0.5), -np.cos(0.5), 0.0, 0.0]]), at)
    return run.rollout(start, t_end=periods * PERIOD, dt=0.1, inputs=pivot)


def test_rods_on_a_driven_pivot_keep_their_length_for_fifty_periods():
    out = forecast_of_pivot(pivot_run(), 50)
    assert float(out["constraint_error"].max()) < 1e-12
    u, w = out["u"].values[0], out["w"].values[0]
    np.testing.assert_allclose(np.hypot(*(u[:, :2] - w).T), 1.0, atol=1e-12)
    np.testing.assert_allclose(w, np.stack(pivot(out["time"].values), axis=1), atol=1e-11)


def test_that_is_the_work_of_the_inputs_velocity(monkeypatch):
    """Without retraction, which hides what velocities do."""
    run = pivot_run()
    config = Config.make(run.model.config, **{"rollout.retract": "never", "tolerance": 1e-6})
    errors = {}
    for term in ("with", "without"):
        run.model = replace(
            run.model, config=Config.make(config, seed=len(term))
        )  # not the compiled one
        if term == "without":
            monkeypatch.setattr("pnde.engines.jax.fields.drift", lambda *_: None)
        errors[term] = float(forecast_of_pivot(run, 5)["constraint_error"].max())
    assert errors["with"] < 1e-4
    assert errors["without"] > 0.1


@cache
def loads():
    return ieee14(driven=[4, 9])


def ramp_and_step(system):
    """10 s of a ramp, then a step of 20 %."""
    t = np.linspace(0, 20, 41)
    factor = 1 + 0.2 * np.clip(t / 10, 0, 1) + 0.2 * (t >= 15)
    return t, factor[:, None] * system.constraint.usual_demand


def test_a_grid_after_a_ramp_and_a_step_of_its_loads():
    system = loads()
    t, w = ramp_and_step(system)
    ds = system.simulate(
        u0=system.operation_point[None],
        t_end=20.0,
        dt=0.5,
        driving=Driving(w=w[None], jumps=[[15.0]]),
    )
    assert float(pnde.check(ds)["absolute"].max()) < 1e-10
    # Just after the step the loads' voltages solve the algebraic equations, and the sources have not moved.
    at = int(np.searchsorted(t, 15.0))
    after, moving = ds["u"].values[0, at], system._moving
    wanted = -w[at] / system.grid.base_mva

    def miss(x):
        v = after.copy()
        v[system._following] = x
        power = system.grid.injected_power(system.grid.voltage(v))
        usual = system.grid.buses.active + 1j * system.grid.buses.reactive
        usual[system.constraint.driven] = wanted[:2] + 1j * wanted[2:]
        gap = (power - usual)[system.grid.loads]
        return np.concatenate([gap.real, gap.imag])

    before = ds["u"].values[0, at - 1]
    solved = fsolve(miss, before[system._following], xtol=1e-13)
    np.testing.assert_allclose(after[system._following], solved, atol=1e-8)
    jumped = np.abs(after - before)
    assert jumped[system._following].max() > 3e-3 > jumped[moving].max()


@cache
def grid_run():
    settings = {
        "epochs": 1,
        "network": {"width": 8, "layers": 1},
        "data": {"train": 3, "valid": 1, "test": 1},
    }
    return pnde.train(loads().simulate(5, t_end=2.0), progress=False, **settings)


def test_segments_that_jump_are_in_batches_of_their_own():
    run = grid_run()
    still, jumping = batches_of(get("jax"), run.model, run.data).train
    assert (len(still), len(jumping)) == (12, 3)
    assert not still.conditions.jump
    ds = pnde.select(run.data, "train")
    at = jumping.start[:, None] + jumping.conditions.inputs.jumps
    np.testing.assert_allclose(np.sort(at[:, 0]), np.sort(ds["jumps"].values[:, 0]))
    np.testing.assert_allclose(still.share.sum() + jumping.share.sum(), 2)


def test_a_model_of_a_grid_keeps_balance_through_a_step():
    system, run = loads(), grid_run()
    _, w = ramp_and_step(system)
    out = run.rollout(system.operation_point[None], t_end=20.0, dt=0.5, inputs=w, jumps=[15.0])
    assert out["status"].values == [0]
    assert float(out["constraint_error"].max()) < 1e-10
    assert out["jumps"].values == [[15.0]]


def test_a_family_of_laws():
    system = lotka_volterra_family()
    ds = system.simulate(18, t_end=2.0)
    assert float(pnde.check(ds)["relative"].max()) < 1e-10
    run = pnde.train(ds, epochs=1, network={"width": 8, "layers": 1}, progress=False)
    out = run.rollout()
    assert float(out["constraint_error"].max()) < 1e-12
    u0 = out["u"].values[:1, 0]
    other = [
        run.rollout(u0, t_end=2.0, dt=1.0, parameters=p)["u"].values
        for p in ([0.5, 1.0], {"delta": 0.5, "beta": 1.0})
    ]
    assert np.abs(other[0] - other[1]).max() > 1e-3
    np.testing.assert_allclose(
        other[0], run.rollout(u0, t_end=2.0, dt=1.0, parameters=[[0.5, 1.0]])["u"]
    )


def test_a_loaded_run_knows_its_inputs(tmp_path):
    run = pivot_run()
    run.save(tmp_path / "run")
    again = pnde.load(tmp_path / "run")
    assert again.model.inputs == ("X", "Y")
    np.testing.assert_array_equal(again.rollout()["u"], run.rollout()["u"])
