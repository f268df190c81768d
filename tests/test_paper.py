"""The paper, reproduced: figures, tables and claims of results that are made up, and one study from data to report."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import pnde
from pnde.cli import main
from pnde.config import Config
from pnde.data import make_dataset, save_data
from pnde.errors import ConfigError, RunError
from pnde.experiment import slug
from pnde.paper import Plan, Results, check, complexity, draw
from pnde.paper.check import count
from pnde.paper.claims import CLAIMS
from pnde.paper.figures import FIGURES
from pnde.paper.limit import measure_limit
from pnde.paper.results import mean_curve
from pnde.paper.studies import STUDIES, label, study
from pnde.published import TIMES
from pnde.runs import folder as disk
from pnde.systems.pendulum import to_cartesian

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
                failed = {m: "the loss is not finite" for m in one.models if m not in trained}
                disk.write_json(path / "failures.json", failed)
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
        rows = []
        for model in one.models:
            base = 1.0 if model.endswith("nde") and model[0] in "na" else ratio
            if "snde" in model:
                base += 1 if as_paper else -1
            for what in ("forward", "solve"):
                ms = {"median_ms": base, "min_ms": 0.9 * base, "max_ms": 1.2 * base}
                row = {"model": label(model), "device": "a processor", "what": what}
                rows.append({**row, "batch": 64, **ms, "calls": 10, "compile_s": 1.5})
        pd.DataFrame(rows).to_csv(measured / f"times-{one.name}.csv", index=False)
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
    run = path / slug(model)
    run.mkdir()
    Plan().experiment(one, 1).config.write(run / "config.toml")
    disk.write_json(run / "model.json", {"data": "../data.nc"})
    disk.write_json(run / "report.json", {"complete": True, "engine": "jax"})
    usual = 60.0 * (ratio if model == "pnde" else 1.0)
    seconds = [usual + 5, usual, usual, usual]
    pd.DataFrame({"epoch": range(1, 5), "seconds": seconds}).to_csv(
        run / "history.csv", index=False
    )
    if not (path / "data.nc").exists():
        u = np.zeros((3, 3, 1))
        save_data(make_dataset(u, [0, 0.5, 1], split=["train", "valid", "test"]), path / "data.nc")


@pytest.fixture(scope="session")
def paper(tmp_path_factory):
    """Results that are as the paper says."""
    return Results(invent(tmp_path_factory.mktemp("paper") / "good", PAPERS_WAY))


@pytest.fixture(scope="session")
def drawn(paper):
    return draw(paper)


@pytest.fixture(scope="session")
def otherwise(tmp_path_factory):
    """Results that contradict the paper in everything."""
    levels = list(PAPERS_WAY.values())
    reverse = dict(zip(PAPERS_WAY, reversed(levels), strict=True))
    reverse["angular-nde"] = (0.1, 1e-1, 100)
    reverse["nde"] = (0.01, 1e-1, 100)
    folder = tmp_path_factory.mktemp("paper") / "bad"
    return Results(invent(folder, reverse, as_paper=False))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_for_print_and_for_screens(paper, drawn, name):
    for suffix, start in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        content = (paper.folder / "figures" / f"{name}.{suffix}").read_bytes()
        assert content.startswith(start)
        assert len(content) > 3000


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_wide_as_a_column_at_most(paper, name):
    import matplotlib.pyplot as plt

    figure = FIGURES[name].draw(paper)
    assert figure.get_figwidth() <= 245 / 72 + 1e-9
    plt.close(figure)


def test_tables_are_text_numbers_and_latex(paper, drawn):
    names = {path.stem for path in drawn if path.parent.name == "tables"}
    assert len(names) == 5
    for name in names:
        frame = pd.read_csv(paper.folder / "tables" / f"{name}.csv")
        assert len(frame)
        latex = (paper.folder / "tables" / f"{name}.tex").read_text()
        assert latex.count(r" \\") == len(frame) + 1
        assert "γ" not in latex
        assert (paper.folder / "tables" / f"{name}.txt").read_text().count("\n") >= len(frame) + 3


def test_the_table_of_times_leaves_compilation_out(paper, drawn):
    times = pd.read_csv(paper.folder / "tables" / "table-1-times.csv").set_index(["study", "model"])
    row = times.loc["quartic", "PNDE"]
    assert row["train_min"] == pytest.approx(8.0)
    assert row["train_compile_s"] == pytest.approx(5.0)
    assert times.loc["quartic", "NDE"]["train_min"] == pytest.approx(4.0)
    assert row["forward_median_ms"] == 2.0
    assert row["paper_solve_ms"] == TIMES["quartic", "PNDE"][2]
    # Failed models have no times.
    assert ("lotka-volterra", "SNDE γ=1") not in times.index


def test_the_table_of_complexity_finds_the_exponents(paper, drawn):
    table = pd.read_csv(paper.folder / "tables" / "table-2-complexity.csv")
    np.testing.assert_allclose(table["measured in m"], table["exponent of m"], atol=1e-9)
    known = table["exponent of n"].notna()
    np.testing.assert_allclose(
        table["measured in n"][known], table["exponent of n"][known], atol=1e-9
    )


def test_dimensions_are_those_of_the_paper(paper, drawn):
    table = pd.read_csv(paper.folder / "tables" / "table-3-dimensions.csv")
    assert table["n"].tolist() == [4, 2, 16, 32, 28]
    assert table["m"].tolist() == [1, 1, 8, 16, 18]


def test_all_claims_hold_on_results_as_the_paper_says(paper):
    findings = check(paper)
    assert {name: f.holds for name, f in findings.items()} == dict.fromkeys(CLAIMS, True)
    assert count(findings) == f"{len(CLAIMS)} of {len(CLAIMS)} claims hold"


def test_no_claim_holds_on_results_that_contradict_the_paper(otherwise):
    findings = check(otherwise)
    assert {name: f.holds for name, f in findings.items()} == dict.fromkeys(CLAIMS, False)
    report = (otherwise.folder / "check.md").read_text()
    assert report.count("**does not hold**") == 2 * len(CLAIMS)
    record = json.loads((otherwise.folder / "check.json").read_text())
    assert not any(claim["holds"] for claim in record["claims"].values())
    assert all(claim["numbers"] for claim in record["claims"].values())


def test_claims_without_results_are_not_tested(tmp_path):
    Plan().write(tmp_path / "empty")
    findings = check(Results(tmp_path / "empty"))
    assert all(finding.holds is None for finding in findings.values())
    assert count(findings) == f"0 of 0 claims hold; {len(CLAIMS)} not tested, for want of results"


def test_several_seeds_give_bands_and_medians(tmp_path):
    results = Results(invent(tmp_path / "seeds", PAPERS_WAY, seeds=3))
    _, curves = results.curves("quartic", "pnde", "state_error")
    np.testing.assert_allclose(curves[:, 0], 0.3 * np.array([1.01, 1.02, 1.03]))
    figure = FIGURES["figure-02-conservation-errors"].draw(results)
    assert len(figure.axes[0].collections) == 4
    assert not FIGURES["figure-02-conservation-errors"].draw(results).axes[0].texts == []
    table = check(results)["best-state"].numbers
    pnde_row = table[(table["system"] == "Quartic potential") & (table["model"] == "PNDE")]
    assert pnde_row["state error"].item() == pytest.approx(0.3 * 1.02)


def test_a_mean_ends_where_half_of_the_trajectories_failed():
    values = np.array([[1.0, 1.0, 1.0], [3.0, np.nan, np.nan], [2.0, 2.0, np.nan]])
    np.testing.assert_allclose(mean_curve(values), [2.0, 1.5, np.nan])


def test_a_failed_trajectory_counts_as_lost(paper, tmp_path):
    folder = invent(tmp_path / "failed", PAPERS_WAY)
    path = folder / "runs/seed-1/quartic/evaluation/pnde.nc"
    ds = pnde.open_data(path)
    ds["state_error"][:, 10:] = np.nan
    ds["status"][:] = 2
    save_data(ds, path)
    results = Results(folder)
    finding = check(results)["best-state"]
    assert finding.holds is False
    row = finding.numbers.query("system == 'Quartic potential' and model == 'PNDE'")
    assert row["failed"].item() == COUNT
    assert row["state error"].item() == pytest.approx((10 * 0.303 + 11) / 21)


def test_the_settings_of_the_paper_and_of_its_code():
    text, code = Plan(), Plan(variant="code")
    pendulum, grid = study("pendulum-8"), study("ieee14")
    assert text.experiment(pendulum, 1).parameters == {"n": 8}
    assert code.experiment(pendulum, 1).parameters == {"n": 8, "friction_form": "code"}
    assert text.experiment(grid, 1).source == "ieee14"
    assert code.experiment(grid, 1).source == "ieee14-published"
    assert code.experiment(grid, 1).config.rollout.rtol == 1e-4
    assert code.experiment(pendulum, 1).config.data.initial_conditions == "code"
    assert Plan(horizon="table").t_end(study("quartic")) == 25
    assert text.t_end(study("quartic")) == 100


@pytest.mark.parametrize("name", STUDIES)
def test_the_full_preset_is_table_four(name):
    one = study(name)
    config = Plan(preset="full").experiment(one, 3).config
    expected = Config.preset(one.preset, "paper")
    assert config == Config.make(expected, seed=3)
    assert config.optimiser.epochs == 1000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preset": "fast"}, "preset is 'quick' or 'full', not 'fast'"),
        ({"variant": "both"}, "variant is 'text' or 'code'"),
        ({"seeds": 0}, "seeds is how many"),
        ({"studies": ("quartik",)}, "did you mean 'quartic'?"),
        ({"settings": {"epoch": 3}}, "did you mean 'epochs'?"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes, words):
    with pytest.raises(ConfigError) as error:
        Plan(**changes)
    assert words in str(error.value)


def test_a_folder_is_gone_on_with_only_by_the_same_plan(tmp_path):
    folder = tmp_path / "paper"
    Plan(studies=("quartic",)).write(folder)
    joined = Plan(studies=("ieee14",), seeds=2).write(folder)
    assert joined.studies == ("quartic", "ieee14")
    assert Plan.read(folder) == joined
    with pytest.raises(ConfigError, match="was made with variant 'text', not 'code'"):
        Plan(variant="code").write(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ConfigError, match="holds no reproduction"):
        Plan().write(tmp_path / "other")
    with pytest.raises(RunError, match="pnde paper -o"):
        Results(tmp_path / "other")


def test_slopes_of_the_projection_are_measured():
    table = complexity.measure_complexity(((2, 16), (4, 16)), ((2, 16), (2, 32)), (2, 4), repeats=2)
    expected = set(complexity.THEORY) | {("forward pass", "chain"), ("backward pass", "chain")}
    assert set(zip(table["operation"], table["method"], strict=True)) == expected
    assert (table["min_s"] > 0).all()
    assert (table["median_s"] >= table["min_s"]).all()


def test_snde_tends_to_pnde_as_gamma_grows(orbits):
    run = pnde.train(
        orbits,
        epochs=1,
        width=8,
        batch_size=16,
        method="pnde",
        train=2,
        valid=2,
        test=2,
        progress=False,
    )
    table = measure_limit(run, gammas=(100.0, 300.0), trajectories=2)
    for column in ("velocity", "path", "constraint"):
        assert complexity.slope(table["gamma"], table[column]) == pytest.approx(-1, abs=0.1)


@pytest.mark.slow
def test_one_study_from_data_to_report(tmp_path, monkeypatch):
    """Trains: everything once, then again without doing anything twice, then figures and check alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(complexity, "ALONG_M", ((2, 16), (4, 16)))
    monkeypatch.setattr(complexity, "ALONG_N", ((2, 16), (2, 32)))
    monkeypatch.setattr(complexity, "LINKS", (2, 4))
    two = replace(study("lotka-volterra"), models=("nde", "pnde"))
    monkeypatch.setitem(STUDIES, two.name, two)
    size = [
        "epochs=1",
        "width=4",
        "layers=1",
        "batch_size=32",
        "train=3",
        "valid=2",
        "test=2",
        "t_end=2",
    ]
    options = [word for setting in size for word in ("-s", setting)]

    def run(*arguments):
        done = CliRunner().invoke(main, ["paper", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    everything = [
        "-o",
        "p",
        "--only",
        "lotka-volterra",
        "--horizon",
        "table",
        "--no-progress",
        *options,
    ]
    output = run(*everything)
    assert "claims hold" in output
    assert "Lotka–Volterra" in output
    written = {
        path: path.stat().st_mtime_ns for path in Path("p/runs").rglob("*") if path.is_file()
    }
    figures = sorted(path.name for path in Path("p/figures").glob("*.pdf"))
    assert "figure-02-conservation-errors.pdf" in figures
    assert "figure-06-ieee14-errors.pdf" not in figures
    run(*everything)
    assert written == {path: path.stat().st_mtime_ns for path in written}
    for path in Path("p/figures").iterdir():
        path.unlink()
    run("draw", "p")
    assert sorted(path.name for path in Path("p/figures").glob("*.pdf")) == figures
    assert "claims hold" in run("check", "p")
    assert pnde.load("p/runs/seed-1/lotka-volterra/pnde").report["complete"]
