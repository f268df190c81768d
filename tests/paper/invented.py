"""The folder of a reproduction that was never run: forecasts, runs, failures and measurements that are made up."""

import numpy as np
import pandas as pd

import pnde
from pnde.data import make_dataset, save_data
from pnde.files import write_json
from pnde.paper import Plan, Results, complexity
from pnde.paper.studies import STUDIES, label, slug, study
from pnde.runs.record import EngineRecord, Record, data_record
from pnde.systems.pendulum import to_cartesian
from pnde.training import EpochRow

COUNT = 4
# What the paper says, in numbers: (state error, constraint error, solver steps) by model.
PAPERS_WAY = {
    "nde": (0.5, 1e-1, 100),
    "angular-nde": (0.5, 1e-15, 100),
    "snde:0.1": (0.45, 1e-2, 110),
    "snde:1": (0.42, 1e-3, 120),
    "snde:10": (0.4, 1e-4, 200),
    "snde:20": (0.4, 1e-3, 120),
    "snde:200": (0.35, 1e-4, 400),
    "pnde": (0.3, 1e-15, 100),
    "mechanical-pnde": (0.1, 1e-15, 100),
}


def invent(folder, models, as_paper=True, seeds=1):
    """The folder of a reproduction that was never run: errors as `models` says, and what else the claims are about."""
    ratio, exponent = (2.0, -1.0) if as_paper else (5.0, -0.5)
    plan = Plan(seeds=seeds).write(folder)
    for seed in range(1, seeds + 1):
        for name in plan.studies:
            one, path = study(name), folder / "runs" / f"seed-{seed}" / name
            (path / "evaluation").mkdir(parents=True)
            system = Results(folder).system(name)
            times = np.linspace(0, 500 if one.long else 2, 6 if one.long else 21)
            truth = dataset(system, states(system, times), times)
            save_data(truth, path / "evaluation" / "truth.nc")
            trained = [
                m for m in one.models if not (as_paper and name == "lotka-volterra" and "snde" in m)
            ]
            if len(trained) < len(one.models):
                failed = {
                    m: "the training loss is not finite in epoch 1"
                    for m in one.models
                    if m not in trained
                }
                write_json(path / "failures.json", failed)
            for model in trained:
                error, constraint, steps = models[model]
                if name == "pendulum-8" and model == "angular-nde":
                    error *= 1.5 if as_paper else 0.5
                forecast = forecast_of(truth, error * (1 + 0.01 * seed), constraint, steps, model)
                save_data(forecast, path / "evaluation" / f"{slug(model)}.nc")
                if one.long and model in ("nde", "pnde"):
                    # Everything sinks but the voltage of one load, which then supplies the others.
                    gone = 0.5 * times / times[-1] if model == "nde" and as_paper else 0 * times
                    raised = np.zeros(truth.sizes["state"])
                    raised[system.grid.loads[0]] = 1.0
                    u = truth["u"].values * (1 - gone)[:, None] + gone[:, None] * raised
                    far = truth.assign(u=truth["u"].copy(data=u)).assign_attrs(method=model)
                    save_data(far, path / "evaluation" / f"long-{slug(model)}.nc")
                run_folder(path, model, one, ratio)
    measured = folder / "measured"
    measured.mkdir()
    for one in STUDIES.values():
        rows, costs = [], []
        for model in one.models:
            base = 1.0 if model.endswith("nde") and model[0] in "na" else ratio
            if "snde" in model:
                base += 1 if as_paper else -1
            for what in ("forward", "solve"):
                ms = {"median_ms": base, "min_ms": 0.9 * base, "max_ms": 1.2 * base}
                row = {"model": label(model), "device": "a processor", "what": what}
                rows.append({**row, "batch": 64, **ms, "calls": 10, "compile_s": 1.5})
            for device, platform in (("a processor", "cpu"), ("a card", "gpu")):
                for what in ("train", "forward"):
                    row = {"device": device, "platform": platform, "what": what, "batch": 64}
                    costs.append({"model": label(model), **row, "median_ms": base, "calls": 10})
        pd.DataFrame(rows).to_csv(measured / f"times-{one.name}.csv", index=False)
        pd.DataFrame(costs).to_csv(measured / f"costs-{one.name}.csv", index=False)
    gammas = np.array([10.0, 100.0, 1000.0])
    columns = {"velocity": gammas**exponent, "path": 2 / gammas, "constraint": 3 / gammas}
    pd.DataFrame({"gamma": gammas, **columns}).to_csv(measured / "limit.csv", index=False)
    rows = [
        {"operation": o, "method": method, "along": along, "m": m, "n": n, "min_s": m**p * n**q}
        for (o, method), (p, q) in (
            *complexity.THEORY.items(),
            (("forward pass", "chain"), (1, 0)),
            (("backward pass", "chain"), (1, 0)),
        )
        for along, m, n in (
            ("m", 8, 64),
            ("m", 16, 64),
            ("n", 8, 64),
            ("n", 8, 128),
            ("N", 8, 16),
            ("N", 16, 32),
        )
        if (along == "N") == (method == "chain")
    ]
    pd.DataFrame(rows).to_csv(measured / "complexity.csv", index=False)
    return folder


def states(system, times):
    """Something that moves, `(COUNT, T, n)`, in the system's coordinates."""
    phase = times + np.arange(COUNT)[:, None]
    if system.name == "quartic":
        return np.stack([np.cos(phase), np.sin(phase), -np.sin(phase), np.cos(phase)], axis=-1)
    if system.name == "lotka-volterra":
        return np.stack([3 + np.cos(phase), 1.5 + np.sin(phase)], axis=-1)
    if system.name == "pendulum":
        angle = np.repeat(np.sin(phase)[..., None], system.n, axis=-1)
        speed = np.repeat(np.cos(phase)[..., None], system.n, axis=-1)
        return to_cartesian(np.concatenate([angle, speed], axis=-1))
    return np.broadcast_to(system.operation_point, (*phase.shape, len(system.operation_point)))


def dataset(system, u, times):
    return make_dataset(u, times, system.states, system.units, time_units=system.time_unit)


def forecast_of(truth, error, constraint, steps, model):
    """The truth, off by a constant share, with the errors that a forecast carries."""
    shape = truth["u"].shape[:2]
    method, _, gamma = model.removeprefix("angular-").partition(":")
    out = truth.assign(u=truth["u"] * (1 + error)).assign_attrs(method=method)
    if gamma:
        out = out.assign_attrs(gamma=float(gamma))
    out["state_error"] = (("trajectory", "time"), np.full(shape, error))
    out["constraint_error"] = (("trajectory", "time"), np.full(shape, constraint))
    out["status"] = ("trajectory", np.zeros(COUNT, np.int8))
    out["steps"] = ("trajectory", np.full(COUNT, steps))
    return out


def run_folder(path, model, one, ratio):
    """What the tables read of a run."""
    data = path / "data.nc"
    if not data.exists():
        u = np.zeros((3, 3, 1))
        save_data(make_dataset(u, [0, 0.5, 1], split=["train", "valid", "test"]), data)
    run = path / slug(model)
    run.mkdir()
    Plan().experiment(one, 1).config.write(run / "config.toml")
    write_json(run / "report.json", {"engine": "jax"})
    usual = 60.0 * (ratio if model == "pnde" else 1.0)
    history = pd.DataFrame(0.0, index=range(4), columns=list(EpochRow._fields))
    history = history.assign(epoch=range(1, 5), seconds=[usual + 5, usual, usual, usual])
    history.to_csv(run / "history.csv", index=False)
    Record(
        version=pnde.__version__,
        engine=EngineRecord(name="jax", versions={}),
        states=["u1"],
        order=1,
        features="state",
        mean=[0.0],
        std=[1.0],
        speed=None,
        law=None,
        metric=None,
        physics=None,
        data=data_record(run, data),
        files={},
        complete=True,
    ).write(run)
